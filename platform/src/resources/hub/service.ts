/** The rules of the hub: who may deploy what, and what becomes of it. */
import { type WaitFactParts, waitFacts } from "../../jobs/wait-facts.ts";
import { waitReason } from "../../jobs/wait-reason.ts";
import type { Caller } from "../../kernel/caller.ts";
import { type Clock, timestamp } from "../../kernel/clock.ts";
import { isProblem, problem } from "../../kernel/problem.ts";
import { allows, type Scope } from "../../kernel/scope.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import type { PageAsked } from "../../ports/store/collection.ts";
import type { Write } from "../../ports/store/store.ts";
import type { EndpointTerms } from "../endpoints/fields.ts";
import type { EndpointService } from "../endpoints/service.ts";
import type { PodService } from "../pods/service.ts";
import type { Listing } from "./listing.ts";
import {
  type DeployHubListing,
  type HubDeployment,
  type HubSource,
  hubTestLifecycle,
  type KeptCase,
  type KeptDeployment,
  type ListingType,
} from "./model.ts";
import type { DeploymentItem, HubProofs } from "./proofs.ts";
import type { HubRecords } from "./records.ts";
import type { HubShelf } from "./shelf.ts";
import { endpointTermsOf, filledIn, podTermsOf, updateOf } from "./terms.ts";

export interface HubParts {
  shelf: HubShelf;
  hubRecords: HubRecords;
  proofs: HubProofs;
  endpoints: EndpointService;
  pods: PodService;
  queue: Queue;
  clock: Clock;
  waiting: WaitFactParts;
}

export interface ListingsAsked {
  search?: string | undefined;
  category?: string | undefined;
  type?: ListingType | undefined;
  owner?: string | undefined;
}

/** How many were deployed is counted this often at most. */
const COUNTED_MS = 60_000;
const MOST_COUNTED = 100_000;

export class HubService {
  readonly #parts: HubParts;
  #deploys: { at: number; counts: ReadonlyMap<string, number> } | undefined;

  constructor(parts: HubParts) {
    this.#parts = parts;
  }

