/** The faults that a test asks the emulator for. */
import { resourceId } from "../../kernel/ids.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";

export const faultKinds = ["no-capacity", "worker-crash", "rate-limit", "slow-pull"] as const;

export interface FaultTerms {
  kind: (typeof faultKinds)[number];
  /** Of `worker-crash`: only workers of this endpoint. */
  endpointId?: string | undefined;
  /** Of `no-capacity`: only this GPU type is used up. */
  gpuTypeId?: string | undefined;
  /** Of `rate-limit`: only paths that begin so. */
  path?: string | undefined;
  /** Of `slow-pull`: how long a pull takes. Of `rate-limit`: what `Retry-After` says. */
  seconds?: number | undefined;
  /** Of `worker-crash`: the exit status of the program. */
  exitCode?: number | undefined;
  /** Of `worker-crash`: at the start of the program, or when it has a job, which is the default. */
  at?: "start" | "job" | undefined;
  /** How often it happens. Without it: until it is removed. */
  times?: number | undefined;
}

export interface Fault extends FaultTerms {
  id: string;
}

const MOST_FAULTS = 1000;

export class Faults {
  readonly #random: Random;
  readonly #faults = new Map<string, Fault>();
  /** Called after each change. */
  changed: () => void = () => {};

  constructor(random: Random) {
    this.#random = random;
  }

  add(terms: FaultTerms): Fault {
    if (this.#faults.size >= MOST_FAULTS) throw problem("rule-broken", `There are ${MOST_FAULTS} faults already.`);
    const fault = { id: resourceId(this.#random), ...terms };
    this.#faults.set(fault.id, fault);
    this.changed();
    return fault;
  }

  list(): Fault[] {
    return [...this.#faults.values()];
  }

  remove(id: string): void {
    if (!this.#faults.delete(id)) throw problem("not-found", `There is no fault '${id}'.`);
    this.changed();
  }

  clear(): void {
    this.#faults.clear();
    this.changed();
  }

  /** The faults of a kind, without using one up. */
  of(kind: Fault["kind"]): Fault[] {
    return this.list().filter((fault) => fault.kind === kind);
  }

  /** The first fault of a kind that fits. One that happens only so often is then used once. */
  use(kind: Fault["kind"], fits: (fault: Fault) => boolean = () => true): Fault | undefined {
    const fault = this.of(kind).find(fits);
    if (fault?.times === undefined) return fault;
    if (fault.times <= 1) this.remove(fault.id);
    else this.#faults.set(fault.id, { ...fault, times: fault.times - 1 });
    return fault;
  }
}
