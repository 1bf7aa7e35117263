/** The limits port: counts a user's requests in fixed windows, once for the whole installation. */

export interface WindowPolicy {
  name: string;
  quota: number;
  seconds: number;
}

export interface WindowState {
  name: string;
  remaining: number;
  /** Milliseconds until the window is over and counting begins anew. */
  resetMs: number;
}

export interface Verdict {
  allowed: boolean;
  /** One entry per policy, in its order. */
  windows: WindowState[];
}

export interface Limits extends AsyncDisposable {
  /**
   * Counts one request against every window, or, when any of them is used up, against none. A window begins with the first
   * request counted in it. However many nodes ask at once, no window lets through more than its quota.
   */
  take(user: string, policy: readonly WindowPolicy[], now: number): Promise<Verdict>;
}

/** A window as it is kept. */
export interface Counter {
  startedAt: number;
  used: number;
}

/** The rule itself: what the counters say now, and what they become when the request is let through. */
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

/** What a caller is told, from the counters as they are after its request. */
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
 * A window that is over, or that a clock set back has put into the future, begins anew. So does one in which nothing was
 * counted: the request that would have been its first was refused by another window.
 */
function currentCounter(counter: Counter | undefined, lengthMs: number, now: number): Counter {
  const runs = counter && counter.used > 0 && counter.startedAt <= now && now < counter.startedAt + lengthMs;
  return runs ? counter : { startedAt: now, used: 0 };
}
