/** What of a Pod is reached by SSH: programs that are run in it, and its own ports. */
import type { Duplex } from "node:stream";
import type { Caller } from "../../kernel/caller.ts";
import { isProblem, problem } from "../../kernel/problem.ts";
import type { OwnMachine } from "../../machines/own-machine.ts";
import type { ExecSpec, Execution } from "../../ports/compute/execution.ts";
import { portsOf } from "../../resources/pods/ports.ts";
import type { PodService } from "../../resources/pods/service.ts";
import type { Shells } from "../../resources/shells.ts";

export interface PodDoorParts {
  pods: PodService;
  shells: Shells;
  own: readonly Pick<OwnMachine, "id" | "compute">[];
  /** Reaches instances of other nodes' machines; absent where there are none. */
  elsewhere?: { dial(machine: string, instance: string, port: number): Promise<Duplex> } | undefined;
  /** Notes that somebody uses a Pod, until it is disposed. */
  used: (pod: string) => Disposable;
}

export class PodDoor {
  readonly #parts: PodDoorParts;

  constructor(parts: PodDoorParts) {
    this.#parts = parts;
  }

  exec(caller: Caller, pod: string, spec: ExecSpec): Promise<Execution> {
    return this.#parts.shells.open(caller, { pod }, spec);
  }

  /** Why nothing can be run in it; undefined while something can. */
  async whyNot(caller: Caller, pod: string): Promise<string | undefined> {
    try {
      await this.#parts.shells.find(caller, { pod });
      return undefined;
    } catch (error) {
      if (isProblem(error, "not-found")) return `Pod ${pod} is gone`;
      if (isProblem(error)) return error.message;
      throw error;
    }
  }

  /** Ports that it names are reached, whoever else may reach them. Throws the problem where there is nothing to reach. */
  async dial(caller: Caller, pod: string, port: number): Promise<Duplex> {
    const { pods, shells, own, elsewhere } = this.#parts;
    const { machine, instance } = await shells.find(caller, { pod });
    const { doc } = await pods.own(caller, pod);
    if (!portsOf(doc).some(({ inside }) => inside === port))
      throw problem(
        "not-found",
        `port ${port} is none of those that the Pod names (${doc.ports.join(", ") || "none"})`,
      );
    const here = own.find(({ id }) => id === machine);
    if (!here && !elsewhere) throw problem("no-answer", `machine ${machine} is not here`);
    try {
      return await (here ? here.compute.dial(instance, port) : elsewhere!.dial(machine, instance, port));
    } catch (error) {
      throw isProblem(error) ? error : problem("no-answer", (error as Error).message, { cause: error });
    }
  }

  used(pod: string): Disposable {
    return this.#parts.used(pod);
  }
}
