/** The rules of public endpoints: who shares what, and who may call it. */

import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { RESOURCE_ID } from "../../kernel/ids.ts";
import { nanosOf, usdOf } from "../../kernel/money.ts";
import { problem } from "../../kernel/problem.ts";
import { Remembered } from "../../kernel/remembered.ts";
import { unsaidOf } from "../../kernel/resource.ts";
import { resourceWords } from "../../kernel/resource-words.ts";
import type { Static } from "../../kernel/schema.ts";
import type { Fare } from "../../ports/queue/job.ts";
import { Collection, type Item, type RecordParts } from "../../ports/store/collection.ts";
import { type Store, type Write, WriteRefused } from "../../ports/store/store.ts";
import { type EndpointType, endpoints, type KeptEndpoint } from "../endpoints/model.ts";
import { type EndpointItem, type EndpointService, mayUse } from "../endpoints/service.ts";
import { FormerNames } from "./former-names.ts";
import {
  type GuestLimits,
  type KeptPublicEndpoint,
  noLimits,
  noPrice,
  PublicEndpoint,
  publicEndpoints,
} from "./model.ts";

export type PublicEndpointItem = Item<KeptPublicEndpoint>;
type New = Static<typeof PublicEndpoint.create>;
type Change = Static<typeof PublicEndpoint.update>;

/** A caller of another account's endpoint. */
export interface Guest {
  name: string;
  fare: Fare;
  limits: GuestLimits;
}

/** An endpoint that was called. */
export interface Called {
  item: EndpointItem;
  /** Absent for a caller of the endpoint's own account. */
  guest?: Guest;
}

const LISTED_AT_MOST = 10_000;
/** A change by another node is seen within this time. */
const REMEMBERED_MS = 1000;

export class PublicEndpointService {
  readonly #store: Store;
  readonly #shared: Collection<KeptPublicEndpoint>;
  readonly #records: Collection<KeptEndpoint>;
  readonly #endpoints: EndpointService;
  readonly #clock: Clock;
  readonly #former: FormerNames;
  readonly #remembered: Remembered<PublicEndpointItem>;
  readonly #limitedKey: (key: string) => Promise<string | undefined>;

  constructor(
    parts: RecordParts & { endpoints: EndpointService; limitedKey: (key: string) => Promise<string | undefined> },
  ) {
    this.#limitedKey = parts.limitedKey;
    this.#store = parts.store;
    this.#shared = new Collection(parts.store, publicEndpoints);
    this.#records = new Collection(parts.store, endpoints);
    this.#former = new FormerNames(parts);
    this.#endpoints = parts.endpoints;
    this.#clock = parts.clock;
    this.#remembered = new Remembered(parts.clock, REMEMBERED_MS);
  }

  /** Does nothing: the records prepare themselves. */
  async prepare(): Promise<void> {}

  /** Those that the caller may call, and the account's own, newest first. Without a key, those that are for everyone. */
  async list(caller: Caller): Promise<PublicEndpointItem[]> {
    const all = await this.#shared.list({ limit: LISTED_AT_MOST });
    return all.filter((item) => (caller.anonymous ? item.doc.everyone : isVisible(caller, item)));
  }

  async get(caller: Caller, name: string): Promise<PublicEndpointItem> {
    const item = await this.#shared.get(name);
    if (!item || !isVisible(caller, item)) throw this.#shared.notFound();
    return item;
  }

  owned(caller: Caller, name: string): Promise<PublicEndpointItem> {
    return this.#shared.owned(caller, name);
  }

