/** Accounts and their owner users. They are made at the first start or from the command line, never through the API. */
import type { Clock } from "../../kernel/clock.ts";
import type { LastSeen } from "../../kernel/cursor.ts";
import type { Kept } from "../../kernel/document.ts";
import { keyDigest, resourceId } from "../../kernel/ids.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { isSame } from "../../kernel/same.ts";
import { Collection, type Item, type PageAsked, type RecordParts } from "../../ports/store/collection.ts";
import { type Store, type Write, WriteRefused } from "../../ports/store/store.ts";
import type { Removals } from "../removals.ts";
import { type Account, accounts, apiKeys, type KeptApiKey, type User, users } from "./model.ts";

/** Names the first account, to which the owner's key belongs. */
type FirstAccount = { accountId: string };

const firstAccount: Kept<FirstAccount> = { kind: "first-account", v: 1 };
const FIRST = "first";
const FIRST_NAME = "default";

/** The owner's key has an id of its own, so that a new MILLRACE_API_KEY replaces the old one. */
export const ownerKeyId = (account: string) => `${account}-owner`;

/** An account as lists show it, with the email address of its owner. */
export interface ListedAccount {
  id: string;
  name: string;
  owner: string;
  createdAt: number;
  quotas: NonNullable<Account["quotas"]>;
  requests: Account["requests"];
  suspended: Account["suspended"];
}

/** The fields of an account that its operator decides about. */
export type AccountFields = Partial<Pick<Account, "name" | "spending">> & {
  quotas?: Account["quotas"] | undefined;
  requests?: Account["requests"] | null;
  suspended?: Account["suspended"] | null;
};

export interface Owner {
  account: string;
  user: string;
}

export class Accounts {
  readonly #store: Store;
  readonly #accounts: Collection<Account>;
  readonly #users: Collection<User>;
  readonly #keys: Collection<KeptApiKey>;
  readonly #first: Collection<FirstAccount>;
  readonly #clock: Clock;
  readonly #random: Random;
  #firstOwner: Owner | undefined;
  readonly #removals: Removals;

  constructor(parts: RecordParts & { removals: Removals }) {
    this.#store = parts.store;
    this.#accounts = new Collection(parts.store, accounts);
    this.#users = new Collection(parts.store, users);
    this.#keys = new Collection(parts.store, apiKeys);
    this.#first = new Collection(parts.store, firstAccount);
    this.#removals = parts.removals;
    this.#clock = parts.clock;
    this.#random = parts.random;
  }

  async prepare(): Promise<void> {
    await this.#accounts.prepare();
    await this.#users.prepare();
    await this.#first.prepare();
  }

