/** The limits port: counts a user's requests in fixed windows, once for the whole installation. */

export interface WindowPolicy {
  name: string;
  quota: number;
  seconds: number;
}

export interface WindowState {
  name: string;
  remaining: number;
  /** Milliseconds until the window ends and counting begins anew. */
  resetMs: number;
}

export interface Verdict {
  allowed: boolean;
  /** One entry per policy, in the same order. */
  windows: WindowState[];
}

export interface Limits extends AsyncDisposable {
  /**
   * Counts one request in every window or, if any window is used up, in none. A window begins with its first counted request. However many
   * nodes ask at once, no window allows more than its quota.
   */
  take(user: string, policy: readonly WindowPolicy[], now: number): Promise<Verdict>;
}

/** A window as an adapter keeps it. */
export interface Counter {
  startedAt: number;
  used: number;
}

/** The rule itself: decides about the request, and returns the counters after it. */
export function judge(
  policy: readonly WindowPolicy[],
  counters: readonly (Counter | undefined)[],
  now: number,
): { verdict: Verdict; counters: Counter[] } {
  const current = policy.map(({ seconds }, i) => currentCounter(counters[i], seconds * 1000, now));
  const allowed = policy.every(({ quota }, i) => current[i]!.used < quota);
  const after = allowed ? current.map(({ startedAt, used }) => ({ startedAt, used: used + 1 })) : current;
  return { verdict: verdictOf(policy, allowed, after, now), counters: after };
}

/** Makes the verdict for a caller from the counters after its request. */
export function verdictOf(
  policy: readonly WindowPolicy[],
  allowed: boolean,
  counters: readonly Counter[],
  now: number,
): Verdict {
  const windows = policy.map(({ name, quota, seconds }, i) => ({
    name,
    remaining: Math.max(0, quota - counters[i]!.used),
    resetMs: counters[i]!.startedAt + seconds * 1000 - now,
  }));
  return { allowed, windows };
}

/**
 * A window begins anew when it is over, or when the clock was set back and puts its start into the future. So does a window in which
 * nothing was counted, because another window refused its first request.
 */
function currentCounter(counter: Counter | undefined, lengthMs: number, now: number): Counter {
  const runs = counter && counter.used > 0 && counter.startedAt <= now && now < counter.startedAt + lengthMs;
  return runs ? counter : { startedAt: now, used: 0 };
}
