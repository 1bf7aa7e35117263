/** Tickets: tokens that let somebody in for a time without an API key, and no longer than the key or session that they were made with. */

import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Random } from "../../kernel/random.ts";
import { Collection, type RecordParts } from "../../ports/store/collection.ts";
import { callerOf, Sessions, type SessionTimes } from "../people/sessions.ts";
import { apiKeys, type KeptApiKey } from "./model.ts";
import { AccountRules } from "./rules.ts";

export interface Ticket {
  /** Only the digest of the token is stored. */
  token: string;
  expiresAt: number;
}

const TOKEN_BYTES = 32;
/** The format of a token. */
export const TOKEN_SHAPE = /^[\w-]{43}$/;

export interface TicketParts extends RecordParts {
  /** How long sessions of people last. */
  sessionTimes?: SessionTimes | undefined;
}

export class Tickets {
  readonly #keys: Collection<KeptApiKey>;
  readonly #sessions: Sessions;
  readonly #rules: AccountRules;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(parts: TicketParts) {
    const { store, clock, random } = parts;
    this.#sessions = new Sessions(parts);
    this.#rules = new AccountRules(parts);
    this.#keys = new Collection(store, apiKeys);
    this.#clock = clock;
    this.#random = random;
  }

  make(forMs: number): Ticket {
    const token = Buffer.from(this.#random.bytes(TOKEN_BYTES)).toString("base64url");
    return { token, expiresAt: this.#clock.now() + forMs };
  }

  isOver({ expiresAt }: { expiresAt: number }): boolean {
    return expiresAt <= this.#clock.now();
  }

  /** The caller whose key or session made a ticket, or undefined if that key or session is no longer valid. */
  async standing(key: string): Promise<Caller | undefined> {
    const caller = await this.#found(key);
    return caller && !(await this.#rules.isSuspended(caller.account)) ? caller : undefined;
  }

  async #found(key: string): Promise<Caller | undefined> {
    const item = await this.#keys.get(key);
    if (!item) return this.#signedIn(key);
    const { userId: user, scopes: grants, endpoints, expiresAt } = item.doc;
    if (expiresAt !== undefined && this.isOver({ expiresAt })) return undefined;
    return { account: item.account, user, key, grants, ...(endpoints && { endpoints }), exempt: false };
  }

  async #signedIn(session: string): Promise<Caller | undefined> {
    const standing = await this.#sessions.byId(session);
    return standing && callerOf(standing);
  }
}
