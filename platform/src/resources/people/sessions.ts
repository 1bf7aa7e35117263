/** Sessions of people in browsers. A session is valid only while its person exists and is not disabled. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { keyDigest, newRecord } from "../../kernel/ids.ts";
import { present } from "../../kernel/present.ts";
import type { Random } from "../../kernel/random.ts";
import { Collection, type Item, type RecordParts } from "../../ports/store/collection.ts";
import type { Write } from "../../ports/store/store.ts";
import { roleOf, type User, users } from "../account/model.ts";
import { grantsOf, type KeptSession, sessions, type WayIn } from "./model.ts";
import { digestOf, newBearer, newToken } from "./tokens.ts";

const DAY_MS = 86_400_000;

/** How long a session lasts. */
export interface SessionTimes {
  /** A session ends after this time even if it is used. */
  mostMs: number;
  /** An unused session ends after this time. */
  idleMs: number;
}

const STANDARD_TIMES: SessionTimes = { mostMs: 30 * DAY_MS, idleMs: 7 * DAY_MS };
/** The most sessions of one person. A new one beyond this ends the oldest. */
const MOST_SESSIONS = 50;
const LISTED_AT_MOST = 10_000;
const ADDRESS_LENGTH = 64;
export const USER_AGENT_LENGTH = 200;

/** A valid session and its person. */
export interface Standing {
  session: Item<KeptSession>;
  person: Item<User>;
}

/** A new session: the write that stores it, and its two secrets, of which only digests are stored. */
export interface Beginning {
  session: Item<KeptSession>;
  write: Write;
  secret: string;
  pageToken: string;
}

export interface From {
  address: string | undefined;
  userAgent: string | undefined;
}

export class Sessions {
  readonly #sessions: Collection<KeptSession>;
  readonly #users: Collection<User>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #times: SessionTimes;

  constructor(parts: RecordParts & { sessionTimes?: SessionTimes | undefined }) {
    this.#times = parts.sessionTimes ?? STANDARD_TIMES;
    this.#sessions = new Collection(parts.store, sessions);
    this.#users = new Collection(parts.store, users);
    this.#clock = parts.clock;
    this.#random = parts.random;
  }

  prepare(): Promise<void> {
    return this.#sessions.prepare();
  }

  /** A session ends after this time even if it is used. */
  get mostMs(): number {
    return this.#times.mostMs;
  }

  begin(
    person: Pick<Item<User>, "id" | "account">,
    signedInBy: WayIn,
    { address, userAgent }: From,
    forMs = this.mostMs,
  ): Beginning {
    const secret = signedInBy === "code" ? newBearer(this.#random) : newToken(this.#random);
    const pageToken = newToken(this.#random);
    const record = newRecord({ clock: this.#clock, random: this.#random }, person.account);
    const doc: KeptSession = present({
      user: person.id,
      digest: keyDigest(secret),
      pageDigest: keyDigest(pageToken),
      signedInBy,
      lastUsedAt: record.createdAt,
      expiresAt: record.createdAt + forMs,
      address: address?.slice(0, ADDRESS_LENGTH),
      userAgent: userAgent?.slice(0, USER_AGENT_LENGTH),
    } as KeptSession);
    const session = { ...record, version: 1, doc };
    return { session, write: this.#sessions.inserting(session), secret, pageToken };
  }

  /** Finds a valid session. It is read for each request, so that an ended one stops working at once on every node. */
  async bySecret(secret: string): Promise<Standing | undefined> {
    const digest = digestOf(secret);
    return digest === undefined ? undefined : this.#standing(await this.#sessions.findEverywhere("digest", digest));
  }

  /** Finds the session of a program, which sends its secret as an API key is sent. A browser's secret is none. */
  async byBearer(secret: string): Promise<Standing | undefined> {
    return this.#standing(await this.#sessions.findEverywhere("digest", keyDigest(secret)));
  }

  async byId(id: string): Promise<Standing | undefined> {
    return this.#standing(await this.#sessions.get(id));
  }

  /** Lists the valid sessions of a person, newest first. */
  async listOf(user: string): Promise<Item<KeptSession>[]> {
    return (await this.#of(user)).filter((item) => !this.#isOver(item));
  }

  /** When each person of an account last used a session. */
  async lastSeen(account: string): Promise<ReadonlyMap<string, number>> {
    const seen = new Map<string, number>();
    for (const { doc } of await this.#sessions.list({ account, limit: LISTED_AT_MOST }))
      seen.set(doc.user, Math.max(doc.lastUsedAt, seen.get(doc.user) ?? 0));
    return seen;
  }

  /** Ends a session of the caller. Sessions of other people are not found. */
  async end({ account, user }: Pick<Caller, "account" | "user">, id: string): Promise<void> {
    await this.#sessions.changeOwned({ account }, id, ({ doc }) => {
      if (doc.user !== user) throw this.#sessions.notFound();
      return { remove: true };
    });
  }

  async endIfThere(id: string): Promise<void> {
    await this.#sessions.removeIfThere(id);
  }

  /** The writes that end all sessions of a person, except one if it is named. */
  async ending(user: string, except?: string): Promise<Write[]> {
    const items = (await this.#of(user)).filter(({ id }) => id !== except);
    return items.map(({ id }) => this.#sessions.removing(id));
  }

  async endAll(user: string, except?: string): Promise<void> {
    for (const { id } of await this.#of(user)) if (id !== except) await this.#sessions.removeIfThere(id);
  }

  /** Ends expired sessions, and the oldest ones if a person has too many for one more. */
  async makeRoom(user: string): Promise<void> {
    const items = await this.#of(user);
    const left = items.filter((item, index) => index >= MOST_SESSIONS - 1 || this.#isOver(item));
    for (const { id } of left) await this.#sessions.removeIfThere(id);
  }

  async noteUse(id: string, at: number): Promise<void> {
    await this.#sessions.change(id, ({ doc }) => (doc.lastUsedAt < at ? { set: { lastUsedAt: at } } : undefined));
  }

  async sweep(): Promise<void> {
    for await (const item of this.#sessions.all()) if (this.#isOver(item)) await this.#sessions.removeIfThere(item.id);
  }

  async #standing(session: Item<KeptSession> | undefined): Promise<Standing | undefined> {
    if (!session || this.#isOver(session)) return undefined;
    const person = await this.#users.get(session.doc.user);
    return !person || person.doc.disabled ? undefined : { session, person };
  }

  #of(user: string): Promise<Item<KeptSession>[]> {
    return this.#sessions.list({ key: { name: "user", value: user }, limit: LISTED_AT_MOST });
  }

  /** A shorter time in the settings also counts for sessions that began before. */
  #isOver({ createdAt, doc: { expiresAt, lastUsedAt } }: Item<KeptSession>): boolean {
    const { mostMs, idleMs } = this.#times;
    return Math.min(expiresAt, createdAt + mostMs, lastUsedAt + idleMs) <= this.#clock.now();
  }
}

/** Makes the caller for a session. The authenticator adds whether the caller owns the installation. */
export function callerOf({ session, person }: Standing): Caller {
  const { email } = person.doc;
  const { signedInBy } = session.doc;
  return {
    account: person.account,
    user: person.id,
    key: session.id,
    keyName: email,
    person: { email, signedInBy, signedInAt: session.createdAt },
    grants: grantsOf[roleOf(person.doc)],
    exempt: false,
  };
}
