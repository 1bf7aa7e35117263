/** The rules of registries and delegations, and the credentials for pulling an image. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Kept } from "../../kernel/document.ts";
import { newRecord } from "../../kernel/ids.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { unsaidOf } from "../../kernel/resource.ts";
import type { Static } from "../../kernel/schema.ts";
import type { RegistryCredential } from "../../ports/compute/compute.ts";
import { parseReference } from "../../ports/compute/image-reference.ts";
import { Collection, type Item, type RecordParts } from "../../ports/store/collection.ts";
import { type Bound, type Store, type Write, WriteRefused } from "../../ports/store/store.ts";
import type { Sealed, Vault } from "../../ports/vault/vault.ts";
import type { QuotaBook } from "../account/quotas.ts";
import type { Uses } from "../uses.ts";
import { parseEcrArn } from "./arn.ts";
import { Delegation, delegations, type KeptDelegation, type KeptRegistry, Registry, registries } from "./model.ts";

/**
 * User name and password, sealed as one text. They are kept apart under the registry's id, so that listing registries reads no credentials.
 */
export type KeptCredential = { sealed: Sealed };

const registryCredentials: Kept<KeptCredential> = { kind: "registry-credential", v: 1 };

export type RegistryItem = Item<KeptRegistry>;
export type DelegationItem = Item<KeptDelegation>;
export type NewRegistry = Static<typeof Registry.create>;
export type NewDelegation = Static<typeof Delegation.create>;

/** An image to pull, and the account to pull it for. */
export interface Pull {
  account: string;
  image: string;
  /** The registry that the user of the image names, if any. */
  registry: string | null;
}

/** The means for pulling an image. */
export interface PullAccess {
  credential?: RegistryCredential;
  /** Text to add to the error if the registry refuses the pull. */
  ifDenied?: string;
}

const LISTED_AT_MOST = 10_000;
const TAG = "latest";
const ECR_HOST = /^\d{12}\.dkr\.ecr\./;

export class RegistryService {
  readonly #store: Store;
  readonly #registries: Collection<KeptRegistry>;
  readonly #credentials: Collection<KeptCredential>;
  readonly #delegations: Collection<KeptDelegation>;
  readonly #vault: Vault;
  readonly #quotas: QuotaBook;
  readonly #uses: Uses;
  readonly #parts: { clock: Clock; random: Random };

  constructor(parts: RecordParts & { vault: Vault; quotas: QuotaBook; uses: Uses }) {
    this.#store = parts.store;
    this.#registries = new Collection(parts.store, registries);
    this.#credentials = new Collection(parts.store, registryCredentials);
    this.#delegations = new Collection(parts.store, delegations);
    this.#vault = parts.vault;
    this.#quotas = parts.quotas;
    this.#uses = parts.uses;
    this.#parts = parts;
  }

  async prepare(): Promise<void> {
    await this.#registries.prepare();
    await this.#credentials.prepare();
    await this.#delegations.prepare();
  }

  /** Lists the newest first. */
  list({ account }: Pick<Caller, "account">): Promise<RegistryItem[]> {
    return this.#registries.list({ account, limit: LISTED_AT_MOST });
  }

  get(caller: Pick<Caller, "account">, id: string): Promise<RegistryItem> {
    return this.#registries.owned(caller, id);
  }

  async create({ account }: Caller, { username, password, ...said }: NewRegistry): Promise<RegistryItem> {
    const doc = { ...unsaidOf(Registry), ...said };
    const record = newRecord(this.#parts, account);
    const sealed = await this.#seal(record, { username, password });
    const credential = this.#credentials.inserting({ ...record, doc: { sealed } });
    try {
      await this.#within(account, (within) =>
        this.#store.commit([this.#registries.inserting({ ...record, doc }, within), credential]),
      );
    } catch (error) {
      throw nameTaken(error, doc.name);
    }
    return { ...record, version: 1, doc };
  }

  /** Replaces the user name and password under the same id. Everything that uses the registry pulls with the new ones from then on. */
  async rotate(caller: Caller, id: string, credential: RegistryCredential): Promise<RegistryItem> {
    const sealed = await this.#seal(await this.#registries.owned(caller, id), credential);
    return this.#registries.changeOwned(caller, id, async () => {
      const stored = await this.#credentials.get(id);
      if (!stored) throw this.#registries.notFound();
      return { set: {}, also: [this.#credentials.patching(stored, { sealed })] };
    });
  }