  async listings({ search = "", category, type, owner }: ListingsAsked): Promise<Listing[]> {
    const words = search.toLowerCase().split(/\s+/).filter(Boolean);
    return (await this.#parts.shelf.all()).filter((listing) => {
      const text = [listing.title, listing.description, listing.name, listing.owner, ...listing.tags].join("\n");
      const lower = text.toLowerCase();
      return (
        words.every((word) => lower.includes(word)) &&
        isSame(category, listing.category) &&
        isSame(type, listing.type) &&
        isSame(owner, listing.owner)
      );
    });
  }

  async listing(id: string): Promise<Listing> {
    const listing = await this.#parts.shelf.find(id);
    if (!listing) throw problem("not-found", "listing not found");
    return listing;
  }

  sources(): HubSource[] {
    return this.#parts.shelf.sources();
  }

  /** Deployments of all accounts, by listing, as they were a moment ago. */
  async deploys(): Promise<ReadonlyMap<string, number>> {
    const { clock, hubRecords } = this.#parts;
    if (this.#deploys && clock.monotonic() - this.#deploys.at < COUNTED_MS) return this.#deploys.counts;
    const counts = new Map<string, number>();
    let seen = 0;
    for await (const { doc } of hubRecords.deployments.all()) {
      if (++seen > MOST_COUNTED) break;
      counts.set(doc.listing, (counts.get(doc.listing) ?? 0) + 1);
    }
    this.#deploys = { at: clock.monotonic(), counts };
    return counts;
  }

  async deploy(caller: Caller, id: string, chosen: DeployHubListing): Promise<DeploymentItem> {
    const listing = await this.listing(id);
    const isTested = chosen.test !== false && listing.tests.length > 0 && allows(caller.grants, "serverless:invoke");
    const doc = this.#newDeployment(listing, isTested);
    const made =
      listing.type === "POD"
        ? await this.#deployPod(caller, listing, chosen, doc)
        : await this.#deployEndpoint(caller, listing, chosen, doc);
    this.#deploys = undefined;
    if (isTested) this.#parts.proofs.begin();
    return this.deployment(caller, made);
  }

  async #deployEndpoint(caller: Caller, listing: Listing, chosen: DeployHubListing, doc: KeptDeployment) {
    const also = (id: string) => [this.#recording(caller, id, doc)];
    return (await this.#parts.endpoints.create(caller, endpointTermsOf(listing, chosen), { also })).id;
  }

  async #deployPod(caller: Caller, listing: Listing, chosen: DeployHubListing, doc: KeptDeployment) {
    refuseWithout(caller, "pods:write", "to deploy a Pod");
    const { id } = await this.#parts.pods.create(caller, podTermsOf(listing, chosen));
    const { hubRecords, clock } = this.#parts;
    await hubRecords.deployments.insert({ id, account: caller.account, createdAt: clock.now(), doc });
    return id;
  }

  #recording({ account }: Caller, id: string, doc: KeptDeployment): Write {
    const { hubRecords, clock } = this.#parts;
    return hubRecords.deployments.inserting({ id, account, createdAt: clock.now(), doc });
  }

  #newDeployment({ type, id, releaseId, title, tests }: Listing, isTested: boolean): KeptDeployment {
    return {
      ...{ type, title, listing: id, release: releaseId },
      test: hubTestLifecycle.begin(isTested ? "RUNNING" : "NONE"),
      cases: tests.map(untested),
      startedAt: isTested ? this.#parts.clock.now() : null,
      testedAt: null,
    };
  }

  /**
   * Completes the terms of a client that makes an endpoint of a release itself, and records what it was made from. A release that is not
   * known here is only noted: it may be one of another hub.
   */
  async completed(caller: Caller, terms: EndpointTerms, hubReleaseId: string) {
    const listing = await this.#parts.shelf.ofRelease(hubReleaseId);
    if (!listing) return { terms: { ...terms, hubReleaseId }, also: () => [] };
    const doc = this.#newDeployment(listing, false);
    return {
      terms: { ...filledIn(terms, listing), hubReleaseId },
      also: (id: string) => [this.#recording(caller, id, doc)],
    };
  }

  /** Newest first. A deployment goes with its Pod; that of an endpoint went with the endpoint. */
  async deployments(caller: Caller, asked: PageAsked) {
    const { items, next } = await this.#parts.hubRecords.deployments.page(caller, asked, ({ doc }) =>
      sees(caller, doc),
    );
    const shown: HubDeployment[] = [];
    for (const item of items) if (await this.#exists(caller, item)) shown.push(await this.shown(item));
    return { items: shown, next };
  }

  async deployment(caller: Caller, id: string): Promise<DeploymentItem> {
    const { deployments } = this.#parts.hubRecords;
    const item = await deployments.owned(caller, id);
    if (!sees(caller, item.doc) || !(await this.#exists(caller, item))) throw deployments.notFound();
    return item;
  }

  async #exists(caller: Caller, { id, doc }: DeploymentItem): Promise<boolean> {
    if (doc.type !== "POD") return true;
    try {
      await this.#parts.pods.own(caller, id);
      return true;
    } catch (error) {
      if (!isProblem(error, "not-found")) throw error;
      await this.#parts.hubRecords.deployments.removeIfThere(id);
      return false;
    }
  }

  async test(caller: Caller, id: string): Promise<DeploymentItem> {
    await this.deployment(caller, id);
    const startedAt = this.#parts.clock.now();
    const item = await this.#parts.hubRecords.deployments.changeOwned(caller, id, ({ doc }) => {
      if (doc.cases.length === 0) throw problem("rule-broken", "The listing has no tests.");
      return { set: { test: hubTestLifecycle.next(doc.test, "run"), cases: doc.cases.map(untested), startedAt } };
    });
    this.#parts.proofs.begin();
    return item;
  }

  /** The endpoint or Pod changes first. If the server ends before the deployment is on record, the same request does the rest. */
  async update(caller: Caller, id: string): Promise<DeploymentItem> {
    const { doc: before } = await this.deployment(caller, id);
    const listing = await this.#parts.shelf.find(before.listing);
    if (!listing) throw problem("rule-broken", `The hub has no listing '${before.listing}' any more.`);
    if (listing.releaseId === before.release) throw problem("rule-broken", "It is of the newest release already.");
    if (listing.type !== before.type) throw problem("rule-broken", `The listing is a ${listing.type} listing now.`);
    hubTestLifecycle.assert(before.test, "run");
    await (before.type === "POD" ? this.#updatePod(caller, id, listing) : this.#updateEndpoint(caller, id, listing));
    const isTested = listing.tests.length > 0 && allows(caller.grants, "serverless:invoke");
    const doc = this.#newDeployment(listing, isTested);
    const item = await this.#parts.hubRecords.deployments.changeOwned(caller, id, () => ({ set: doc }));
    if (isTested) this.#parts.proofs.begin();
    return item;
  }

  async #updateEndpoint(caller: Caller, id: string, listing: Listing): Promise<void> {
    const { endpoints } = this.#parts;
    const { doc } = await endpoints.own(caller, id);
    await endpoints.update(caller, id, { ...updateOf(listing, doc), hubReleaseId: listing.releaseId });
  }

  async #updatePod(caller: Caller, id: string, listing: Listing): Promise<void> {
    const { pods } = this.#parts;
    refuseWithout(caller, "pods:write", "to change a Pod");
    const { doc } = await pods.own(caller, id);
    await pods.update(caller, id, updateOf(listing, doc));
  }

  async shown(item: DeploymentItem): Promise<HubDeployment> {
    const { id, createdAt, doc } = item;
    const { type, title, test, cases, testedAt } = doc;
    const listing = await this.#parts.shelf.find(doc.listing);
    const isBehind = listing !== undefined && listing.releaseId !== doc.release && listing.type === type;
    return {
      ...{ id, type, title, test, listingId: doc.listing, releaseId: doc.release },
      updateTo: isBehind ? listing.releaseId : null,
      testReason: await this.#reasonOf(item),
      tests: cases.map(({ name, outcome, reason, jobId }) => ({ name, outcome, reason, jobId })),
      testedAt: testedAt === null ? null : timestamp(testedAt),
      createdAt: timestamp(createdAt),
    };
  }

  /** The reason of the first test that failed, or why the one that is under way is not done. */
  async #reasonOf({ id, doc: { type, test, cases } }: DeploymentItem): Promise<string | null> {
    if (test === "FAILED") return cases.find(({ outcome }) => outcome === "FAILED")?.reason ?? null;
    const current = test === "RUNNING" ? cases.find(({ outcome }) => outcome === "WAITING") : undefined;
    if (!current) return null;
    if (type === "POD") return current.reason ?? "the Pod is starting";
    const { queue, clock, waiting } = this.#parts;
    const [job] = current.jobId === null ? [] : await queue.find([current.jobId], clock.now());
    if (job?.state !== "IN_QUEUE") return job ? "a worker is doing it" : "it begins in a moment";
    const { counts, workforce, ofWorkers } = await waitFacts(waiting, id);
    return waitReason(job, counts, workforce, ofWorkers, clock.now()).text;
  }
}

const isSame = (asked: string | undefined, has: string) =>
  asked === undefined || asked === "" || asked.toLowerCase() === has.toLowerCase();

/** A deployment is shown to those who may read what was deployed. */
const sees = ({ grants }: Caller, { type }: KeptDeployment) => type !== "POD" || allows(grants, "pods:read");

function refuseWithout({ grants }: Caller, scope: Scope, what: string): void {
  if (!allows(grants, scope)) throw problem("not-allowed", `This API key needs the scope '${scope}' ${what}.`);
}

const untested = (test: Pick<KeptCase, "name" | "body" | "timeoutMs" | "expected" | "request">): KeptCase => {
  const { name, body, timeoutMs, expected, request } = test;
  return {
    name,
    ...(body !== undefined && { body }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(expected !== undefined && { expected }),
    ...(request !== undefined && { request }),
    ...{ outcome: "WAITING", reason: null, jobId: null },
  };
};
