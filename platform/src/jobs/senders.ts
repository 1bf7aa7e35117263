/** Who may send one more webhook now: nobody's silent targets take what others need to send theirs. */

/** So many are sent at once by all accounts together. */
const SENDERS = 64;
/** A target that answers quickly is sent more at once, up to so many. */
const MOST_OF_A_TARGET = 16;
const QUICK_MS = 1000;
/** Of targets that are being sent nothing an account's last ones are remembered. */
const REMEMBERED_TARGETS = 100;

interface Target {
  sending: number;
  /** How many it may be sent at once: one, until it has shown that it answers quickly. */
  allowed: number;
}

interface Account {
  sending: number;
  targets: Map<string, Target>;
}

export class Senders {
  readonly #accounts = new Map<string, Account>();
  #sending = 0;

  /**
   * How many more messages an account may send now. It may have as many under way as are left for others: alone that is half of all
   * senders, two have a third each, and the next account finds one that is free.
   */
  roomOf(account: string): number {
    const free = SENDERS - this.#sending;
    return Math.max(0, Math.ceil((free - this.sendingOf(account)) / 2));
  }

  sendingOf(account: string): number {
    return this.#accounts.get(account)?.sending ?? 0;
  }

  /** Targets of an account that have as much to answer as they may. */
  busyTargets(account: string): string[] {
    const targets = [...(this.#accounts.get(account)?.targets ?? [])];
    return targets.filter(([, { sending, allowed }]) => sending >= allowed).map(([name]) => name);
  }

  began(account: string, target: string): void {
    const { targets, sending } = this.#accounts.get(account) ?? { targets: new Map<string, Target>(), sending: 0 };
    this.#accounts.set(account, { targets, sending: sending + 1 });
    const { sending: already, allowed } = targets.get(target) ?? { sending: 0, allowed: 1 };
    targets.set(target, { sending: already + 1, allowed });
    this.#sending++;
  }

  ended(account: string, target: string, tookMs: number): void {
    const { targets, sending } = this.#accounts.get(account)!;
    const known = targets.get(target)!;
    const allowed = tookMs < QUICK_MS ? Math.min(known.allowed + 1, MOST_OF_A_TARGET) : 1;
    targets.set(target, { sending: known.sending - 1, allowed });
    this.#sending--;
    if (sending > 1) {
      this.#accounts.set(account, { targets, sending: sending - 1 });
      forgetIdle(targets);
    } else this.#accounts.delete(account);
  }
}

function forgetIdle(targets: Map<string, Target>): void {
  for (const [name, { sending }] of targets) {
    if (targets.size <= REMEMBERED_TARGETS) return;
    if (sending === 0) targets.delete(name);
  }
}
