/** Finds the container engine of this machine, and stays with the first one that answered. */
import type { Clock } from "../../kernel/clock.ts";
import { type Absence, StartRefused } from "../../ports/compute/compute.ts";
import { EngineApi, EngineAway, EngineRefused } from "./engine-api.ts";

/** The fields of the engine's description of itself that the driver reads. */
export interface EngineInfo {
  NCPU: number;
  MemTotal: number;
  DockerRootDir: string;
}

interface EngineVersion {
  Components?: { Name: string }[];
}

export interface FoundEngine {
  api: EngineApi;
  info: EngineInfo;
  podman: boolean;
}

/** Whoever needs to know whether there is an engine waits for its answer, but not for one that hangs. */
const FOUND_MS = 5000;
/** An engine that is away is not asked again before this time: one that hangs needs seconds to be found out. */
const AWAY_MS = 500;
const ROOT_SOCKETS = ["/var/run/docker.sock", "/run/podman/podman.sock"];

/**
 * Where to look for the engine. `auto` means where the command-line tools look: the address in the environment, then the usual sockets of
 * Docker and Podman, of the system and of the user. `off` means nowhere.
 */
export function engineAddresses(setting: string, env: Readonly<Record<string, string | undefined>>): string[] {
  if (setting === "off") return [];
  if (setting !== "auto") return [setting];
  if (env.DOCKER_HOST) return [env.DOCKER_HOST];
  const own = env.XDG_RUNTIME_DIR;
  return own ? [...ROOT_SOCKETS, `${own}/docker.sock`, `${own}/podman/podman.sock`] : ROOT_SOCKETS;
}

export class Engine {
  readonly #apis: readonly EngineApi[];
  readonly #clock: Pick<Clock, "monotonic">;
  #found: FoundEngine | undefined;
  #away: { absence: Absence; untilMs: number } | undefined;

  constructor(addresses: readonly string[], clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
    this.#apis = addresses.map((address) => new EngineApi(address));
  }

  /** The engine that answered before. It may be away now. */
  get found(): FoundEngine | undefined {
    return this.#found;
  }

  /**
   * Throws StartRefused when there is no engine, since one has to be installed first. Throws EngineAway when one is there that does not
   * answer: the settings name it, or it left its socket.
   */
  async find(): Promise<FoundEngine> {
    if (this.#found) return this.#found;
    const failures: Error[] = [];
    for (const api of this.#apis) {
      try {
        this.#found ??= await describe(api);
        return this.#found;
      } catch (error) {
        failures.push(error as Error);
      }
    }
    const said = whatToDo(failures.map(({ message }) => message));
    const silent = failures.filter((error) => error instanceof EngineAway);
    const cause = silent.find((error) => !error.isNowhere) ?? (this.#apis.length === 1 ? silent[0] : undefined);
    if (cause) throw new EngineAway(said, { cause });
    throw new StartRefused(said, { reason: "engine-away" });
  }

  /** Returns undefined also for an engine that has not answered yet. */
  async findIfThere(): Promise<FoundEngine | undefined> {
    return this.find().catch((error) => {
      if (error instanceof StartRefused || error instanceof EngineAway) return undefined;
      throw error;
    });
  }

  /** Why the engine cannot be asked now, also if it answered before. Whoever looks at many instances asks for each. */
  async whyAway(): Promise<Absence | undefined> {
    if (this.#away && this.#clock.monotonic() < this.#away.untilMs) return this.#away.absence;
    const absence = await this.#absence();
    this.#away = absence && { absence, untilMs: this.#clock.monotonic() + AWAY_MS };
    return absence;
  }

  async #absence(): Promise<Absence | undefined> {
    try {
      const { api } = await this.find();
      await api.call("GET", "/version", { answerMs: FOUND_MS });
      return undefined;
    } catch (error) {
      if (error instanceof EngineRefused) return undefined;
      return { why: (error as Error).message, isNone: error instanceof StartRefused };
    }
  }

  /** Returns undefined where no engine is installed and the settings do not require one. */
  async findIfAny(): Promise<FoundEngine | undefined> {
    try {
      return await this.find();
    } catch (error) {
      if (this.#apis.length !== 1) return undefined;
      throw error;
    }
  }
}

async function describe(api: EngineApi): Promise<FoundEngine> {
  const [info, version] = await Promise.all([
    api.call<EngineInfo>("GET", "/info", { answerMs: FOUND_MS }),
    api.call<EngineVersion>("GET", "/version", { answerMs: FOUND_MS }),
  ]);
  return { api, info, podman: version.Components?.some(({ Name }) => Name.startsWith("Podman")) ?? false };
}

function whatToDo(failures: string[]): string {
  if (failures.length === 0) return "container images are switched off here (MILLRACE_DOCKER=off)";
  if (failures.length === 1) return `container images need Docker or Podman: ${failures[0]}`;
  return `container images need Docker or Podman: install one (on Debian and Ubuntu: apt install docker.io), or set MILLRACE_DOCKER to its socket. Looked at: ${failures.join("; ")}`;
}