  async remove(caller: Caller, id: string): Promise<void> {
    await this.#registries.changeOwned(caller, id, async (item) => {
      await this.#uses.refuseWhileUsed("registry", item);
      return { remove: true, also: [this.#credentials.removing(id)] };
    });
  }

  /**
   * Writes for the commit that makes something of the account use this registry, which must belong to the account. They make a deletion
   * that missed the new user look again. If the registry was deleted meanwhile, the commit is refused as missing.
   */
  async using(account: string, registry: string | null | undefined): Promise<Write[]> {
    if (!registry) return [];
    const { id } = await this.#registries.owned({ account }, registry);
    return [this.#registries.touching(id)];
  }

  notFound() {
    return this.#registries.notFound();
  }

  /** The current credential. Throws with the reason if it does not exist any more. */
  async accessTo({ account, image, registry }: Pull): Promise<PullAccess> {
    if (registry !== null) return { credential: await this.#open(account, registry) };
    const delegation = await this.#delegationOf(account, image);
    return delegation ? { ifDenied: whyNot(delegation) } : {};
  }

  listDelegations({ account }: Caller): Promise<DelegationItem[]> {
    return this.#delegations.list({ account, limit: LISTED_AT_MOST });
  }

  async createDelegation(caller: Caller, { resource, name = null, ...plain }: NewDelegation): Promise<DelegationItem> {
    const parsed = parseEcrArn(resource);
    if (!parsed) throw problem("invalid", "Request validation failed.", { errors: [NO_ARN] });
    const record = newRecord(this.#parts, caller.account);
    const doc = { ...unsaidOf(Delegation), ...plain, name, userId: caller.user, tag: TAG, ...parsed };
    return this.#within(caller.account, (within) => this.#delegations.insert({ ...record, doc }, within));
  }

  revokeDelegation(caller: Caller, id: string): Promise<void> {
    return this.#delegations.removeOwned(caller, id);
  }

  /** Passes every sealed credential through `change`. Returns how many changed. */
  async reseal(change: (sealed: Sealed, registry: string) => Sealed | undefined): Promise<number> {
    let changed = 0;
    for await (const item of this.#credentials.all()) {
      const sealed = change(item.doc.sealed, item.id);
      if (!sealed) continue;
      await this.#credentials.patch(item, { sealed });
      changed++;
    }
    return changed;
  }

  /** Registries and delegations count together: the quota of registries bounds both. */
  #within<T>(account: string, make: (within: Bound[]) => Promise<T>): Promise<T> {
    const held = [this.#registries.held({ account }), this.#delegations.held({ account })];
    return this.#quotas.within(account, "registries", held, make);
  }

  #seal({ account, id }: { account: string; id: string }, { username, password }: RegistryCredential) {
    return this.#vault.seal(JSON.stringify({ username, password }), context(account, id));
  }

  async #open(account: string, id: string): Promise<RegistryCredential> {
    const kept = await this.#credentials.get(id);
    if (kept?.account !== account) throw new Error(`registry "${id}" does not exist`);
    return JSON.parse(await this.#vault.open(kept.doc.sealed, context(account, id))) as RegistryCredential;
  }

  async #delegationOf(account: string, image: string): Promise<KeptDelegation | undefined> {
    if (!ECR_HOST.test(image)) return undefined;
    const { repository } = parseReference(image);
    for await (const { doc } of this.#delegations.all({ account })) {
      if (`${doc.host}/${doc.repository}` === repository) return doc;
    }
    return undefined;
  }
}

const NO_ARN =
  "$.resource: must be the ARN of an ECR repository, such as arn:aws:ecr:us-east-2:123456789012:repository/team/model";

/** A delegation needs an AWS identity that the repository's owner admits, and a self-hosted installation has none. */
function whyNot({ awsUser, awsRegion, repository }: KeptDelegation): string {
  const whose = `repository '${repository}' of AWS account ${awsUser} is delegated, but this installation has no identity at AWS`;
  const instead = `create a registry with the user name 'AWS' and the password that 'aws ecr get-login-password --region ${awsRegion}' prints`;
  return `${whose}; ${instead}, and name it as 'registry'`;
}

/** Binds a sealed credential to its record: copied to another one, it does not open. */
function context(account: string, id: string): string {
  return `registry/${account}/${id}`;
}

function nameTaken(error: unknown, name: string): unknown {
  const taken = error instanceof WriteRefused && error.reason === "key-taken";
  return taken ? problem("rule-broken", `A registry named '${name}' already exists.`) : error;
}
