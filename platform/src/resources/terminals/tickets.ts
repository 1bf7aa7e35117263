/** Tickets for terminals: each is good for one connection, made soon, on whichever node that arrives. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Document, Kept } from "../../kernel/document.ts";
import { keyDigest, newRecord } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import { Collection, type RecordParts } from "../../ports/store/collection.ts";
import { WriteRefused } from "../../ports/store/store.ts";
import { type Ticket, Tickets, TOKEN_SHAPE } from "../account/tickets.ts";
import type { ShellPlace } from "../shells.ts";
import type { TerminalRequest } from "./model.ts";

/** What was asked for, and of what. */
export interface TerminalAsked {
  place: ShellPlace;
  request: TerminalRequest;
}

export type TerminalTicket = TerminalAsked & {
  /** The Pod or the endpoint. */
  owner: string;
  /** Who asked, and with which key: a terminal ends with it. */
  user: string;
  key: string;
  digest: string;
  expiresAt: number;
};

const terminalTickets: Kept<TerminalTicket & Document> = {
  kind: "terminal-ticket",
  v: 1,
  uniqueEverywhere: ({ digest }) => ({ digest }),
  listed: ({ owner }) => ({ owner }),
};

/** Time for a program or a page to connect once it has the answer. What finds it in a log or a history finds it too late. */
export const TICKET_MS = 30_000;
/** Of one Pod or endpoint; beyond it the oldest are good for nothing. */
const MOST_TICKETS = 100;

export class TerminalTickets {
  readonly #records: Collection<TerminalTicket & Document>;
  readonly #tickets: Tickets;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(parts: RecordParts) {
    this.#records = new Collection(parts.store, terminalTickets);
    this.#tickets = new Tickets(parts);
    this.#clock = parts.clock;
    this.#random = parts.random;
  }

  prepare(): Promise<void> {
    return this.#records.prepare();
  }

  async issue({ account, user, key }: Caller, owner: string, asked: TerminalAsked): Promise<Ticket> {
    await this.#makeRoom(owner);
    const ticket = this.#tickets.make(TICKET_MS);
    const doc = { ...asked, owner, user, key, digest: keyDigest(ticket.token), expiresAt: ticket.expiresAt };
    await this.#records.insert({ ...newRecord({ clock: this.#clock, random: this.#random }, account), doc });
    return ticket;
  }

  /** Of many that come with one ticket, to whichever nodes, one gets in: whoever removed it. Undefined for all others. */
  async redeem(token: string): Promise<(TerminalAsked & { caller: Caller }) | undefined> {
    if (!TOKEN_SHAPE.test(token)) return undefined;
    const found = await this.#records.findEverywhere("digest", keyDigest(token));
    if (!found || !(await this.#isTaken(found.id)) || this.#tickets.isOver(found.doc)) return undefined;
    const { account, doc } = found;
    const caller = await this.#callerOf(account, doc);
    return caller && { caller, place: doc.place, request: doc.request };
  }

  /** Whether the key that a terminal was asked for with is still good. */
  async isStanding(key: string): Promise<boolean> {
    return (await this.#tickets.standing(key)) !== undefined;
  }

  async removeOf(owner: string): Promise<void> {
    for await (const { id } of this.#records.all({ key: { name: "owner", value: owner } }))
      await this.#records.removeIfThere(id);
  }

  /** Nobody came with them in time. */
  async sweep(): Promise<void> {
    for await (const { id, doc } of this.#records.all())
      if (this.#tickets.isOver(doc)) await this.#records.removeIfThere(id);
  }

  async #isTaken(id: string): Promise<boolean> {
    try {
      await this.#records.remove(id);
      return true;
    } catch (error) {
      if (error instanceof WriteRefused) return false;
      throw error;
    }
  }

  /** With what the key may do, and nothing of what somebody else's may. */
  async #callerOf(account: string, { user, key }: TerminalTicket): Promise<Caller | undefined> {
    const standing = await this.#tickets.standing(key);
    if (standing?.account !== account) return undefined;
    const { scopes: grants, endpoints } = standing.doc;
    return { account, user, key, grants, ...(endpoints && { endpoints }), exempt: false };
  }

  async #makeRoom(owner: string): Promise<void> {
    let kept = 1;
    for await (const { id, doc } of this.#records.all({ key: { name: "owner", value: owner } }))
      if (this.#tickets.isOver(doc) || ++kept > MOST_TICKETS) await this.#records.removeIfThere(id);
  }
}
