/** What all connections of one account share: a number of forwarded ports, and a number of bytes not taken yet. */
import { MIB } from "../../kernel/operation.ts";

/** Each has a connection into a Pod. */
const MOST_FORWARDS = 512;
/** The most bytes that the account's clients sent and its programs have not taken. */
const MOST_UNREAD = 32 * MIB;

/** A connection as it counts in its account's share. */
export interface Sharer {
  /** Bytes that its client sent and no program has taken. */
  readonly unread: number;
}

export class Share {
  readonly #sharers = new Set<Sharer>();
  #forwards = 0;

  get isEmpty(): boolean {
    return this.#sharers.size === 0;
  }

  /** Whether so many bytes wait that no more are read. */
  get isFull(): boolean {
    let unread = 0;
    for (const sharer of this.#sharers) unread += sharer.unread;
    return unread > MOST_UNREAD;
  }

  join(sharer: Sharer): void {
    this.#sharers.add(sharer);
  }

  leave(sharer: Sharer): void {
    this.#sharers.delete(sharer);
  }

  /** Takes one more forwarded port, until disposed, or returns why not. */
  forward(): Disposable | string {
    if (this.#forwards >= MOST_FORWARDS)
      return `no more than ${MOST_FORWARDS} ports can be forwarded to at once by an account`;
    this.#forwards++;
    return { [Symbol.dispose]: () => void this.#forwards-- };
  }
}

/** The shares of all accounts that have a connection. */
export class Shares {
  readonly #shares = new Map<string, Share>();

  join(account: string, sharer: Sharer): Share {
    const share = this.#shares.get(account) ?? new Share();
    this.#shares.set(account, share);
    share.join(sharer);
    return share;
  }

  leave(account: string, sharer: Sharer): void {
    const share = this.#shares.get(account);
    share?.leave(sharer);
    if (share?.isEmpty) this.#shares.delete(account);
  }
}
