/** Signs people in by a one-time link, a password, an invitation, the identity provider or a code, and signs them out. */
import type { Caller } from "../../kernel/caller.ts";
import { floating } from "../../kernel/floating.ts";
import { newRecord } from "../../kernel/ids.ts";
import { present } from "../../kernel/present.ts";
import { problem } from "../../kernel/problem.ts";
import type { Limits } from "../../ports/limits/limits.ts";
import type { Passwords } from "../../ports/passwords/passwords.ts";
import { Collection, type Item, type RecordParts } from "../../ports/store/collection.ts";
import { type Write, WriteRefused } from "../../ports/store/store.ts";
import { type User, users } from "../account/model.ts";
import type { AuditLog, Deed } from "../audit/service.ts";
import { PasswordAttempts } from "./attempts.ts";
import { type CodeLogins, codeOver } from "./code-logins.ts";
import { type Invitations, used } from "./invitations.ts";
import type { SignInLinks } from "./links.ts";
import type { SignInByInvitation, WayIn } from "./model.ts";
import { plain, refuseWeak } from "./password-rules.ts";
import { MOST_PEOPLE } from "./people.ts";
import { callerOf, type From, type Sessions } from "./sessions.ts";

export interface SignInParts extends RecordParts {
  audit: AuditLog;
  limits: Limits;
  passwords: Passwords;
  sessions: Sessions;
  invitations: Invitations;
  signInLinks: SignInLinks;
  codeLogins: CodeLogins;
  /** Whether people who belong to an identity provider sign in there alone. */
  hasProvider: boolean;
  /** Whether passwords and invitations are taken. */
  takesPasswords: boolean;
}

/** A session that has just started. */
export interface Begun {
  secret: string;
  forMs: number;
  pageToken: string;
  caller: Caller;
}

type Person = Omit<Item<User>, "version">;

const OPERATIONS: Record<WayIn, string> = {
  link: "signInByLink",
  password: "signIn",
  invitation: "signInByInvitation",
  provider: "signInByProvider",
  code: "signInByCode",
};

export class SignInService {
  readonly #parts: SignInParts;
  readonly #users: Collection<User>;
  readonly attempts: PasswordAttempts;

  constructor(parts: SignInParts) {
    this.#parts = parts;
    this.#users = new Collection(parts.store, users);
    this.attempts = new PasswordAttempts(parts);
  }

