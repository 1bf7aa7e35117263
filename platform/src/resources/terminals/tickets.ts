/** Tickets for terminals. Each is good for one connection within a short time, on any node. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Document, Kept } from "../../kernel/document.ts";
import { keyDigest, newRecord } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import { Collection } from "../../ports/store/collection.ts";
import { WriteRefused } from "../../ports/store/store.ts";
import { type Ticket, type TicketParts, Tickets, TOKEN_SHAPE } from "../account/tickets.ts";
import type { ShellPlace } from "../shells.ts";
import type { TerminalRequest } from "./model.ts";

/** The terminal that was asked for, and where. */
export interface TerminalAsked {
  place: ShellPlace;
  request: TerminalRequest;
}

export type TerminalTicket = TerminalAsked & {
  /** The Pod or endpoint that the terminal is in. */
  owner: string;
  /** The user and key that asked for the terminal. The terminal ends when the key does. */
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

/**
 * Enough time for a program or a page to connect after the answer. A ticket that somebody finds in a log or a browser history has expired.
 */
export const TICKET_MS = 30_000;
/** A Pod or endpoint has at most this many tickets. Beyond that the oldest become invalid. */
const MOST_TICKETS = 100;

export class TerminalTickets {
  readonly #records: Collection<TerminalTicket & Document>;
  readonly #tickets: Tickets;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(parts: TicketParts) {
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

  /**
   * Only one of several connections with the same ticket gets in, even on different nodes: the one that removed the ticket's record. All
   * others get undefined.
   */
  async redeem(token: string): Promise<(TerminalAsked & { caller: Caller }) | undefined> {
    if (!TOKEN_SHAPE.test(token)) return undefined;
    const found = await this.#records.findEverywhere("digest", keyDigest(token));
    if (!found || !(await this.#isTaken(found.id)) || this.#tickets.isOver(found.doc)) return undefined;
    const { account, doc } = found;
    const caller = await this.#callerOf(account, doc);
    return caller && { caller, place: doc.place, request: doc.request };
  }

  /** Whether the key that asked for a terminal is still valid. */
  async isStanding(key: string): Promise<boolean> {
    return (await this.#tickets.standing(key)) !== undefined;
  }

  /** What a key or session may do, as long as it is good. */
  standing(key: string): Promise<Caller | undefined> {
    return this.#tickets.standing(key);
  }

  async removeOf(owner: string): Promise<void> {
    for await (const { id } of this.#records.all({ key: { name: "owner", value: owner } }))
      await this.#records.removeIfThere(id);
  }

  /** Removes tickets that nobody used in time. */
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

  /** The caller has the rights of the key that the ticket was made with, and only if the key still belongs to the same account. */
  async #callerOf(account: string, { user, key }: TerminalTicket): Promise<Caller | undefined> {
    const standing = await this.#tickets.standing(key);
    return standing?.account === account ? { ...standing, user } : undefined;
  }

  async #makeRoom(owner: string): Promise<void> {
    let kept = 1;
    for await (const { id, doc } of this.#records.all({ key: { name: "owner", value: owner } }))
      if (this.#tickets.isOver(doc) || ++kept > MOST_TICKETS) await this.#records.removeIfThere(id);
  }
}
