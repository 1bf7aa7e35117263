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
  const windows = policy.map(({ name, quota, seconds }, i) => ({
    name,
    remaining: Math.max(0, quota - after[i]!.used),
    resetMs: after[i]!.startedAt + seconds * 1000 - now,
  }));
  return { verdict: { allowed, windows }, counters: after };
}

/** A window that is over, or that a clock set back has put into the future, begins anew. */
function currentCounter(counter: Counter | undefined, lengthMs: number, now: number): Counter {
  const runs = counter && counter.startedAt <= now && now < counter.startedAt + lengthMs;
  return runs ? counter : { startedAt: now, used: 0 };
}
