/** Decides who may send one more webhook now, so that one account's slow targets do not block the webhooks of others. */

/** Accounts share this many senders. */
const SENDERS = 64;
/** An account that sends nothing gets a sender also when those are taken, until all accounts together send this many webhooks at once. */
const MOST_SENDERS = 256;
/** A target that answers quickly is sent more at once, up to this many. */
const MOST_OF_A_TARGET = 16;
const QUICK_MS = 1000;
/** If an account has more targets than this, its oldest idle ones are forgotten. */
const REMEMBERED_TARGETS = 100;

interface Target {
  sending: number;
  /** How many webhooks it may be sent at once. This is one until it has answered quickly. */
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
   * How many more messages an account may send now. An account may use as many senders as stay free for others: one account alone gets half
   * of them, a second one half of the rest. So the next account finds a free sender, and one that sends nothing finds one even then.
   */
  roomOf(account: string): number {
    const own = this.sendingOf(account);
    const least = own === 0 && this.#sending < MOST_SENDERS ? 1 : 0;
    return Math.max(least, Math.ceil((SENDERS - this.#sending - own) / 2));
  }

  sendingOf(account: string): number {
    return this.#accounts.get(account)?.sending ?? 0;
  }

  /** Targets of an account that already have as many webhooks under way as they may. */
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
