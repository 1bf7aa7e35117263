/** Limits of a single node, in memory: a restart begins every window anew. */
import { type Counter, judge, type Limits, type Verdict, type WindowPolicy } from "./limits.ts";

/** Users who have been silent longer than every window are forgotten once this many are known. */
const SWEEP_AT = 10_000;

export class MemoryLimits implements Limits {
  readonly #counters = new Map<string, Counter[]>();

  async take(user: string, policy: readonly WindowPolicy[], now: number): Promise<Verdict> {
    const { verdict, counters } = judge(policy, this.#counters.get(user) ?? [], now);
    if (!this.#counters.has(user) && this.#counters.size >= SWEEP_AT) this.#sweep(policy, now);
    this.#counters.set(user, counters);
    return verdict;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #sweep(policy: readonly WindowPolicy[], now: number): void {
    const longestMs = Math.max(...policy.map(({ seconds }) => seconds * 1000));
    for (const [user, counters] of this.#counters) {
      if (counters.every(({ startedAt }) => startedAt + longestMs <= now)) this.#counters.delete(user);
    }
  }
}
