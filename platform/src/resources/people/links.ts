/** One-time links that sign in the owner of an account without a password. Only a process with access to the data makes them. */
import type { Clock } from "../../kernel/clock.ts";
import { keyDigest, newRecord } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import { Collection, type Item, type RecordParts } from "../../ports/store/collection.ts";
import type { Write } from "../../ports/store/store.ts";
import type { User } from "../account/model.ts";
import { type KeptSignInLink, signInLinks } from "./model.ts";
import { digestOf, newToken } from "./tokens.ts";

export const LINK_MS = 10 * 60_000;

/** The token is in the fragment, which browsers do not send. A link preview therefore cannot use the link up. */
export const signInUrl = (base: string, token: string) => `${base}/sign-in#${token}`;
export const codeUrl = (base: string, code: string) => `${base}/code#${code}`;
export const invitationUrl = (base: string, token: string) => `${base}/invitation#${token}`;

export class SignInLinks {
  readonly #links: Collection<KeptSignInLink>;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(parts: RecordParts) {
    this.#links = new Collection(parts.store, signInLinks);
    this.#clock = parts.clock;
    this.#random = parts.random;
  }

  prepare(): Promise<void> {
    return this.#links.prepare();
  }

  async create({
    id: user,
    account,
  }: Pick<Item<User>, "id" | "account">): Promise<{ token: string; expiresAt: number }> {
    await this.sweep();
    const token = newToken(this.#random);
    const expiresAt = this.#clock.now() + LINK_MS;
    const doc = { user, digest: keyDigest(token), expiresAt };
    await this.#links.insert({ ...newRecord({ clock: this.#clock, random: this.#random }, account), doc });
    return { token, expiresAt };
  }

  /** Returns undefined if the link was used, has expired or never existed. */
  async find(token: string): Promise<Item<KeptSignInLink> | undefined> {
    const digest = digestOf(token);
    const found = digest === undefined ? undefined : await this.#links.findEverywhere("digest", digest);
    return found && !this.#isOver(found.doc) ? found : undefined;
  }

  /** The write that uses it up. If two browsers come at once, the second write is refused. */
  taking({ id, version }: Item<KeptSignInLink>): Write {
    return this.#links.removing(id, version);
  }

  async sweep(): Promise<void> {
    for await (const { id, doc } of this.#links.all()) if (this.#isOver(doc)) await this.#links.removeIfThere(id);
  }

  #isOver({ expiresAt }: KeptSignInLink): boolean {
    return expiresAt <= this.#clock.now();
  }
}
