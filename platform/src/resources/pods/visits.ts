/** Visits of browsers to HTTP ports of Pods: a link that can be opened once, and then a cookie for that one port. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Kept } from "../../kernel/document.ts";
import { keyDigest, newRecord } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import { Remembered } from "../../kernel/remembered.ts";
import { Collection } from "../../ports/store/collection.ts";
import { type Ticket, type TicketParts, Tickets } from "../account/tickets.ts";

export type PodPortId = { pod: string; port: number };

export type PortVisit = PodPortId & {
  /** The user and the key that made the link. The visit ends when the key does. */
  user: string;
  key: string;
  /** The digest of the link's token, and once it was opened, of the cookie's. */
  digest: string;
  isOpened: boolean;
  expiresAt: number;
};

const portVisits: Kept<PortVisit> = {
  kind: "port-visit",
  v: 1,
  uniqueEverywhere: ({ digest }) => ({ digest }),
  listed: ({ pod }) => ({ pod }),
};

export const LINK_MS = 10 * 60_000;
export const VISIT_MS = 24 * 3_600_000;
/** A Pod keeps at most this many visits; the oldest are dropped first. */
const MOST_VISITS = 100;
/** A visit that another process ended continues here for at most this long. */
const REMEMBERED_MS = 1000;
/** A visitor may only reach the port, and nothing else. */
const MAY: Caller["grants"] = ["pods:read"];

export class PortVisits {
  readonly #visits: Collection<PortVisit>;
  readonly #tickets: Tickets;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #visitors: Remembered<Caller>;

  constructor(parts: TicketParts) {
    const { store, clock, random } = parts;
    this.#visits = new Collection(store, portVisits);
    this.#tickets = new Tickets(parts);
    this.#clock = clock;
    this.#random = random;
    this.#visitors = new Remembered(clock, REMEMBERED_MS);
  }

  prepare(): Promise<void> {
    return this.#visits.prepare();
  }

  /** Makes a new link, and removes the Pod's expired visits. */
  async invite({ account, user, key }: Caller, { pod, port }: PodPortId): Promise<Ticket> {
    await this.#makeRoom(pod);
    const ticket = this.#tickets.make(LINK_MS);
    const { token, expiresAt } = ticket;
    const doc = { pod, port, user, key, digest: keyDigest(token), isOpened: false, expiresAt };
    await this.#visits.insert({ ...newRecord({ clock: this.#clock, random: this.#random }, account), doc });
    return ticket;
  }

  /** Only one of several browsers that open a link at once gets in. Its cookie replaces the link. */
  async open(token: string, to: PodPortId): Promise<(Ticket & { visitor: Caller }) | undefined> {
    const found = await this.#visits.findEverywhere("digest", keyDigest(token));
    if (!found) return undefined;
    const ticket = this.#tickets.make(VISIT_MS);
    let isOpen = false;
    const visit = await this.#visits.change(found.id, ({ doc }) => {
      isOpen = !doc.isOpened && this.#leadsTo(doc, to);
      if (!isOpen) return undefined;
      return { set: { digest: keyDigest(ticket.token), isOpened: true, expiresAt: ticket.expiresAt } };
    });
    if (!visit || !isOpen || !(await this.#mayStill(visit.doc))) return undefined;
    return { ...ticket, visitor: callerOf(visit.account, visit.doc) };
  }

  /** The caller, if the token belongs to a visit of exactly this port; otherwise undefined. */
  async visitor(token: string, to: PodPortId): Promise<Caller | undefined> {
    const name = `${to.pod} ${to.port} ${token}`;
    const known = this.#visitors.get(name);
    if (known) return known;
    const found = await this.#visits.findEverywhere("digest", keyDigest(token));
    if (!found?.doc.isOpened || !this.#leadsTo(found.doc, to) || !(await this.#mayStill(found.doc))) return undefined;
    const visitor = callerOf(found.account, found.doc);
    this.#visitors.set(name, visitor);
    return visitor;
  }

  async removeOf(pod: string): Promise<void> {
    for await (const { id } of this.#visits.all({ key: { name: "pod", value: pod } }))
      await this.#visits.removeIfThere(id);
    this.#visitors.clear();
  }

  #leadsTo(visit: PortVisit, to: PodPortId): boolean {
    return visit.pod === to.pod && visit.port === to.port && !this.#tickets.isOver(visit);
  }

  async #mayStill({ key }: PortVisit): Promise<boolean> {
    return (await this.#tickets.standing(key)) !== undefined;
  }

  async #makeRoom(pod: string): Promise<void> {
    let kept = 1;
    for await (const { id, doc } of this.#visits.all({ key: { name: "pod", value: pod } }))
      if (this.#tickets.isOver(doc) || ++kept > MOST_VISITS) await this.#visits.removeIfThere(id);
  }
}

const callerOf = (account: string, { user, key }: PortVisit): Caller => ({
  ...{ account, user, key },
  grants: MAY,
  exempt: false,
});
