/** The people whom an identity provider knows: found by issuer and subject, linked, made, and kept to what their groups give. */
import { newRecord } from "../../kernel/ids.ts";
import { present } from "../../kernel/present.ts";
import { problem } from "../../kernel/problem.ts";
import type { Identity } from "../../ports/identity/identity-provider.ts";
import { Collection, type Item, type RecordParts } from "../../ports/store/collection.ts";
import { WriteRefused } from "../../ports/store/store.ts";
import { identityKey, roleOf, type User, users } from "../account/model.ts";
import type { AuditLog, Deed } from "../audit/service.ts";
import type { Role } from "./model.ts";
import { MOST_PEOPLE, type People, type PersonItem } from "./people.ts";
import type { Sessions } from "./sessions.ts";

export interface ProviderPeopleParts extends RecordParts {
  audit: AuditLog;
  people: People;
  sessions: Sessions;
  /** Whether somebody who is not here yet becomes a person. */
  newPeople: boolean;
}

/** Competing first sign-ins of one person are few. */
const MOST_TRIES = 5;

export class ProviderPeople {
  readonly #parts: ProviderPeopleParts;
  readonly #users: Collection<User>;

  constructor(parts: ProviderPeopleParts) {
    this.#parts = parts;
    this.#users = new Collection(parts.store, users);
  }

  /** Returns the person in this account, in this role. Somebody who may not be let in is refused. */
  async enter(identity: Identity, account: string, role: Role): Promise<PersonItem> {
    for (let left = MOST_TRIES; ; left--) {
      try {
        return await this.#entered(identity, account, role);
      } catch (error) {
        if (!(error instanceof WriteRefused) || left === 0) throw error;
        if (error.reason === "full") throw problem("over-quota", `An account has ${MOST_PEOPLE} people at most.`);
      }
    }
  }

  /** Returns the person in this account, if they were here before. */
  find(identity: Identity, account: string): Promise<PersonItem | undefined> {
    return this.#users.find(account, "provider", identityKey(identity));
  }

  /** Ends all sessions of the person in accounts to which their groups no longer lead. Returns the people who lost them. */
  async leave(identity: Identity, accounts: readonly string[]): Promise<PersonItem[]> {
    const left = (await this.#known(identity)).filter(({ account }) => !accounts.includes(account));
    for (const { id } of left) await this.#parts.sessions.endAll(id);
    return left;
  }

  #known(identity: Identity): Promise<PersonItem[]> {
    return this.#users.list({ key: { name: "provider", value: identityKey(identity) }, limit: MOST_PEOPLE });
  }

  async #entered(identity: Identity, account: string, role: Role): Promise<PersonItem> {
    const found = (await this.find(identity, account)) ?? (await this.#byEmail(identity, account));
    if (!found) return this.#make(identity, account, role);
    if (found.doc.disabled)
      throw problem("not-allowed", "You are disabled here: ask an owner of the account.", {
        reason: "person-disabled",
      });
    const { issuer, subject, name } = identity;
    // An address with a password is a name to sign in with, which only the person changes.
    const isFree = found.doc.password === undefined && identity.emailVerified;
    const email = isFree ? shownEmail(identity) : found.doc.email;
    const set = present({ provider: { issuer, subject }, email, name: name ?? found.doc.name, role }) as User;
    const fields = ["provider", ...(roleOf(found.doc) === role ? [] : ["role"])];
    const deed = { ...deedOf(found), fields };
    return this.#parts.audit.record(deed, () => this.#parts.people.follow(found, set), { onlyChanges: true });
  }

  /**
   * Somebody who was here before the provider is found by their email address, but only if the provider says that it is theirs. A person
   * who already belongs to an identity never gets another one.
   */
  async #byEmail(identity: Identity, account: string): Promise<PersonItem | undefined> {
    const { email, emailVerified, issuer, subject } = identity;
    const people = await this.#parts.people.list({ account });
    // A release that does not know identities loses the key when it writes a person, but not the field.
    const same = people.find(({ doc: { provider } }) => provider?.issuer === issuer && provider.subject === subject);
    if (same || !emailVerified || email === undefined) return same;
    const fit = people.filter(({ doc }) => !doc.provider && doc.email.toLowerCase() === email.toLowerCase());
    return fit.find(({ doc }) => doc.password !== undefined) ?? fit[0];
  }

  async #make(identity: Identity, account: string, role: Role): Promise<PersonItem> {
    if (!this.#parts.newPeople)
      throw problem(
        "not-allowed",
        "Nobody here has your email address, and new people are not made at sign-in: ask an owner.",
        {
          reason: "person-unknown",
        },
      );
    const { issuer, subject, name } = identity;
    const doc = present({ email: shownEmail(identity), name, role, provider: { issuer, subject } }) as User;
    const person: Item<User> = { ...newRecord(this.#parts, account), version: 1, doc };
    const within = [{ of: [this.#users.held(person)], most: MOST_PEOPLE }];
    return this.#parts.audit.record(deedOf(person), () => this.#users.insert(person, within));
  }
}

/** An address that is not proven is not shown as theirs: the audit log names people by it. */
const shownEmail = ({ email, emailVerified, issuer, subject }: Identity): string =>
  emailVerified && email !== undefined
    ? email
    : `${subject.replaceAll(/[\s@]+/g, "-").slice(0, 100)}@${new URL(issuer).host}`;

const deedOf = ({ id, account }: PersonItem): Deed => ({
  ...{ account, actor: { type: "system" }, operation: "updatePerson", resource: { type: "people", id } },
  reason: "what the identity provider says about the person",
});
