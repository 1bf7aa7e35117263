/** The rules of an account's API keys and SSH keys. */
import type { Caller } from "../../kernel/caller.ts";
import { type Clock, parseTimestamp, timestamp } from "../../kernel/clock.ts";
import { apiKeyText, keyDigest, resourceId } from "../../kernel/ids.ts";
import type { Call, Handlers } from "../../kernel/operation.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { type Grant, mayGrant } from "../../kernel/scope.ts";
import { Collection, type Item } from "../../ports/store/collection.ts";
import type { Store } from "../../ports/store/store.ts";
import { type ApiKey, apiKeys, type KeptApiKey, type KeptSshKeys, type KeyUse, keyUses, sshKeys } from "./model.ts";
import type { accountOperations } from "./operations.ts";
import type { QuotaBook } from "./quotas.ts";

const LISTED_AT_MOST = 10_000;

type Operations = typeof accountOperations;
type KeyRequest = Call<Operations["createApiKey"]>["body"];
type NewKey = Omit<KeyRequest, "expiresAt"> & { expiresAt?: number };

export class AccountService implements Handlers<Operations> {
  readonly #keys: Collection<KeptApiKey>;
  readonly #uses: Collection<KeyUse>;
  readonly #sshKeys: Collection<KeptSshKeys>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #quotas: QuotaBook;

  constructor(parts: { store: Store; clock: Clock; random: Random; quotas: QuotaBook }) {
    this.#quotas = parts.quotas;
    this.#keys = new Collection(parts.store, apiKeys);
    this.#uses = new Collection(parts.store, keyUses);
    this.#sshKeys = new Collection(parts.store, sshKeys);
    this.#clock = parts.clock;
    this.#random = parts.random;
  }

  async prepare(): Promise<void> {
    await this.#keys.prepare();
    await this.#uses.prepare();
    await this.#sshKeys.prepare();
  }

  async getSshKeys({ caller }: Pick<Call, "caller">): Promise<{ keys: string[] }> {
    return { keys: (await this.#sshKeys.get(caller.account))?.doc.keys ?? [] };
  }

  async updateSshKeys({ caller, body }: Call<Operations["updateSshKeys"]>): Promise<{ keys: string[] }> {
    const { account } = caller;
    await this.#sshKeys.put({ id: account, account, createdAt: this.#clock.now(), doc: body });
    return body;
  }

  async listApiKeys({ caller }: Pick<Call, "caller">): Promise<{ apiKeys: ApiKey[] }> {
    const items = await this.#keys.list({ account: caller.account, limit: LISTED_AT_MOST });
    return { apiKeys: await Promise.all(items.map(async (item) => shown(item, await this.#uses.get(item.id)))) };
  }

  async createApiKey({ caller, body }: Call<Operations["createApiKey"]>): Promise<ApiKey & { key: string }> {
    const expiresAt = body.expiresAt === undefined ? undefined : parseTimestamp(body.expiresAt);
    refuseEscalation(caller, { ...body, expiresAt });
    if (expiresAt !== undefined && expiresAt <= this.#clock.now()) {
      throw problem("rule-broken", "'expiresAt' is in the past: the key could never be used.");
    }
    const { account } = caller;
    const count = () => this.#keys.count({ account });
    return this.#quotas.within(account, "keys", count, () => this.issueKey(caller, { ...body, expiresAt }));
  }

  /** Makes a key without asking whether anyone may: for the command line, which already holds the data itself. */
  async issueKey(
    owner: { account: string; user: string },
    { name, scopes, endpoints, expiresAt, exempt }: NewKey,
  ): Promise<ApiKey & { key: string }> {
    const key = apiKeyText(this.#random);
    const item = await this.#keys.insert({
      id: resourceId(this.#random),
      account: owner.account,
      createdAt: this.#clock.now(),
      doc: withoutAbsent({
        userId: owner.user,
        digest: keyDigest(key),
        name,
        scopes: scopes as Grant[],
        endpoints,
        expiresAt,
        exempt,
      }),
    });
    return { ...shown(item), key };
  }

  async deleteApiKey({ caller, params }: Pick<Call, "caller" | "params">): Promise<void> {
    await this.#keys.changeOwned(caller, params.id!, async ({ id }) => {
      const use = await this.#uses.get(id);
      return { remove: true, also: use ? [this.#uses.removing(id)] : [] };
    });
  }
}

/** A key cannot make another that may do more than itself. */
function refuseEscalation(caller: Caller, { scopes, endpoints, expiresAt = Number.POSITIVE_INFINITY }: NewKey): void {
  const missing = scopes.find((scope) => !mayGrant(caller.grants, scope as Grant));
  if (missing) throw problem("forbidden", `This key lacks the scope '${missing}' and cannot grant it.`);
  const narrowed = caller.endpoints;
  if (narrowed && !endpoints?.every((id) => narrowed.includes(id))) {
    throw problem(
      "forbidden",
      "This key is narrowed to some endpoints and can only make keys narrowed to the same ones.",
    );
  }
  if (caller.expiresAt !== undefined && expiresAt > caller.expiresAt) {
    throw problem("forbidden", "This key expires, and can only make keys that expire no later than itself.");
  }
}

function shown({ id, createdAt, doc }: Item<KeptApiKey>, use?: Item<KeyUse>): ApiKey {
  return withoutAbsent({
    id,
    name: doc.name,
    scopes: doc.scopes,
    endpoints: doc.endpoints,
    expiresAt: doc.expiresAt === undefined ? undefined : timestamp(doc.expiresAt),
    exempt: doc.exempt,
    createdAt: timestamp(createdAt),
    lastUsedAt: use ? timestamp(use.doc.at) : null,
  });
}

/** Absent fields are left out, never null: both public clients and our schemas read them so. */
function withoutAbsent<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
