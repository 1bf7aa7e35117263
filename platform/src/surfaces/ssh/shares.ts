/** What the connections of one account have together: ports that are forwarded to, and bytes that nobody has taken yet. */
import { MIB } from "../../kernel/operation.ts";

/** Each has a connection into a Pod. */
const MOST_FORWARDS = 512;
/** Sent by the account's clients, and not taken by the programs that they are for. */
const MOST_UNREAD = 32 * MIB;

/** A connection, as it counts in its account's share. */
export interface Sharer {
  /** Bytes that its client sent and nobody has taken. */
  readonly unread: number;
}

export class Share {
  readonly #sharers = new Set<Sharer>();
  #forwards = 0;

  get isEmpty(): boolean {
    return this.#sharers.size === 0;
  }

  /** So much waits that no more is read. */
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

  /** One more port that is forwarded to, until it is disposed; or why not. */
  forward(): Disposable | string {
    if (this.#forwards >= MOST_FORWARDS)
      return `no more than ${MOST_FORWARDS} ports can be forwarded to at once by an account`;
    this.#forwards++;
    return { [Symbol.dispose]: () => void this.#forwards-- };
  }
}

/** Those of all accounts that have a connection. */
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
