/** The rules for the people of an account: who may change whom, and that an account always keeps an owner. */
import type { Caller } from "../../kernel/caller.ts";
import { problem } from "../../kernel/problem.ts";
import { isSame } from "../../kernel/same.ts";
import { Collection, type Decision, type Item, type RecordParts } from "../../ports/store/collection.ts";
import type { Write } from "../../ports/store/store.ts";
import { ownerKeyId } from "../account/accounts.ts";
import {
  type Account,
  accounts,
  apiKeys,
  type KeptApiKey,
  type KeyUse,
  keyUses,
  roleOf,
  type User,
  users,
} from "../account/model.ts";
import type { Invitations } from "./invitations.ts";
import { grantsOf } from "./model.ts";
import { mayGive, refuseBeyond, refuseBoundedKey } from "./rights.ts";
import type { Sessions } from "./sessions.ts";

export type PersonItem = Item<User>;

export type PersonChange = Pick<User, "name" | "role" | "disabled">;

/** The most people that an account may have. */
export const MOST_PEOPLE = 1000;
const LISTED_AT_MOST = 10_000;

export class People {
  readonly #users: Collection<User>;
  readonly #accounts: Collection<Account>;
  readonly #keys: Collection<KeptApiKey>;
  readonly #uses: Collection<KeyUse>;
  readonly #sessions: Sessions;
  readonly #invitations: Invitations;

  constructor(parts: RecordParts & { sessions: Sessions; invitations: Invitations }) {
    this.#users = new Collection(parts.store, users);
    this.#accounts = new Collection(parts.store, accounts);
    this.#keys = new Collection(parts.store, apiKeys);
    this.#uses = new Collection(parts.store, keyUses);
    this.#sessions = parts.sessions;
    this.#invitations = parts.invitations;
  }

  prepare(): Promise<void> {
    return this.#users.prepare();
  }

  /** Lists the people, newest first. */
  list({ account }: Pick<Caller, "account">): Promise<PersonItem[]> {
    return this.#users.list({ account, limit: LISTED_AT_MOST });
  }

  get(caller: Pick<Caller, "account">, id: string): Promise<PersonItem> {
    return this.#users.owned(caller, id);
  }

  async accountOf({ account }: Pick<Caller, "account">): Promise<Item<Account>> {
    return this.#accounts.owned({ account }, account);
  }

  async update(caller: Caller, id: string, set: PersonChange): Promise<PersonItem> {
    return this.#users.changeOwned(caller, id, async (item) => {
      await this.#refuseToManage(caller, item);
      if (set.role) refuseBeyond(caller, set.role);
      return this.#changing(item, set);
    });
  }

  /** Takes over what the identity provider says about a person. */
  async follow({ id, account }: PersonItem, set: User): Promise<PersonItem> {
    return this.#users.changeOwned({ account }, id, (item) => this.#changing(item, set));
  }

  async #changing(item: PersonItem, set: Partial<User>): Promise<Decision<User> | undefined> {
    const after = { ...item.doc, ...set };
    if (isSame(after, item.doc)) return undefined;
    const also = await this.#leavingAnOwner(item, after);
    // What is open, such as a terminal, must not outlive the right to it.
    const losesRights = after.disabled || !mayGive(grantsOf[roleOf(after)], roleOf(item.doc));
    // Nobody has proved until now that the address by which they are linked was theirs.
    const isLinked = after.provider !== undefined && item.doc.provider === undefined;
    return { set, also: [...also, ...(losesRights || isLinked ? await this.#sessions.ending(item.id) : [])] };
  }

  /** Removes the person together with all their sessions and open invitations. */
  async remove(caller: Caller, id: string, { revokeKeys }: { revokeKeys: boolean }): Promise<void> {
    await this.#users.changeOwned(caller, id, async (item) => {
      await this.#refuseToManage(caller, item);
      const also = [
        ...(await this.#leavingAnOwner(item, undefined)),
        ...(await this.#sessions.ending(id)),
        ...(await this.#invitations.endingOf(item)),
        ...(revokeKeys ? await this.#revoking(item) : []),
      ];
      return { remove: true, also };
    });
  }

  async endSessions(caller: Caller, id: string): Promise<void> {
    const item = await this.get(caller, id);
    await this.#refuseToManage(caller, item);
    await this.#sessions.endAll(id);
  }

  /** The person whom a sign-in link lets in: the account's owner on record, or another owner. */
  async ownerOf(account: string): Promise<PersonItem> {
    const owners = (await this.list({ account })).filter(({ doc }) => isActiveOwner(doc));
    const { doc } = await this.accountOf({ account });
    const owner = owners.find(({ id }) => id === doc.ownerId) ?? owners.at(-1);
    if (!owner) throw problem("rule-broken", "Nobody owns this account: each owner is disabled.");
    return owner;
  }

  async #refuseToManage(caller: Caller, { doc }: PersonItem): Promise<void> {
    refuseBeyond(caller, roleOf(doc));
    await refuseBoundedKey(this.#keys, caller);
  }

  /**
   * The writes that go with a change by which a person stops being an owner. They change the account's version, so that two owners who
   * remove each other at the same time cannot both succeed.
   */
  async #leavingAnOwner(item: PersonItem, after: User | undefined): Promise<Write[]> {
    if (!isActiveOwner(item.doc) || (after && isActiveOwner(after))) return [];
    const account = await this.accountOf(item);
    const others = (await this.list(item)).filter(({ id, doc }) => id !== item.id && isActiveOwner(doc));
    const [heir] = others.toReversed();
    if (!heir)
      throw problem("rule-broken", "The account would have no owner: make someone else an owner first.", {
        reason: "last-owner",
      });
    return [this.#accounts.patching(account, account.doc.ownerId === item.id ? { ownerId: heir.id } : {})];
  }

  /** The writes that revoke a person's keys. The installation's own key stays, because it is kept in a file. */
  async #revoking({ id, account }: PersonItem): Promise<Write[]> {
    const keys = await this.#keys.list({ account, limit: LISTED_AT_MOST });
    const made = keys.filter((key) => key.doc.userId === id && key.id !== ownerKeyId(account));
    const uses = await Promise.all(made.map((key) => this.#uses.get(key.id)));
    return [
      ...made.map((key) => this.#keys.removing(key.id)),
      ...uses.flatMap((use) => (use ? [this.#uses.removing(use.id)] : [])),
    ];
  }
}

const isActiveOwner = (user: User) => roleOf(user) === "owner" && !user.disabled;
