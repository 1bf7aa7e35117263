/** How many more workers, GPUs and vCPU an account may have. Its endpoints share this, and each plan takes from what is left. */
import { because, type Reason } from "../../../kernel/reason.ts";
import type { Held } from "../../../machines/held.ts";
import type { Place } from "../../../machines/place.ts";
import { type KeptWorker, takesPlace } from "../model.ts";

type Shared = { workers: number } & Held;

const WORDS = { workers: "workers", gpus: "GPUs", vcpu: "vCPU" } as const;
const NAMES = ["workers", "gpus", "vcpu"] as const;

export class AccountShare {
  readonly #quotas: Readonly<Shared>;
  readonly #used: Shared;
  #unplaced: number;
  #isShort = false;

  /** `held` is what instances of every kind hold, including these workers. */
  constructor(quotas: Readonly<Shared>, workers: readonly KeptWorker[], held: Readonly<Held>) {
    this.#quotas = quotas;
    this.#used = { workers: workers.filter(takesPlace).length, gpus: held.gpus, vcpu: held.vcpu };
    this.#unplaced = workers.filter(({ state }) => state === "WANTED").length;
  }

  /** Why the account cannot have one more worker of this size, or undefined if it can. */
  refusal({ gpuCount, vcpu }: Pick<Place, "gpuCount" | "vcpu">): Reason | undefined {
    const more: Shared = { workers: 1, gpus: gpuCount, vcpu };
    const over = NAMES.find((name) => more[name] > 0 && this.#used[name] + more[name] > this.#quotas[name]);
    if (over === undefined) return undefined;
    this.#isShort = true;
    const [used, limit] = [this.#used[over], this.#quotas[over]];
    return because("quota-reached", { what: WORDS[over], used, limit, needed: more[over] });
  }

  take({ gpuCount, vcpu }: Pick<Place, "gpuCount" | "vcpu">): void {
    this.#used.workers++;
    this.#used.gpus += gpuCount;
    this.#used.vcpu += vcpu;
  }

  /** Whether one more worker may wait for a place. If the quota is reached, one waiting worker per endpoint is enough to say so. */
  get hasLine(): boolean {
    const { workers } = this.#quotas;
    return !this.#isShort && this.#used.workers < workers && this.#unplaced < workers;
  }

  standInLine(): void {
    this.#unplaced++;
  }
}
