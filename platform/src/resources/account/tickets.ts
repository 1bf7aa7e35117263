/** Tickets: tokens that let somebody in for a time without an API key, and no longer than the key that they were made with. */
import type { Clock } from "../../kernel/clock.ts";
import type { Random } from "../../kernel/random.ts";
import { Collection, type Item, type RecordParts } from "../../ports/store/collection.ts";
import { apiKeys, type KeptApiKey } from "./model.ts";

export interface Ticket {
  /** Whoever keeps it keeps its digest. */
  token: string;
  expiresAt: number;
}

const TOKEN_BYTES = 32;
/** Of a token's text. */
export const TOKEN_SHAPE = /^[\w-]{43}$/;

export class Tickets {
  readonly #keys: Collection<KeptApiKey>;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor({ store, clock, random }: RecordParts) {
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

  /** The key that a ticket was made with, as long as it is good. */
  async standing(key: string): Promise<Item<KeptApiKey> | undefined> {
    const item = await this.#keys.get(key);
    return item?.doc.expiresAt !== undefined && this.isOver({ expiresAt: item.doc.expiresAt }) ? undefined : item;
  }
}
