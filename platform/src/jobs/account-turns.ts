/** Which account a worker works for where each worker serves one account only, and when a worker makes way for another. */

/** The jobs of an account that wait, and the workers that serve it or are about to. */
export interface AccountLine {
  caller: string;
  waiting: number;
  workers: number;
  /** Those of its workers that have no job now. */
  idle: number;
}

/** A fresh worker goes to the account with the fewest workers, and of several such to the one that was chosen least often. */
export function nextAccount(
  lines: readonly AccountLine[],
  timesChosen: (caller: string) => number,
): AccountLine | undefined {
  const waiting = lines.filter(({ waiting }) => waiting > 0);
  return leastBy(waiting, ({ workers, caller }) => [workers, timesChosen(caller)]);
}

/**
 * Returns the account for which a worker makes way, if it must. `free` workers serve nobody yet and take the next job of anyone. A worker
 * whose own account has no more jobs makes way for any account that lacks workers. Otherwise it does so only for an account that has none,
 * or at least two fewer than its own.
 */
export function makesWayFor(lines: readonly AccountLine[], own: AccountLine, free: number): AccountLine | undefined {
  const lacking = lines.filter(({ caller, waiting, idle }) => caller !== own.caller && waiting > idle + free);
  const isOwed = ({ workers }: AccountLine) => workers + free === 0 || own.workers - workers >= 2;
  return leastBy(own.waiting > 0 ? lacking.filter(isOwed) : lacking, ({ workers }) => [workers]);
}

function leastBy(lines: readonly AccountLine[], rank: (line: AccountLine) => number[]): AccountLine | undefined {
  return [...lines].sort((a, b) => compared(rank(a), rank(b)) || (a.caller < b.caller ? -1 : 1))[0];
}

function compared(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((number, i) => number !== b[i]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}
