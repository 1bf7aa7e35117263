/** Runs programs for people in their Pods and workers, on a machine of this node or of another one. */

import type { Caller } from "../kernel/caller.ts";
import { isProblem, type Problem, problem } from "../kernel/problem.ts";
import type { Reason } from "../kernel/reason.ts";
import { phaseOf } from "../machines/instances.ts";
import type { InstanceSite, OwnExecutions } from "../machines/own-executions.ts";
import { checkExec, type ExecSpec, type Execution } from "../ports/compute/execution.ts";
import type { Exit } from "../ports/compute/exit.ts";
import { ExecRefused } from "../ports/compute/refusal.ts";
import type { PodService } from "./pods/service.ts";
import type { WorkerRecords } from "./workers/records.ts";
import type { WorkerService } from "./workers/service.ts";

/** The Pod or worker to run a program in. */
export type ShellPlace = { pod: string } | { endpoint: string; worker: string };

/** The default command. It is not a login shell, because a profile would override the image's variables. */
export const SHELL: readonly string[] = ["sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash; exec sh"];

export interface ShellParts {
  pods: PodService;
  workers: WorkerService;
  workerRecords: WorkerRecords;
  own: OwnExecutions;
  /** Reaches instances on other nodes' machines. Absent on a single node. */
  elsewhere?: { exec(machine: string, instance: string, spec: ExecSpec): Promise<Execution> } | undefined;
}

export class Shells {
  readonly #parts: ShellParts;

  constructor(parts: ShellParts) {
    this.#parts = parts;
  }

  /**
   * Runs one more program in a Pod or worker, for a caller with the scope `pods:exec` or `serverless:exec`. Throws `not-found` if the place
   * is not the caller's, `wrong-state` if nothing runs there or nothing can be run beside it, `rule-broken` for arguments that no program
   * can take, and `no-answer` if its node is not reachable. If the program does not exist, its exit tells so; see `reasonOf`.
   */
  async open(caller: Caller, place: ShellPlace, spec: ExecSpec): Promise<Execution> {
    const site = await this.find(caller, place);
    asRule(() => checkExec(spec));
    try {
      return await this.#exec(site, spec);
    } catch (error) {
      throw refusalOf(error, place);
    }
  }

  /** Where the Pod or worker runs. Throws the same problems as `open` if it does not run. */
  find(caller: Caller, place: ShellPlace): Promise<InstanceSite> {
    return "pod" in place ? this.#pod(caller, place.pod) : this.#worker(caller, place);
  }

  /** Why the Pod or worker of a program has ended or is about to end. */
  async whyEnded(caller: Caller, place: ShellPlace): Promise<string | undefined> {
    try {
      await this.find(caller, place);
    } catch (error) {
      if (!isProblem(error)) throw error;
      return error.code === "not-found" ? `${nameOf(place)} is gone.` : error.detail;
    }
    const worker = "worker" in place ? await this.#parts.workerRecords.find(place.worker) : undefined;
    return worker?.doc.state === "DRAINING" ? `${nameOf(place)} is being ended.` : undefined;
  }

  #exec(site: InstanceSite, spec: ExecSpec): Promise<Execution> {
    const { own, elsewhere } = this.#parts;
    const { machine, instance } = site;
    if (own.isHere(machine)) return own.exec(site, spec);
    if (elsewhere) return elsewhere.exec(machine, instance, spec);
    throw problem("no-answer", `machine ${machine} is not here`);
  }

  async #pod(caller: Caller, id: string): Promise<InstanceSite> {
    const { account, doc } = await this.#parts.pods.own(caller, id);
    const { status, reason, instance, last } = doc;
    if (status !== "RUNNING" || instance === null || !last) throw notRunning({ pod: id }, status, reason);
    return { account, machine: last.machine, instance, owner: id };
  }

  async #worker(caller: Caller, place: { endpoint: string; worker: string }): Promise<InstanceSite> {
    const { endpoint, worker } = place;
    const { workers } = await this.#parts.workers.list(caller, endpoint);
    const doc = (await this.#parts.workerRecords.find(worker))?.doc;
    if (doc?.owner !== endpoint) {
      if (!workers.some(({ id }) => id === worker)) throw problem("not-found", "worker not found");
      throw problem("wrong-state", `Worker ${worker} was started by hand: nothing can be run beside it from here.`);
    }
    if (phaseOf(doc) === "frozen")
      throw problem("wrong-state", `Worker ${worker} is frozen: it stands still until a job needs it.`);
    if (phaseOf(doc) === undefined || doc.machine === null) throw notRunning(place, doc.state, doc.reason);
    return { account: caller.account, machine: doc.machine, instance: worker, owner: endpoint };
  }
}

/** Reports arguments that no program can take as a broken rule. */
export function asRule(check: () => void): void {
  try {
    check();
  } catch (error) {
    throw error instanceof ExecRefused ? problem("rule-broken", `${error.message}.`) : error;
  }
}

/** Why a program ended, if more is known than its exit code. */
export function reasonOf({ code, reason }: Exit, [program]: readonly string[]): string | undefined {
  if (reason !== undefined) return reason;
  if (code === 127) return `127: there is no program '${program}', or a program that it started was not found`;
  if (code === 126) return `126: '${program}' cannot be run, or a program that it started could not`;
  return undefined;
}

const nameOf = (place: ShellPlace) => ("pod" in place ? `Pod ${place.pod}` : `Worker ${place.worker}`);

function notRunning(place: ShellPlace, state: string, reason: Reason | null): Problem {
  return problem("wrong-state", `${nameOf(place)} is ${state}${reason === null ? "" : `: ${reason.text}`}.`, {
    reason: "not-running",
  });
}

/** The instance may have ended since it was looked up, or its driver may be unable to run a second program in it. */
function refusalOf(error: unknown, place: ShellPlace): unknown {
  if (error instanceof ExecRefused)
    return problem("wrong-state", `Nothing can be run in ${nameOf(place)} now: ${error.message}.`, { cause: error });
  if (isProblem(error, "not-found"))
    return problem("wrong-state", `${nameOf(place)} is not where it was a moment ago: try again.`, { cause: error });
  return error;
}
