/** What SSH reaches in a Pod: programs that it runs there, and ports on the Pod's loopback. */
import type { Duplex } from "node:stream";
import { requireScope } from "../../guards/scopes.ts";
import type { Caller } from "../../kernel/caller.ts";
import { isProblem, problem } from "../../kernel/problem.ts";
import type { OwnMachine } from "../../machines/own-machine.ts";
import { dialLoopback } from "../../ports/compute/dial-loopback.ts";
import type { ExecSpec, Execution } from "../../ports/compute/execution.ts";
import type { LoopbackTarget } from "../../ports/compute/loopback.ts";
import { portsOf } from "../../resources/pods/ports.ts";
import type { PodService } from "../../resources/pods/service.ts";
import type { Shells } from "../../resources/shells.ts";

export interface PodDoorParts {
  pods: PodService;
  shells: Shells;
  own: readonly Pick<OwnMachine, "id" | "compute">[];
  /** Reaches instances on other nodes' machines; absent if there are none. */
  elsewhere?:
    | {
        dial(machine: string, instance: string, port: number): Promise<Duplex>;
        dialLoopback(machine: string, instance: string, target: LoopbackTarget): Promise<Duplex>;
      }
    | undefined;
  /** Records that a Pod is in use, until disposed. */
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

  /** Why nothing can run in the Pod, or undefined while it can. */
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

  /** Anyone who may run programs in the Pod may reach everything on its loopback. Throws the problem if nothing can be reached. */
  async dial(caller: Caller, pod: string, target: LoopbackTarget): Promise<Duplex> {
    requireScope(caller, "pods:exec");
    const { machine, instance } = await this.#parts.shells.find(caller, { pod });
    const { doc } = await this.#parts.pods.own(caller, pod);
    const isNamed = portsOf(doc).some(({ inside }) => inside === target.port);
    const way = this.#wayTo(machine, instance);
    try {
      // A port that the Pod names is reached at whatever address it listens on, and without entering the Pod's network.
      const named = isNamed ? await way.dial(target.port).catch(() => undefined) : undefined;
      return named ?? (await way.loopback(target));
    } catch (error) {
      throw isProblem(error) ? error : problem("no-answer", (error as Error).message, { cause: error });
    }
  }

  #wayTo(machine: string, instance: string) {
    const { own, elsewhere } = this.#parts;
    const compute = own.find(({ id }) => id === machine)?.compute;
    if (compute)
      return {
        dial: (port: number) => compute.dial(instance, port),
        loopback: (target: LoopbackTarget) => dialLoopback(compute, instance, target),
      };
    if (!elsewhere) throw problem("no-answer", `machine ${machine} is not here`);
    return {
      dial: (port: number) => elsewhere.dial(machine, instance, port),
      loopback: (target: LoopbackTarget) => elsewhere.dialLoopback(machine, instance, target),
    };
  }

  used(pod: string): Disposable {
    return this.#parts.used(pod);
  }
}
