/** What programs in containers listen on for themselves alone: reached from inside the container's network, which its engine does not offer. */
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
    // Found in the folders of tools when it is needed, which it never is where nobody asks for a loopback.
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
      throw new Error("only root can enter a container's network, and this server runs as somebody else");
    return this.#dialers.dial(id, () => processesOf(container), place);
  }

  /** For a container that is about to go. */
  async leave(id: string): Promise<void> {
    await this.#dialers.close(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dialers.closeAll();
  }
}

/** Its first, while it runs on this machine: that of an engine elsewhere has a number which is somebody else's here. */
async function processesOf({ Id, State: { Pid } }: Container): Promise<number[]> {
  if (!Pid) return [];
  const groups = await readFile(`/proc/${Pid}/cgroup`, "utf8").catch(ifNotThere(""));
  if (groups.includes(Id)) return [Pid];
  throw new Error("its engine runs on another machine, where its network cannot be entered from here, or it has ended");
}
