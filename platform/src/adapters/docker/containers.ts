/** The containers of one installation. Each request names a container by its label or name, and no other container is ever touched. */
import type { Clock } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { StartRefused } from "../../ports/compute/compute.ts";
import { type Container, containerName, type containerRequest, isOf, type Labels, label } from "./container.ts";
import { type EngineApi, EngineRefused, isConflict, isNotFound, START_MS } from "./engine-api.ts";

/** A container, by the engine's own id. */
export type Made = Pick<Container, "Id">;

/** An entry of the engine's container list. */
export interface Listed {
  Id: string;
  /** `created`, `running`, `paused`, `exited`, or one of several short-lived states. */
  State: string;
  Labels: Labels;
}

/** An entry with the number of bytes that the container wrote to its layer. */
export type Sized = Listed & { SizeRw?: number };

export class Containers {
  readonly #api: EngineApi;
  readonly #installation: string;

  constructor(api: EngineApi, installation: string) {
    this.#api = api;
    this.#installation = installation;
  }

  list(): Promise<Listed[]> {
    const filters = { label: [`${label.installation}=${this.#installation}`] };
    return this.#api.call("GET", "/containers/json", { query: { all: true, filters } });
  }

  /** The containers that have not ended. */
  async open(): Promise<Listed[]> {
    return (await this.list()).filter(({ State }) => State !== "exited");
  }

  /** The engine counts these sizes file by file, which takes long when there are many files. */
  sizes(): Promise<Sized[]> {
    const filters = { label: [`${label.installation}=${this.#installation}`] };
    return this.#api.call("GET", "/containers/json", { query: { size: true, filters }, answerMs: undefined });
  }

  /** `name` is the instance's id or the container's own id. */
  async inspect(name: string): Promise<Container | undefined> {
    const container = await found(this.#api.call<Container>("GET", `/containers/${name}/json`));
    return container && isOf(this.#installation, container) ? container : undefined;
  }

  find(id: string): Promise<Container | undefined> {
    return this.inspect(containerName(id));
  }

  /** Returns undefined when a container of that name exists already. */
  async create(id: string, body: ReturnType<typeof containerRequest>): Promise<Made | undefined> {
    try {
      const query = { name: containerName(id) };
      return await this.#api.call<Made>("POST", "/containers/create", { query, body, answerMs: START_MS });
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  }

  /** Starting a container that already runs changes nothing. */
  async start(container: Made): Promise<void> {
    await this.#api.call("POST", `/containers/${container.Id}/start`, { answerMs: START_MS });
  }

  /** Starts a new container. If the engine refuses that, nothing of it is left. */
  async startNew(container: Made): Promise<void> {
    try {
      await this.start(container);
    } catch (error) {
      if (error instanceof EngineRefused) await this.remove(container);
      throw refusal(error);
    }
  }

  /** Takes the container's own id. Pausing a paused container is no error. */
  async pause(container: string): Promise<void> {
    await this.#paused(container, true);
  }

  async unpause(container: string): Promise<void> {
    await this.#paused(container, false);
  }

  async #paused(container: string, wanted: boolean): Promise<void> {
    try {
      await this.#api.call("POST", `/containers/${container}/${wanted ? "pause" : "unpause"}`);
    } catch (error) {
      const now = error instanceof EngineRefused ? await this.inspect(container) : undefined;
      if (now?.State.Paused !== wanted) throw error;
    }
  }

  /** Sends the image's stop signal, then SIGKILL after the grace period. Resolves when the program has ended. */
  async stop(container: Container, graceMs: number, clock: Clock): Promise<void> {
    const ended = found(this.#api.call("POST", `/containers/${container.Id}/wait`));
    if (container.State.Paused) await this.unpause(container.Id);
    const timer = clock.after(graceMs, () => floating(this.#kill(container, "SIGKILL"), () => {}));
    try {
      await Promise.all([this.#kill(container, container.Config.StopSignal || "SIGTERM"), ended]);
    } finally {
      timer.cancel();
    }
  }

  /** A container that has ended meanwhile, or is gone, is no error. */
  async #kill(container: Container, signal: string): Promise<void> {
    const killed = this.#api.call("POST", `/containers/${container.Id}/kill`, { query: { signal } });
    await found(killed).catch((error) => {
      if (!isConflict(error)) throw error;
    });
  }

  /** Ends the container if it runs. Its anonymous volumes are removed with it. */
  async remove(container: Made): Promise<void> {
    const path = `/containers/${container.Id}`;
    try {
      await found(this.#api.call("DELETE", path, { query: { force: true, v: true } }));
    } catch (error) {
      if (!isConflict(error)) throw error;
      // Another request is already removing the container.
      await found(this.#api.call("POST", `${path}/wait`, { query: { condition: "removed" } }));
    }
  }
}

async function found<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Turns the engine's refusal into a StartRefused with the same message. */
export function refusal(error: unknown): unknown {
  return error instanceof EngineRefused
    ? new StartRefused(error.message, { cause: error, reason: "engine-refused" })
    : error;
}

/** Recognizes that the storage driver cannot limit the disk. Few can: overlay2 only on XFS with project quotas. */
export const refusesDiskLimit = (error: unknown): boolean =>
  error instanceof EngineRefused && /storage[- ]opt|quota/i.test(error.message);
