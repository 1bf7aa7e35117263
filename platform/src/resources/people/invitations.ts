/** Invitations: each is a link with which one new person joins the account, in a role that the inviter may give. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { keyDigest, newRecord } from "../../kernel/ids.ts";
import { present } from "../../kernel/present.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { Collection, type Item, type RecordParts } from "../../ports/store/collection.ts";
import { type Write, WriteRefused } from "../../ports/store/store.ts";
import { apiKeys, type KeptApiKey, roleOf, type User, users } from "../account/model.ts";
import { grantsOf, invitations, type KeptInvitation, type Role } from "./model.ts";
import { mayGive, refuseBeyond, refuseBoundedKey } from "./rights.ts";
import { digestOf, newToken } from "./tokens.ts";

export type InvitationItem = Item<KeptInvitation>;

export interface NewInvitation {
  role: Role;
  email?: string | undefined;
  expiresInHours?: number | undefined;
}

const HOUR_MS = 3_600_000;
const DEFAULT_HOURS = 72;
/** The most open invitations that an account may have. */
const MOST_OPEN = 200;

export class Invitations {
  readonly #invitations: Collection<KeptInvitation>;
  readonly #users: Collection<User>;
  readonly #keys: Collection<KeptApiKey>;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(parts: RecordParts) {
    this.#invitations = new Collection(parts.store, invitations);
    this.#users = new Collection(parts.store, users);
    this.#keys = new Collection(parts.store, apiKeys);
    this.#clock = parts.clock;
    this.#random = parts.random;
  }

  prepare(): Promise<void> {
    return this.#invitations.prepare();
  }

  async create(caller: Caller, said: NewInvitation): Promise<{ item: InvitationItem; token: string }> {
    const { account } = caller;
    refuseBeyond(caller, said.role);
    await refuseBoundedKey(this.#keys, caller);
    await this.#sweepOf(account);
    const token = newToken(this.#random);
    const expiresAt = this.#clock.now() + (said.expiresInHours ?? DEFAULT_HOURS) * HOUR_MS;
    const by = caller.person ? { person: caller.user } : { key: caller.key };
    const doc = present({ role: said.role, email: said.email, digest: keyDigest(token), expiresAt, ...by });
    const record = newRecord({ clock: this.#clock, random: this.#random }, account);
    const within = [{ of: [this.#invitations.held({ account })], most: MOST_OPEN }];
    try {
      return { item: await this.#invitations.insert({ ...record, doc: doc as KeptInvitation }, within), token };
    } catch (error) {
      if (!(error instanceof WriteRefused) || error.reason !== "full") throw error;
      throw problem("over-quota", `This account has ${MOST_OPEN} open invitations: withdraw some of them first.`);
    }
  }

  /** Lists the invitations that can still be used, newest first. */
  async list({ account }: Pick<Caller, "account">): Promise<InvitationItem[]> {
    const items = await this.#invitations.list({ account, limit: MOST_OPEN * 2 });
    return items.filter(({ doc }) => !this.#isOver(doc));
  }

  /** A caller may withdraw the invitations of others too, but not to a role that exceeds their own. */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.#invitations.changeOwned(caller, id, ({ doc }) => {
      refuseBeyond(caller, doc.role);
      return { remove: true };
    });
  }

  /** Finds an invitation that can still be used: it has not expired, and its maker still exists and may give the role. */
  async find(token: string): Promise<InvitationItem> {
    const digest = digestOf(token);
    const found = digest === undefined ? undefined : await this.#invitations.findEverywhere("digest", digest);
    if (!found || this.#isOver(found.doc) || !mayGive(await this.#heldByInviter(found), found.doc.role)) throw used();
    return found;
  }

  /** The write that uses it up. If two people come at once, the second write is refused. */
  taking({ id, version }: InvitationItem): Write {
    return this.#invitations.removing(id, version);
  }

  /** The email address of the person who made it. */
  async inviterOf({ doc }: InvitationItem): Promise<string | undefined> {
    return doc.person === undefined ? undefined : (await this.#users.get(doc.person))?.doc.email;
  }

  /** The writes that withdraw all open invitations of one person. */
  async endingOf({ id, account }: Pick<Item<User>, "id" | "account">): Promise<Write[]> {
    const items = await this.#invitations.list({ account, limit: MOST_OPEN * 2 });
    return items.filter(({ doc }) => doc.person === id).map((item) => this.#invitations.removing(item.id));
  }

  async sweep(): Promise<void> {
    for await (const { id, doc } of this.#invitations.all())
      if (this.#isOver(doc)) await this.#invitations.removeIfThere(id);
  }

  async #sweepOf(account: string): Promise<void> {
    for (const { id, doc } of await this.#invitations.list({ account, limit: MOST_OPEN * 2 }))
      if (this.#isOver(doc)) await this.#invitations.removeIfThere(id);
  }

  async #heldByInviter({ doc: { person, key } }: InvitationItem): Promise<Caller["grants"]> {
    if (person === undefined) return (await this.#keys.get(key ?? ""))?.doc.scopes ?? [];
    const inviter = await this.#users.get(person);
    return !inviter || inviter.doc.disabled ? [] : grantsOf[roleOf(inviter.doc)];
  }

  #isOver({ expiresAt }: KeptInvitation): boolean {
    return expiresAt <= this.#clock.now();
  }
}

export const used = () =>
  problem("unauthenticated", "This invitation was used or withdrawn, or its time is over: ask for a new one.", {
    reason: "invitation-used",
  });
