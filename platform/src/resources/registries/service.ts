/** The rules of registries and delegations, and what opens a registry when an image is pulled. */
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

/** User name and password, sealed as one text. Kept apart under the registry's own id, so that listing reads none. */
export type KeptCredential = { sealed: Sealed };

const registryCredentials: Kept<KeptCredential> = { kind: "registry-credential", v: 1 };

export type RegistryItem = Item<KeptRegistry>;
export type DelegationItem = Item<KeptDelegation>;
export type NewRegistry = Static<typeof Registry.create>;
export type NewDelegation = Static<typeof Delegation.create>;

/** What is to be pulled, and for whom. */
export interface Pull {
  account: string;
  image: string;
  /** The registry that its owner names. */
  registry: string | null;
}

/** By what an image is pulled. */
export interface PullAccess {
  credential?: RegistryCredential;
  /** What else is to be said where the registry does not let it be pulled. */
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

  /** The newest first. */
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

  /** Another user name and password under the same id: whatever uses it pulls with them from then on. */
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
   * For the commit by which something of an account begins to use one, which must be the account's: a deletion that did not see its user yet
   * looks again. The commit is refused as missing where the registry has gone meanwhile.
   */
  async using(account: string, registry: string | null | undefined): Promise<Write[]> {
    if (!registry) return [];
    const { id } = await this.#registries.owned({ account }, registry);
    return [this.#registries.touching(id)];
  }

  notFound() {
    return this.#registries.notFound();
  }

  /** The credential of this moment. Throws with the reason when there is none any more. */
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

  /** Does to every sealed credential what `change` says. Returns how many were changed. */
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

  /** Both sorts count: an account bounds with one number what it keeps of registries. */
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

/** A delegation needs an identity at AWS that the repository's owner lets in, and an installation of one's own has none. */
function whyNot({ awsUser, awsRegion, repository }: KeptDelegation): string {
  const whose = `repository '${repository}' of AWS account ${awsUser} is delegated, but this installation has no identity at AWS`;
  const instead = `create a registry with the user name 'AWS' and the password that 'aws ecr get-login-password --region ${awsRegion}' prints`;
  return `${whose}; ${instead}, and name it as 'registry'`;
}

/** Binds a sealed credential to its place: copied elsewhere in the store, it does not open. */
function context(account: string, id: string): string {
  return `registry/${account}/${id}`;
}

function nameTaken(error: unknown, name: string): unknown {
  const taken = error instanceof WriteRefused && error.reason === "key-taken";
  return taken ? problem("rule-broken", `A registry named '${name}' already exists.`) : error;
}
