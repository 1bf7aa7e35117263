/** Connects to ports on the loopback address of containers, from inside their network, since the engine offers no way there. */
import { readFile } from "node:fs/promises";
import type { Duplex } from "node:stream";
import type { Clock } from "../../kernel/clock.ts";
import { ifNotThere } from "../../kernel/not-there.ts";
import { dialFirst, type Loopback, type LoopbackTarget, notReached } from "../../ports/compute/loopback.ts";
import { Dialers } from "../machine/dialers.ts";
import type { Container } from "./container.ts";

export interface ContainerLoopbackParts {
  clock: Clock;
  find: (id: string) => Promise<Container | undefined>;
}

export class ContainerLoopback implements Loopback, AsyncDisposable {
  readonly #parts: ContainerLoopbackParts;
  readonly #dialers: Dialers;

  constructor(parts: ContainerLoopbackParts) {
    this.#parts = parts;
    // `nsenter` is looked up at the first use. A server that never connects to a loopback address does not need it.
    this.#dialers = new Dialers("nsenter", parts.clock);
  }

  async dial(id: string, target: LoopbackTarget): Promise<Duplex> {
    const container = await this.#parts.find(id);
    if (!container) throw new Error(`no instance ${id}`);
    if (!container.State.Running) throw notReached(id, target, "it has ended");
    return dialFirst(target, (place) =>
      this.#dial(id, container, place).catch((error: Error) => {
        throw notReached(id, target, error.message, error);
      }),
    );
  }

  async #dial(id: string, container: Container, place: { host: string; port: number }): Promise<Duplex> {
    if (process.getuid!() !== 0)
      throw new Error("only root can enter a container's network, and this server does not run as root");
    return this.#dialers.dial(id, () => processesOf(container), place);
  }

  /** Call this before the container is removed. */
  async leave(id: string): Promise<void> {
    await this.#dialers.close(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dialers.closeAll();
  }
}

/**
 * The container's first process, while it runs on this machine. The process number of a remote engine would be an unrelated process here.
 */
async function processesOf({ Id, State: { Pid } }: Container): Promise<number[]> {
  if (!Pid) return [];
  const groups = await readFile(`/proc/${Pid}/cgroup`, "utf8").catch(ifNotThere(""));
  if (groups.includes(Id)) return [Pid];
  throw new Error("its engine runs on another machine, where its network cannot be entered from here, or it has ended");
}