  async create(caller: Caller, { name, endpointId, price, limits, ...said }: New): Promise<PublicEndpointItem> {
    refuseName(name);
    if (await this.#shared.get(name)) throw nameTaken(name);
    const endpoint = await this.#endpoints.own(caller, endpointId);
    const { type } = endpoint.doc;
    refuseFractions(price);
    refuseTerms(type, { price, workerPerAccount: said.workerPerAccount });
    const now = this.#clock.now();
    const freeing = await this.#former.taking(caller.account, name, now);
    const doc: KeptPublicEndpoint = {
      ...unsaidOf(PublicEndpoint),
      ...said,
      ...{ name, endpointId, type, accounts: said.accounts ?? [] },
      price: { ...noPrice, ...price },
      limits: { ...noLimits, ...limits },
    };
    const record = { id: name, account: caller.account, createdAt: now };
    try {
      await this.#store.commit([
        this.#shared.inserting({ ...record, doc }),
        ...freeing,
        this.#records.patching(endpoint, { sharedAs: name, ...(doc.workerPerAccount && { apartSince: now }) }),
      ]);
    } catch (error) {
      if (!(error instanceof WriteRefused)) throw error;
      if (error.reason === "changed") return this.create(caller, { name, endpointId, price, limits, ...said });
      throw taken(error, name, endpointId);
    }
    this.#changed(name, endpointId);
    return { ...record, version: 1, doc };
  }

  async update(caller: Caller, name: string, change: Change): Promise<PublicEndpointItem> {
    const changed = await this.#shared.changeOwned(caller, name, async ({ doc }) => {
      const { price, limits, ...said } = change;
      refuseFractions(price);
      refuseTerms(doc.type, change);
      return {
        also: await this.#apart(doc, change.workerPerAccount),
        set: {
          ...said,
          ...(price && { price: { ...doc.price, ...price } }),
          ...(limits && { limits: { ...doc.limits, ...limits } }),
        },
      };
    });
    this.#changed(name, changed.doc.endpointId);
    return changed;
  }

  /** Tells the endpoint from when on its workers serve one account each. Those that are older are replaced. */
  async #apart({ endpointId, workerPerAccount }: KeptPublicEndpoint, asked = workerPerAccount): Promise<Write[]> {
    const endpoint = asked === workerPerAccount ? undefined : await this.#records.get(endpointId);
    if (!endpoint) return [];
    return [
      asked
        ? this.#records.patching(endpoint, { apartSince: this.#clock.now() })
        : this.#records.patching(endpoint, {}, ["apartSince"]),
    ];
  }

  async remove(caller: Caller, name: string): Promise<void> {
    let endpointId = "";
    await this.#shared.changeOwned(caller, name, async (item) => {
      endpointId = item.doc.endpointId;
      const endpoint = await this.#records.get(endpointId);
      const unshared = endpoint ? [this.#records.patching(endpoint, {}, ["sharedAs", "apartSince"])] : [];
      return { remove: true, also: [...unshared, ...(await this.#former.leaving(item, this.#clock.now()))] };
    });
    this.#changed(name, endpointId);
  }

  /** Returns the endpoint that is called under its own id, or under the name by which it is shared. */
  called(caller: Caller, address: string): EndpointItem | Promise<Called> {
    // Nearly always it is an id that was called a moment ago.
    const known = this.#endpoints.knownForInvocation(caller, address);
    if (known) return known;
    if (isName(address)) return this.#calledByName(caller, address);
    return Promise.resolve(this.#endpoints.ownForInvocation(caller, address)).then((item) => ({ item }));
  }

  /** The endpoint that other accounts could call under this name, for those that look for jobs that they submitted then. */
  async formerly(caller: Caller, name: string): Promise<Called | undefined> {
    if (!isName(name) || caller.anonymous || !mayUse(caller, name)) return undefined;
    const shared = (await this.#find(name)) ?? (await this.#former.get(name));
    if (!shared || shared.account === caller.account) return undefined;
    const item = await this.#endpoints.find(shared.doc.endpointId);
    return item && { item, guest: guestOf(shared) };
  }

  /** Whether requests under this name go straight to a worker. Mostly answers at once, since every request by name asks. */
  isBalanced(name: string): boolean | Promise<boolean> {
    if (!isName(name)) return false;
    const known = this.#remembered.get(name);
    if (known) return known.doc.type === "LOAD_BALANCER";
    return this.#find(name).then((item) => item?.doc.type === "LOAD_BALANCER");
  }

  async #calledByName(caller: Caller, name: string): Promise<Called> {
    const shared = await this.#find(name);
    if (!shared || !isVisible(caller, shared)) throw problem("not-found", "endpoint not found");
    if (!mayUse(caller, name) && !mayUse(caller, shared.doc.endpointId))
      throw problem("not-allowed", `This API key is narrowed to other endpoints than '${name}'.`, {
        reason: "key-narrowed",
      });
    const item = await this.#endpoints.find(shared.doc.endpointId);
    if (!item) throw problem("not-found", "endpoint not found");
    return shared.account === caller.account ? { item } : { item, guest: await this.#guestOf(caller, shared) };
  }

  /** A key with a limit is part of the fare, so that what its jobs cost is counted for it. */
  async #guestOf({ key }: Caller, shared: PublicEndpointItem): Promise<Guest> {
    const guest = guestOf(shared);
    const limited = await this.#limitedKey(key);
    return limited === undefined ? guest : { ...guest, fare: { ...guest.fare, key: limited } };
  }

  async #find(name: string): Promise<PublicEndpointItem | undefined> {
    const known = this.#remembered.get(name);
    if (known) return known;
    const item = await this.#shared.get(name);
    if (item) this.#remembered.set(name, item);
    return item;
  }

  #changed(name: string, endpointId: string): void {
    this.#remembered.delete(name);
    this.#endpoints.wasChanged(endpointId);
  }
}

