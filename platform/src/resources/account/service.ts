/** The rules of an account's API keys and SSH keys. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { apiKeyText, keyDigest, newRecord } from "../../kernel/ids.ts";
import { present } from "../../kernel/present.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { isSame } from "../../kernel/same.ts";
import { mayGrant } from "../../kernel/scope.ts";
import { Collection, type Item, type RecordParts } from "../../ports/store/collection.ts";
import type { Bound, Store } from "../../ports/store/store.ts";
import { apiKeys, type KeptApiKey, type KeptSshKeys, type KeyUse, keyUses, sshKeys } from "./model.ts";
import type { QuotaBook } from "./quotas.ts";

const LISTED_AT_MOST = 10_000;

/** A key without the fields that Millrace generates. */
export type NewKey = Omit<KeptApiKey, "userId" | "digest">;

export type ApiKeyItem = Item<KeptApiKey> & { usedAt?: number | undefined };
/** Includes the key itself, which cannot be shown again later. */
export type IssuedKey = Item<KeptApiKey> & { key: string };

export class AccountService {
  readonly #keys: Collection<KeptApiKey>;
  readonly #uses: Collection<KeyUse>;
  readonly #sshKeys: Collection<KeptSshKeys>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #quotas: QuotaBook;

  readonly #store: Store;

  constructor(parts: RecordParts & { quotas: QuotaBook }) {
    this.#quotas = parts.quotas;
    this.#store = parts.store;
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

  async sshKeys({ account }: Pick<Caller, "account">): Promise<string[]> {
    return (await this.#sshKeys.get(account))?.doc.keys ?? [];
  }

  async setSshKeys({ account }: Pick<Caller, "account">, keys: string[]): Promise<void> {
    if (isSame(keys, await this.sshKeys({ account }))) return;
    await this.#sshKeys.put({ id: account, account, createdAt: this.#clock.now(), doc: { keys } });
  }

  /** Lists the newest first, each with the time of its last use. */
  async apiKeys({ account }: Pick<Caller, "account">): Promise<ApiKeyItem[]> {
    const items = await this.#keys.list({ account, limit: LISTED_AT_MOST });
    return Promise.all(items.map(async (item) => ({ ...item, usedAt: (await this.#uses.get(item.id))?.doc.at })));
  }

  async createApiKey(caller: Caller, key: NewKey): Promise<IssuedKey> {
    refuseEscalation(caller, key);
    await this.#refuseLimited(caller);
    await this.refuseUnknownEndpoints(caller.account, key.endpoints);
    if (key.expiresAt !== undefined && key.expiresAt <= this.#clock.now())
      throw problem("rule-broken", "'expiresAt' is in the past: the key could never be used.");
    const { account } = caller;
    const held = [this.#keys.held({ account })];
    return this.#quotas.within(account, "keys", held, (within) => this.issueKey(caller, key, within));
  }

  /** Makes a key without checking rights. For the command line, which has the database itself and needs no bounds. */
  async issueKey(
    owner: { account: string; user: string },
    said: NewKey,
    within?: readonly Bound[],
  ): Promise<IssuedKey> {
    const key = apiKeyText(this.#random);
    const about = { ...said, userId: owner.user, digest: keyDigest(key) };
    const record = newRecord({ clock: this.#clock, random: this.#random }, owner.account);
    const item = await this.#keys.insert({ ...record, doc: present(about) }, within);
    return { ...item, key };
  }

  /** Refuses a key for an endpoint that does not exist. Every request with it would be refused, and nobody would know why. */
  async refuseUnknownEndpoints(account: string, endpoints: readonly string[] = []): Promise<void> {
    const found = await Promise.all(endpoints.map((id) => this.#store.get("endpoint", id)));
    const errors = endpoints.flatMap((id, i) =>
      found[i]?.account === account ? [] : [`$.endpoints[${i}]: there is no endpoint '${id}'`],
    );
    if (errors.length > 0) throw problem("invalid", "Request validation failed.", { errors });
  }

  /** Only who could make such a key revokes it: others would take rights away that they do not have. */
  async removeApiKey(caller: Pick<Caller, "account" | "key" | "grants">, id: string): Promise<void> {
    await this.#refuseLimited(caller);
    await this.#keys.changeOwned(caller, id, async ({ doc: { scopes } }) => {
      const missing = scopes.find((scope) => !mayGrant(caller.grants, scope));
      if (missing)
        throw problem("not-allowed", `You lack the scope '${missing}', and cannot revoke a key that has it.`);
      const use = await this.#uses.get(id);
      return { remove: true, also: use ? [this.#uses.removing(id)] : [] };
    });
  }

  /**
   * A key with a spend limit cannot make or revoke keys. The limit covers only what this key makes, so it could get around it with another
   * key.
   */
  async #refuseLimited({ key }: Pick<Caller, "key">): Promise<void> {
    if ((await this.#keys.get(key))?.doc.spendLimit)
      throw problem("not-allowed", "This API key has a spend limit, and can neither make nor revoke keys.");
  }
}

/** A key cannot make another key with more rights than its own. */
function refuseEscalation(caller: Caller, { scopes, endpoints, expiresAt = Number.POSITIVE_INFINITY }: NewKey): void {
  const missing = scopes.find((scope) => !mayGrant(caller.grants, scope));
  if (missing) throw problem("not-allowed", `This key lacks the scope '${missing}' and cannot grant it.`);
  const narrowed = caller.endpoints;
  if (narrowed && !endpoints?.every((id) => narrowed.includes(id))) {
    throw problem(
      "not-allowed",
      "This key is narrowed to some endpoints and can only make keys narrowed to the same ones.",
    );
  }
  if (caller.expiresAt !== undefined && expiresAt > caller.expiresAt) {
    throw problem("not-allowed", "This key expires, and can only make keys that expire no later than itself.");
  }
}
