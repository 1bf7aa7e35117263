/** What people change about themselves: name, email address and password. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { problem } from "../../kernel/problem.ts";
import type { Passwords } from "../../ports/passwords/passwords.ts";
import { Collection, type Item, type RecordParts } from "../../ports/store/collection.ts";
import { WriteRefused } from "../../ports/store/store.ts";
import { type User, users } from "../account/model.ts";
import type { PasswordAttempts } from "./attempts.ts";
import { LINK_MS } from "./links.ts";
import type { UpdateMe } from "./model.ts";
import { plain, refuseWeak } from "./password-rules.ts";
import type { Sessions } from "./sessions.ts";
import { emailTaken, refuseFollower } from "./sign-in.ts";

export interface SelfParts extends RecordParts {
  passwords: Passwords;
  sessions: Sessions;
  attempts: PasswordAttempts;
  /** Refuses if this server takes no passwords. */
  refuseUnlessPasswords(): void;
  hasProvider: boolean;
}

/** The first account's owner has such an address until a person sets a real one. */
const PLACEHOLDER = /@localhost$/i;

export class SelfService {
  readonly #parts: SelfParts;
  readonly #users: Collection<User>;
  readonly #clock: Clock;

  constructor(parts: SelfParts) {
    this.#parts = parts;
    this.#users = new Collection(parts.store, users);
    this.#clock = parts.clock;
  }

  get(caller: Caller): Promise<Item<User>> {
    return this.#users.owned(caller, caller.user);
  }

  async update(caller: Caller, said: UpdateMe): Promise<Item<User>> {
    const { name, email, newPassword, currentPassword } = said;
    const before = await this.get(caller);
    const isOtherEmail = email !== undefined && email !== before.doc.email;
    if (newPassword !== undefined) this.#parts.refuseUnlessPasswords();
    if (isOtherEmail || newPassword !== undefined) refuseFollower(before.doc, this.#parts.hasProvider);
    if (isOtherEmail || newPassword !== undefined) await this.#prove(caller, before, currentPassword);
    if (newPassword !== undefined) refuseFor(newPassword, email ?? before.doc.email);
    const password = newPassword === undefined ? undefined : await this.#parts.passwords.hash(plain(newPassword));
    const set: Partial<User> = {
      ...(name !== undefined && { name }),
      ...(isOtherEmail && { email }),
      ...(password !== undefined && { password }),
    };
    if (Object.keys(set).length === 0) return before;
    try {
      return await this.#users.changeOwned(caller, caller.user, async ({ doc }) => {
        // Whoever changed it meanwhile proved that they may; this one proved to know another password.
        if (doc.password !== before.doc.password) throw wrongPassword();
        return { set, also: password === undefined ? [] : await this.#parts.sessions.ending(caller.user, caller.key) };
      });
    } catch (error) {
      throw error instanceof WriteRefused && error.reason === "key-taken" ? emailTaken() : error;
    }
  }

  /** Asks for the present password, so that a browser left open is not enough to take over the person. */
  async #prove({ person }: Caller, { doc }: Item<User>, said: string | undefined): Promise<void> {
    if (doc.password === undefined) return;
    const isFresh = person?.signedInBy === "link" && this.#clock.now() - person.signedInAt < LINK_MS;
    if (isFresh) return;
    if (said === undefined)
      throw problem("not-allowed", "This takes the present password, as 'currentPassword'.", {
        reason: "wrong-password",
      });
    await this.#parts.attempts.count({ email: doc.email });
    if (!(await this.#parts.passwords.fits(plain(said), doc.password))) throw wrongPassword();
  }
}

function refuseFor(password: string, email: string): void {
  if (PLACEHOLDER.test(email))
    throw problem("rule-broken", "A password needs an email address to sign in with: send 'email' too.");
  refuseWeak(password, email);
}

const wrongPassword = () =>
  problem("not-allowed", "The present password is another one.", { reason: "wrong-password" });