/** Ids have a shape of their own, so most calls are told apart without reading anything. */
const isName = (address: string) => !RESOURCE_ID.test(address);

function isVisible({ account, anonymous }: Caller, { account: owner, doc }: PublicEndpointItem): boolean {
  if (anonymous) return false;
  return owner === account || doc.everyone || doc.accounts.includes(account);
}

function guestOf({ id, doc: { price, limits } }: PublicEndpointItem): Guest {
  const fare: Fare = {
    share: id,
    perRequest: nanosOf(price.perRequest),
    perSecond: nanosOf(price.perSecond),
    perMillionInputTokens: nanosOf(price.perMillionInputTokens),
    perMillionOutputTokens: nanosOf(price.perMillionOutputTokens),
  };
  return { name: id, fare, limits };
}

function refuseName(name: string): void {
  const isReserved = (resourceWords as readonly string[]).includes(name);
  if (isReserved || RESOURCE_ID.test(name))
    throw problem("invalid", "Request validation failed.", {
      errors: [`$.name: '${name}' is ${isReserved ? "reserved" : "in the form of an id"}; take another`],
    });
}

/** Money is counted in 1e-9 USD. A finer price would be another than the one that callers see. */
function refuseFractions(price: New["price"]): void {
  const finer = Object.entries(price ?? {}).filter(([, usd]) => usdOf(nanosOf(usd)) !== usd);
  if (finer.length > 0)
    throw problem("invalid", "Request validation failed.", {
      errors: finer.map(([name]) => `$.price.${name}: must have at most 9 decimal places`),
    });
}

/** Millrace does not read what passes between a caller and a load-balanced worker. */
function refuseTerms(
  type: EndpointType | undefined,
  { price, workerPerAccount }: Pick<New, "price" | "workerPerAccount">,
): void {
  if (type !== "LOAD_BALANCER") return;
  if (price?.perMillionInputTokens || price?.perMillionOutputTokens)
    throw problem("rule-broken", "A load-balancing endpoint has no price for tokens, since its answers are not read.");
  if (workerPerAccount)
    throw problem("rule-broken", "Only queue-based endpoints can give each account workers of its own.");
}

const nameTaken = (name: string) => problem("rule-broken", `A public endpoint named '${name}' already exists.`);

function taken(error: WriteRefused, name: string, endpointId: string): unknown {
  if (error.reason === "id-taken") return nameTaken(name);
  if (error.reason === "key-taken") return problem("rule-broken", `The endpoint '${endpointId}' is already shared.`);
  return error.reason === "missing" ? problem("not-found", "endpoint not found") : error;
}