  /** The owner of the first account. If there is no account yet, the first node that asks makes it. */
  async firstOwner(): Promise<Owner> {
    const known = await this.#knownFirstOwner();
    if (known) return known;
    const { writes, owner } = this.#making(FIRST_NAME, "owner@localhost");
    const mark = { id: FIRST, account: owner.account, createdAt: this.#clock.now(), doc: { accountId: owner.account } };
    try {
      await this.#store.commit([...writes, this.#first.inserting(mark)]);
      return owner;
    } catch (error) {
      if (!(error instanceof WriteRefused)) throw error;
      return (await this.#knownFirstOwner())!;
    }
  }

  /** Whether this is the first account, which belongs to the owner of the installation. */
  async isFirst(account: string): Promise<boolean> {
    return (await this.firstOwner()).account === account;
  }

  /** The user whose key or session made the request. If the user has left, the keys count as those of the account's owner. */
  async person({ account, user }: Owner): Promise<User> {
    const found = (await this.#users.get(user)) ?? (await this.#users.get((await this.ownerOf(account)).user));
    if (!found) throw problem("not-found", "user not found");
    return found.doc;
  }

  /** Sets the notices that are given. A user's other notices do not change. */
  async setNotices({ user }: Pick<Owner, "user">, wanted: NonNullable<User["notices"]>): Promise<void> {
    await this.#users.change(user, ({ doc }) => {
      const notices = { ...doc.notices, ...wanted };
      return isSame(wantedIn(notices), wantedIn(doc.notices)) ? undefined : { set: { notices } };
    });
  }

  async hasOwnerKey({ account }: Owner): Promise<boolean> {
    return (await this.#keys.get(ownerKeyId(account))) !== undefined;
  }

  /** Makes `key` the owner's key with all scopes, in place of the previous one. Several nodes that start together may all do this. */
  async setOwnerKey(owner: Owner, key: string): Promise<void> {
    const digest = keyDigest(key);
    for (;;) {
      const held = await this.#keys.findEverywhere("digest", digest);
      if (held?.id === ownerKeyId(owner.account)) return;
      if (held)
        throw problem("rule-broken", "The owner's key is already in use as another key; choose a different one.");
      try {
        await this.#writeOwnerKey(owner, digest);
      } catch (error) {
        if (!(error instanceof WriteRefused)) throw error;
      }
    }
  }

  async create(name: string, email: string): Promise<Owner> {
    const { writes, owner } = this.#making(name, email);
    try {
      await this.#store.commit(writes);
    } catch (error) {
      throw isTaken(error) ? nameTaken(name) : error;
    }
    return owner;
  }

  async list(): Promise<ListedAccount[]> {
    const listed = [];
    for await (const item of this.#accounts.all()) listed.push(await this.#listed(item));
    return listed;
  }

  /** A page of all accounts, the newest first. */
  async page({ after, limit }: PageAsked): Promise<{ items: ListedAccount[]; next: LastSeen | undefined }> {
    const found = await this.#accounts.list({ after, limit: limit + 1 });
    const items = await Promise.all(found.slice(0, limit).map((item) => this.#listed(item)));
    return { items, next: found.length > limit ? items.at(-1) : undefined };
  }

  /** The account with this id. */
  async get(id: string): Promise<ListedAccount> {
    const item = await this.#accounts.get(id);
    if (!item) throw this.#accounts.notFound();
    return this.#listed(item);
  }

  async #listed({ id, createdAt, doc }: Item<Account>): Promise<ListedAccount> {
    const { name, ownerId, quotas = {}, requests, suspended } = doc;
    const owner = await this.#users.get(ownerId);
    return { id, name, owner: owner?.doc.email ?? ownerId, createdAt, quotas, requests, suspended };
  }

  /** Returns when an account was created, or undefined if there is no such account. */
  async madeAt(id: string): Promise<number | undefined> {
    return (await this.#accounts.get(id))?.createdAt;
  }

  /** Finds an account by id or name, or the first account if neither is given. */
  async ownerOf(idOrName?: string): Promise<Owner> {
    if (idOrName === undefined) return this.firstOwner();
    const account =
      (await this.#accounts.get(idOrName)) ?? (await this.#accounts.findEverywhere("name", idOrName.toLowerCase()));
    if (!account) throw problem("not-found", `No account has the id or name '${idOrName}'.`);
    return { account: account.id, user: account.doc.ownerId };
  }

  /** Sets quotas that differ from the installation's. An empty object returns the account to those. */
  async setQuotas(idOrName: string, quotas: NonNullable<Account["quotas"]>): Promise<void> {
    const { account } = await this.ownerOf(idOrName);
    if (await this.#accounts.change(account, () => ({ set: { quotas } }))) return;
    throw problem("not-found", `No account has the id or name '${idOrName}'.`);
  }

  /** Changes several fields in one commit, as `decide` says about the account's present state. Null removes a field. */
  async change(id: string, decide: (doc: Account) => AccountFields): Promise<void> {
    const isFirst = await this.isFirst(id);
    let name = "";
    const changed = await this.#accounts
      .change(id, ({ doc }) => {
        const wanted = decide(doc);
        if (wanted.suspended && isFirst)
          throw problem("rule-broken", "The first account cannot be suspended: the installation's owner uses it.");
        name = wanted.name ?? doc.name;
        const set = Object.fromEntries(Object.entries(wanted).map(([key, value]) => [key, value ?? undefined]));
        return isSame({ ...doc, ...set }, doc) ? undefined : { set: set as Partial<Account> };
      })
      .catch((error: unknown) => {
        throw isTaken(error) ? nameTaken(name) : error;
      });
    if (!changed) throw this.#accounts.notFound();
  }

  /** Removes the account and everything it owns, for good. The first account cannot be removed, because the owner's key belongs to it. */
  async delete(idOrName: string): Promise<void> {
    const { account } = await this.ownerOf(idOrName);
    if (account === (await this.firstOwner()).account) {
      throw problem("rule-broken", "The first account cannot be deleted: the owner's key belongs to it.");
    }
    await this.#removals.remove("account", account);
    await this.#store.removeAccount(account);
  }

  #making(name: string, email: string): { writes: Write[]; owner: Owner } {
    const owner = { account: resourceId(this.#random), user: resourceId(this.#random) };
    const createdAt = this.#clock.now();
    const account: Item<Account> = {
      id: owner.account,
      account: owner.account,
      createdAt,
      version: 1,
      doc: { name, ownerId: owner.user },
    };
    const user: Item<User> = { id: owner.user, account: owner.account, createdAt, version: 1, doc: { email } };
    return { owner, writes: [this.#accounts.inserting(account), this.#users.inserting(user)] };
  }

  /** Read only once, since the first account never changes and is never deleted. */
  async #knownFirstOwner(): Promise<Owner | undefined> {
    if (this.#firstOwner) return this.#firstOwner;
    const first = await this.#first.get(FIRST);
    const account = first && (await this.#accounts.get(first.doc.accountId));
    this.#firstOwner = account && { account: account.id, user: account.doc.ownerId };
    return this.#firstOwner;
  }

  async #writeOwnerKey({ account, user }: Owner, digest: string): Promise<void> {
    const id = ownerKeyId(account);
    const known = await this.#keys.get(id);
    if (known) await this.#keys.patch(known, { digest });
    else {
      const doc: KeptApiKey = { userId: user, digest, name: "owner", scopes: ["all"] };
      await this.#keys.insert({ id, account, createdAt: this.#clock.now(), doc });
    }
  }
}

const isTaken = (error: unknown) => error instanceof WriteRefused && error.reason === "key-taken";
const nameTaken = (name: string) => problem("name-taken", `An account named '${name}' already exists.`);

/** The names of the notices that are on. A notice that was never set is off. */
const wantedIn = (notices: User["notices"] = {}) =>
  Object.entries(notices)
    .flatMap(([name, is]) => (is ? [name] : []))
    .sort();