  async byLink(token: string, from: From): Promise<Begun> {
    const { signInLinks } = this.#parts;
    const link = await signInLinks.find(token);
    const person = link && (await this.#users.get(link.doc.user));
    if (!link || !person || person.doc.disabled) throw linkUsed();
    return this.#begin(person, "link", from, [signInLinks.taking(link)], linkUsed);
  }

  /** Every refusal gets the same answer after the same work, so that nobody learns which addresses exist. */
  async byPassword({ email, password }: { email: string; password: string }, from: From): Promise<Begun> {
    this.refuseUnlessPasswords();
    await this.attempts.count({ email, address: from.address });
    const person = await this.#users.findEverywhere("signIn", email.toLowerCase());
    const isIt = await this.#parts.passwords.fits(plain(password), person?.doc.password);
    if (person && isIt && !person.doc.disabled) {
      refuseFollower(person.doc, this.#parts.hasProvider);
      return this.#begin(person, "password", from, [], failed);
    }
    // The answer does not wait for the entry, which no stranger's address gets: the time of a write would tell that this one is known.
    if (person) floating(this.#parts.audit.refused(deedOf(person, "password", from), "unauthenticated"), () => {});
    throw failed();
  }

  async byInvitation(said: SignInByInvitation, from: From): Promise<Begun> {
    this.refuseUnlessPasswords();
    const { token, email, password, name } = said;
    const { invitations, passwords } = this.#parts;
    const invitation = await invitations.find(token);
    const { role, email: invited } = invitation.doc;
    if (invited !== undefined && invited.toLowerCase() !== email.toLowerCase())
      throw problem("rule-broken", "This invitation is for another email address.");
    refuseWeak(password, email);
    const doc: User = present({ email, name, role, password: await passwords.hash(plain(password)) } as User);
    const person = { ...newRecord(this.#parts, invitation.account), doc };
    const within = [{ of: [this.#users.held(person)], most: MOST_PEOPLE }];
    const writes = [this.#users.inserting(person, within), invitations.taking(invitation)];
    return this.#begin(person, "invitation", from, writes, used);
  }

  /** For somebody whom the identity provider has named, and whose role is as their groups say. */
  byProvider(person: Person, from: From, forMs: number): Promise<Begun> {
    return this.#begin(person, "provider", from, [], failed, forMs);
  }

  /** For a command line. Returns undefined while nobody has answered its code. */
  async byCode(deviceCode: string, { address, userAgent }: From): Promise<Begun | undefined> {
    const { codeLogins, clock, sessions } = this.#parts;
    const login = await codeLogins.find(deviceCode);
    const { approvedBy, approvedIn, device, until = Number.POSITIVE_INFINITY } = login.doc;
    if (approvedBy === undefined) return undefined;
    // Whoever ends all sessions of a person also ends what those were about to begin.
    if (approvedIn !== undefined && !(await sessions.byId(approvedIn))) throw codeOver();
    const person = await this.#users.get(approvedBy);
    const forMs = Math.min(sessions.mostMs, until - clock.now());
    if (!person || person.doc.disabled || forMs <= 0) throw codeOver();
    const from = { address, userAgent: device === undefined ? userAgent : `millrace login on ${device}` };
    return this.#begin(person, "code", from, [codeLogins.taking(login)], codeOver, forMs);
  }

  refuseUnlessPasswords(): void {
    if (!this.#parts.takesPasswords)
      throw problem("not-allowed", "This server takes no passwords: sign in by the identity provider.", {
        reason: "passwords-off",
      });
  }

  /** Whether anyone has a password yet. Before that, only links work. */
  async isPasswordSet(): Promise<boolean> {
    return (await this.#users.count({ key: { name: "signIn", value: "password" } })) > 0;
  }

  /** Does nothing if the session has already ended. Returns how it had begun. */
  async signOut(secret: string | undefined, from: From): Promise<WayIn | undefined> {
    const { sessions, audit } = this.#parts;
    const standing = secret === undefined ? undefined : await sessions.bySecret(secret);
    if (!standing) return undefined;
    const { session, person } = standing;
    const deed = {
      ...deedOf(person, "password", from),
      operation: "signOut",
      resource: { type: "sessions", id: session.id },
    };
    await audit.record(deed, () => sessions.endIfThere(session.id));
    return session.doc.signedInBy;
  }

  /** Starts the session in the same commit that uses up the link or invitation, so that it lets in one browser only. */
  async #begin(
    person: Person,
    by: WayIn,
    from: From,
    writes: Write[],
    gone: () => Error,
    given = Number.POSITIVE_INFINITY,
  ): Promise<Begun> {
    const { sessions, store, audit } = this.#parts;
    const forMs = Math.min(given, sessions.mostMs);
    await sessions.makeRoom(person.id);
    const { session, write, secret, pageToken } = sessions.begin(person, by, from, forMs);
    const deed = { ...deedOf(person, by, from), resource: { type: "sessions", id: session.id } };
    await audit.record(deed, () => store.commit([...writes, write]).catch((error: unknown) => refused(error, gone)));
    return {
      secret,
      forMs,
      pageToken,
      caller: callerOf({ session, person: { ...person, version: 1 } }),
    };
  }
}

function refused(error: unknown, gone: () => Error): never {
  if (!(error instanceof WriteRefused)) throw error;
  if (error.reason === "key-taken") throw emailTaken();
  if (error.reason === "full") throw problem("over-quota", `An account has ${MOST_PEOPLE} people at most.`);
  throw gone();
}

export const emailTaken = () =>
  problem("name-taken", "Somebody signs in with this email address already: use another one.");

const failed = () =>
  problem("unauthenticated", "The email address or the password is wrong.", { reason: "sign-in-failed" });

const linkUsed = () =>
  problem("unauthenticated", "This link was used before, or its time is over: make a new one with 'millrace open'.", {
    reason: "link-used",
  });

/** The provider says who may come in. A password from before must not go on working after it said no. */
export function refuseFollower({ provider }: User, hasProvider: boolean): void {
  if (provider && hasProvider)
    throw problem("not-allowed", "You sign in by the identity provider, which keeps your email address and password.", {
      reason: "provider-only",
    });
}

export function deedOf({ id, account, doc }: Person, by: WayIn, { address, userAgent }: From): Deed {
  const actor = { type: "person", id, name: doc.email } as const;
  return { account, actor, operation: OPERATIONS[by], resource: { type: "sessions" }, address, userAgent };
}
