/** Limits of a single node, in memory. A restart begins every window anew. */
import { type Counter, judge, type Limits, type Verdict, type WindowPolicy } from "./limits.ts";

/** When this many users are known, those who were silent longer than every window are forgotten. */
const SWEEP_AT = 10_000;

export class MemoryLimits implements Limits {
  readonly #counters = new Map<string, Counter[]>();
  /** Of all windows that anything was counted in. */
  #longestMs = 0;

  async take(user: string, policy: readonly WindowPolicy[], now: number): Promise<Verdict> {
    for (const { seconds } of policy) this.#longestMs = Math.max(this.#longestMs, seconds * 1000);
    const { verdict, counters } = judge(policy, this.#counters.get(user) ?? [], now);
    if (!this.#counters.has(user) && this.#counters.size >= SWEEP_AT) this.#sweep(now);
    this.#counters.set(user, counters);
    return verdict;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #sweep(now: number): void {
    for (const [user, counters] of this.#counters) {
      if (counters.every(({ startedAt }) => startedAt + this.#longestMs <= now)) this.#counters.delete(user);
    }
  }
}
