/** The rules of secrets, the same for every surface. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Kept } from "../../kernel/document.ts";
import { newRecord } from "../../kernel/ids.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { unsaidOf } from "../../kernel/resource.ts";
import { changedIn, isEmpty } from "../../kernel/same.ts";
import type { Static } from "../../kernel/schema.ts";
import { Collection, type Item, type RecordParts } from "../../ports/store/collection.ts";
import { type Store, WriteRefused } from "../../ports/store/store.ts";
import type { Sealed, Vault } from "../../ports/vault/vault.ts";
import type { QuotaBook } from "../account/quotas.ts";
import { type KeptSecret, Secret, secrets } from "./model.ts";

/** Kept apart under the secret's id, so that listing secrets never reads values of up to 16 MB. */
export type KeptSecretValue = { sealed: Sealed };

const secretValues: Kept<KeptSecretValue> = { kind: "secret-value", v: 1 };

/** Placeholders themselves begin with these names, so a reference to a secret with such a name would be ambiguous. */
const RESERVED_NAME = /^(millrace|runpod)/i;
const LISTED_AT_MOST = 10_000;

export type SecretItem = Item<KeptSecret>;
export type NewSecret = Static<typeof Secret.create>;
export type SecretChange = Static<typeof Secret.update>;

export class SecretService {
  readonly #store: Store;
  readonly #secrets: Collection<KeptSecret>;
  readonly #values: Collection<KeptSecretValue>;
  readonly #vault: Vault;
  readonly #clock: Clock;
  readonly #random: Random;

  readonly #quotas: QuotaBook;

  constructor(parts: RecordParts & { vault: Vault; quotas: QuotaBook }) {
    this.#quotas = parts.quotas;
    this.#store = parts.store;
    this.#secrets = new Collection(parts.store, secrets);
    this.#values = new Collection(parts.store, secretValues);
    this.#vault = parts.vault;
    this.#clock = parts.clock;
    this.#random = parts.random;
  }

  async prepare(): Promise<void> {
    await this.#secrets.prepare();
    await this.#values.prepare();
  }

  /** Lists the newest first. With a name, returns only the secret with that name, ignoring case. */
  async list({ account }: Caller, name?: string): Promise<SecretItem[]> {
    if (name === undefined) return this.#secrets.list({ account, limit: LISTED_AT_MOST });
    const found = await this.#secrets.find(account, "name", name.toLowerCase());
    return found ? [found] : [];
  }

  async create({ account }: Caller, { value, ...said }: NewSecret): Promise<SecretItem> {
    const { name } = said;
    if (RESERVED_NAME.test(name))
      throw problem("rule-broken", `The name '${name}' begins with a reserved word: MILLRACE or RUNPOD.`);
    const record = newRecord({ clock: this.#clock, random: this.#random }, account);
    const sealed = await this.#vault.seal(value, context(account, record.id));
    const description = said.description || null;
    const doc = { ...unsaidOf(Secret), ...said, description, valueLastUpdatedAt: record.createdAt };
    const sealedValue = this.#values.inserting({ ...record, doc: { sealed } });
    const held = [this.#secrets.held({ account })];
    try {
      await this.#quotas.within(account, "secrets", held, (within) =>
        this.#store.commit([this.#secrets.inserting({ ...record, doc }, within), sealedValue]),
      );
    } catch (error) {
      throw nameTaken(error, name);
    }
    return { ...record, version: 1, doc };
  }

  get(caller: Caller, id: string): Promise<SecretItem> {
    return this.#secrets.owned(caller, id);
  }

  /** Writes the value first and the description second, in two writes. The specification says so, and that they are not atomic. */
  async update(caller: Caller, id: string, { value, description, ...plain }: SecretChange): Promise<SecretItem> {
    let secret = await this.#secrets.owned(caller, id);
    if (value !== undefined) secret = await this.#rotate(secret, value);
    const said = { ...plain, ...(description !== undefined && { description: description || null }) };
    if (!isEmpty(said)) secret = await this.#describe(secret, said);
    return secret;
  }

  async remove(caller: Caller, id: string): Promise<void> {
    await this.#secrets.changeOwned(caller, id, () => ({ remove: true, also: [this.#values.removing(id)] }));
  }

  /** The current value, for a boot. Undefined if no such secret exists. */
  async reveal(account: string, name: string): Promise<string | undefined> {
    const secret = await this.#secrets.find(account, "name", name.toLowerCase());
    const value = secret && (await this.#values.get(secret.id));
    // Names are unique without regard to case, but a placeholder has to match the name exactly.
    if (!secret || !value || secret.doc.name !== name) return undefined;
    return this.#vault.open(value.doc.sealed, context(account, secret.id));
  }

  /** Passes every sealed value through `change`, one at a time, since a value can have 16 MB. Returns how many changed. */
  async reseal(change: (sealed: Sealed, secret: string) => Sealed | undefined): Promise<number> {
    let changed = 0;
    for await (const { id } of this.#secrets.all()) {
      const value = await this.#values.get(id);
      const sealed = value && change(value.doc.sealed, id);
      if (!sealed) continue;
      await this.#values.patch(value, { sealed });
      changed++;
    }
    return changed;
  }

  async #rotate(secret: SecretItem, value: string): Promise<SecretItem> {
    const sealed = await this.#vault.seal(value, context(secret.account, secret.id));
    return this.#secrets.changeOwned(secret, secret.id, async ({ id }) => {
      const stored = await this.#values.get(id);
      if (!stored) throw this.#secrets.notFound();
      return { set: { valueLastUpdatedAt: this.#clock.now() }, also: [this.#values.patching(stored, { sealed })] };
    });
  }

  #describe(secret: SecretItem, said: Partial<KeptSecret>): Promise<SecretItem> {
    return this.#secrets.changeOwned(secret, secret.id, ({ doc }) => {
      const set = changedIn(doc, said);
      return isEmpty(set) ? undefined : { set };
    });
  }
}

/** Binds a sealed value to its record: copied to another one, it does not open. */
function context(account: string, id: string): string {
  return `secret/${account}/${id}`;
}

function nameTaken(error: unknown, name: string): unknown {
  const taken = error instanceof WriteRefused && error.reason === "key-taken";
  return taken ? problem("name-taken", `A secret named '${name}' already exists.`) : error;
}
