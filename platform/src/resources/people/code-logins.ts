/** Sign-ins on the command line: it shows a short code, and a person who is signed in to the console approves it (RFC 8628). */
import type { Caller } from "../../kernel/caller.ts";
import { keyDigest, newRecord } from "../../kernel/ids.ts";
import { present } from "../../kernel/present.ts";
import { type Problem, problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { Collection, type Item, type RecordParts } from "../../ports/store/collection.ts";
import { type Write, WriteRefused } from "../../ports/store/store.ts";
import type { Accounts } from "../account/accounts.ts";
import { codeLogins, type KeptCodeLogin } from "./model.ts";
import { type From, type Sessions, USER_AGENT_LENGTH } from "./sessions.ts";
import { digestOf, newToken } from "./tokens.ts";

export interface CodeLoginParts extends RecordParts {
  accounts: Accounts;
  sessions: Sessions;
}

export type CodeLoginItem = Item<KeptCodeLogin>;

export const CODE_MS = 10 * 60_000;
/** The most codes that wait at the same time, in the whole installation. */
const MOST_WAITING = 1000;
/** Without vowels and look-alikes: nobody misreads it, and it spells no word. Few tries are allowed for 20^8 codes. */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const CODE_LENGTH = 8;

export class CodeLogins {
  readonly #parts: CodeLoginParts;
  readonly #logins: Collection<KeptCodeLogin>;

  constructor(parts: CodeLoginParts) {
    this.#parts = parts;
    this.#logins = new Collection(parts.store, codeLogins);
  }

  prepare(): Promise<void> {
    return this.#logins.prepare();
  }

  async begin(device: string | undefined, { address, userAgent }: From) {
    const { clock, random, accounts } = this.#parts;
    await this.sweep();
    const [deviceCode, userCode] = [newToken(random), newCode(random)];
    // Nobody knows yet whose it will be, so the first account holds it.
    const { account } = await accounts.firstOwner();
    const digests = { deviceDigest: keyDigest(deviceCode), userDigest: keyDigest(userCode) };
    const expiresAt = clock.now() + CODE_MS;
    const about = { device, address, userAgent: userAgent?.slice(0, USER_AGENT_LENGTH), expiresAt };
    const doc = present({ ...digests, ...about }) as KeptCodeLogin;
    const within = [{ of: [this.#logins.held({ account })], most: MOST_WAITING }];
    await this.#logins.insert({ ...newRecord(this.#parts, account), doc }, within).catch((error: unknown) => {
      throw error instanceof WriteRefused && error.reason === "full" ? tooMany() : error;
    });
    return { deviceCode, userCode: `${userCode.slice(0, 4)}-${userCode.slice(4)}`, expiresInS: CODE_MS / 1000 };
  }

  /** Finds what the command line waits for, whether or not somebody has approved it. */
  async find(deviceCode: string): Promise<CodeLoginItem> {
    const digest = digestOf(deviceCode);
    const found = digest === undefined ? undefined : await this.#logins.findEverywhere("device", digest);
    if (!found || this.#isOver(found) || found.doc.refused) throw codeOver();
    return found;
  }

  /** The write that uses it up. If the command line asks twice at once, the second write is refused. */
  taking({ id, version }: CodeLoginItem): Write {
    return this.#logins.removing(id, version);
  }

  /** What a person looks at before they answer. */
  async look(userCode: string): Promise<CodeLoginItem> {
    const code = userCode.toUpperCase().replaceAll(/[^A-Z]/g, "");
    const found = await this.#logins.findEverywhere("user", keyDigest(code));
    if (!found || this.#isOver(found) || isAnswered(found)) throw codeOver();
    return found;
  }

  async answer(caller: Caller, { userCode, approve }: { userCode: string; approve: boolean }): Promise<void> {
    const session = (await this.#parts.sessions.byId(caller.key))?.session;
    // Otherwise a session that was stolen from a command line could renew itself for ever.
    if (!session || session.doc.signedInBy === "code")
      throw problem("not-allowed", "Only a person in the console approves a sign-in on the command line.", {
        reason: "person-only",
      });
    const found = await this.look(userCode);
    // Groups at the provider were read when this session began. What follows from it lasts no longer.
    const until = session.doc.signedInBy === "provider" ? session.doc.expiresAt : undefined;
    const approval = { approvedBy: caller.user, approvedIn: session.id, ...(until !== undefined && { until }) };
    const set = approve ? approval : { refused: true };
    const changed = await this.#logins.change(found.id, (item) => {
      if (isAnswered(item)) throw codeOver();
      return { set };
    });
    if (!changed) throw codeOver();
  }

  async sweep(): Promise<void> {
    for await (const item of this.#logins.all()) if (this.#isOver(item)) await this.#logins.removeIfThere(item.id);
  }

  #isOver({ doc }: CodeLoginItem): boolean {
    return doc.expiresAt <= this.#parts.clock.now();
  }
}

const isAnswered = ({ doc }: CodeLoginItem) => doc.approvedBy !== undefined || doc.refused === true;

function newCode(random: Random): string {
  let code = "";
  while (code.length < CODE_LENGTH) {
    // 240 is the largest multiple of 20 in a byte; the rest would favour the first letters.
    for (const byte of random.bytes(CODE_LENGTH))
      if (byte < 240 && code.length < CODE_LENGTH) code += LETTERS[byte % LETTERS.length];
  }
  return code;
}

export const codeOver = (): Problem =>
  problem(
    "unauthenticated",
    "This code was used or refused, its time is over, or it never existed: run 'millrace login' again.",
    { reason: "code-over" },
  );

const tooMany = (): Problem =>
  problem("too-much", `${MOST_WAITING} command lines wait for somebody already: try again in some minutes.`, {
    reason: "too-many-attempts",
    retryAfterS: CODE_MS / 1000,
  });
