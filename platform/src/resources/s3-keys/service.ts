/** The rules of S3 keys, and the lookup of the secret that a request is signed with. */

import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { newRecord } from "../../kernel/ids.ts";
import { present } from "../../kernel/present.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { Remembered } from "../../kernel/remembered.ts";
import { unsaidOf } from "../../kernel/resource.ts";
import type { Static } from "../../kernel/schema.ts";
import { Collection, type Item, type RecordParts } from "../../ports/store/collection.ts";
import type { Bound } from "../../ports/store/store.ts";
import type { Sealed, Vault } from "../../ports/vault/vault.ts";
import type { QuotaBook } from "../account/quotas.ts";
import type { AccountRules } from "../account/rules.ts";
import { type KeptS3Key, S3Key, s3Keys } from "./model.ts";

export type S3KeyItem = Item<KeptS3Key>;
export type NewS3Key = Static<typeof S3Key.create>;

/** The account that a key signs for, and its secret. */
export interface S3Credential {
  account: string;
  key: string;
  accessKeyId: string;
  secret: string;
}

const LISTED_AT_MOST = 10_000;
/** A key that another node deleted stays valid here for this long. */
const REMEMBERED_MS = 1000;
const ID_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const SECRET_BYTES = 30;

export class S3KeyService {
  readonly #keys: Collection<KeptS3Key>;
  readonly #vault: Vault;
  readonly #quotas: QuotaBook;
  readonly #rules: AccountRules;
  readonly #parts: { clock: Clock; random: Random };
  readonly #remembered: Remembered<S3Credential>;

  constructor(parts: RecordParts & { vault: Vault; quotas: QuotaBook; accountRules: AccountRules }) {
    this.#keys = new Collection(parts.store, s3Keys);
    this.#vault = parts.vault;
    this.#quotas = parts.quotas;
    this.#rules = parts.accountRules;
    this.#parts = parts;
    this.#remembered = new Remembered(parts.clock, REMEMBERED_MS);
  }

  prepare(): Promise<void> {
    return this.#keys.prepare();
  }

  /** Lists the newest first. */
  list({ account }: Pick<Caller, "account">): Promise<S3KeyItem[]> {
    return this.#keys.list({ account, limit: LISTED_AT_MOST });
  }

  async create({ account, expiresAt }: Caller, said: NewS3Key): Promise<S3KeyItem & { secret: string }> {
    if (expiresAt !== undefined)
      throw problem("not-allowed", "This API key expires, and an S3 key does not: make it with a key that does not.");
    const { random } = this.#parts;
    const record = newRecord(this.#parts, account);
    const accessKeyId = `MLR${[...random.bytes(17)].map((byte) => ID_LETTERS[byte % ID_LETTERS.length]).join("")}`;
    const secret = Buffer.from(random.bytes(SECRET_BYTES)).toString("base64url");
    const sealed = await this.#vault.seal(secret, context(account, record.id));
    const held = [this.#keys.held({ account })];
    const doc = { ...unsaidOf(S3Key), ...present(said), accessKeyId, sealed };
    const make = (within: Bound[]) => this.#keys.insert({ ...record, doc }, within);
    const made = await this.#quotas.within(account, "s3keys", held, make);
    return { ...made, secret };
  }

  async remove(caller: Caller, id: string): Promise<void> {
    await this.#keys.removeOwned(caller, id);
    this.#remembered.clear();
  }

  /** Undefined if there is no such key. Throws if its account is suspended. */
  async find(accessKeyId: string): Promise<S3Credential | undefined> {
    const credential =
      this.#remembered.get(accessKeyId) ??
      (await this.#remembered.reading(accessKeyId, () => this.#lookUp(accessKeyId)));
    if (credential) await this.#rules.assertOpen(credential.account);
    return credential;
  }

  async #lookUp(accessKeyId: string): Promise<S3Credential | undefined> {
    const item = await this.#keys.findEverywhere("accessKeyId", accessKeyId);
    if (!item) return undefined;
    const secret = await this.#vault.open(item.doc.sealed as Sealed, context(item.account, item.id));
    return { account: item.account, key: item.id, accessKeyId, secret };
  }

  /** Passes every sealed secret through `change`. Returns how many changed. */
  async reseal(change: (sealed: Sealed, key: string) => Sealed | undefined): Promise<number> {
    let changed = 0;
    for await (const item of this.#keys.all()) {
      const sealed = change(item.doc.sealed as Sealed, item.id);
      if (!sealed) continue;
      await this.#keys.patch(item, { sealed });
      changed++;
    }
    return changed;
  }
}

/** Binds a sealed secret to its record: copied to another one, it does not open. */
const context = (account: string, id: string) => `s3-key/${account}/${id}`;
