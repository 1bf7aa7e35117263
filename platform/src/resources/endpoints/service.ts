/** The rules of serverless endpoints. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { newRecord } from "../../kernel/ids.ts";
import { isProblem, problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { Remembered } from "../../kernel/remembered.ts";
import { Collection, type Item, type Page, type PageAsked, type RecordParts } from "../../ports/store/collection.ts";
import { type Store, type Write, WriteRefused } from "../../ports/store/store.ts";
import type { QuotaBook } from "../account/quotas.ts";
import type { ModelService } from "../models/service.ts";
import { Names, type Naming } from "../names.ts";
import type { RegistryService } from "../registries/service.ts";
import type { ReleaseRecords } from "../releases/records.ts";
import type { Removals } from "../removals.ts";
import { withTemplate } from "../templates/copy.ts";
import type { TemplateService } from "../templates/service.ts";
import type { NetworkVolumeService } from "../volumes/service.ts";
import { type Binding, bindingAfter, saysContainer, withoutShownTemplate } from "./binding.ts";
import {
  changesNothing,
  created,
  type EndpointTerms,
  refuseNewRegistry,
  refuseNewSecrets,
  refuseTemplate,
  updated,
  withCompute,
} from "./fields.ts";
import { type RefusesImage, refuseImage } from "./images.ts";
import { type EndpointType, endpoints, type KeptEndpoint } from "./model.ts";
import { newModels, refuseNewModels, refuseNewVolumes } from "./volumes.ts";

export type EndpointItem = Item<KeptEndpoint>;

/** What is written together with a new endpoint. */
interface Companions {
  also?: (id: string) => Write[];
}

const REMEMBERED_MS = 1000;

export class EndpointService {
  readonly #store: Store;
  readonly #endpoints: Collection<KeptEndpoint>;
  readonly #removals: Removals;
  readonly #releases: ReleaseRecords;
  readonly #quotas: QuotaBook;
  readonly #names: Names<KeptEndpoint>;
  readonly #registries: RegistryService;
  readonly #volumes: NetworkVolumeService;
  readonly #models: Pick<ModelService, "using">;
  readonly #templates: TemplateService;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #publicUrl: () => string;
  readonly #changed: (id: string) => void;
  readonly #remembered: Remembered<EndpointItem>;

  readonly #refusesImage: RefusesImage;

  readonly #types = new Map<string, EndpointType>();
  readonly #shared = new Map<string, number | undefined>();

  constructor(
    parts: RecordParts & {
      releaseRecords: ReleaseRecords;
      removals: Removals;
      quotas: QuotaBook;
      registries: RegistryService;
      volumes: NetworkVolumeService;
      models: Pick<ModelService, "using">;
      templates: TemplateService;
      uniqueNames?: boolean;
      publicUrl?: () => string;
      /** Decides which images this installation refuses, and why. */
      refusesImage: RefusesImage;
      /** Called for every endpoint that was created or changed here. */
      endpointChanged: (id: string) => void;
    },
  ) {
    this.#refusesImage = parts.refusesImage;
    this.#changed = parts.endpointChanged;
    this.#store = parts.store;
    this.#endpoints = new Collection(parts.store, endpoints);
    const { random, uniqueNames: isKept = true } = parts;
    this.#names = new Names({ named: this.#endpoints, called: "endpoint", random, isKept });
    this.#removals = parts.removals;
    this.#releases = parts.releaseRecords;
    this.#quotas = parts.quotas;
    this.#registries = parts.registries;
    this.#volumes = parts.volumes;
    this.#models = parts.models;
    this.#templates = parts.templates;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#remembered = new Remembered(parts.clock, REMEMBERED_MS);
    this.#publicUrl = parts.publicUrl ?? (() => "");
  }

  prepare(): Promise<void> {
    return this.#endpoints.prepare();
  }

  /** All endpoints of all accounts. */
  all(): AsyncGenerator<EndpointItem> {
    return this.#endpoints.all();
  }

  /** Lists the newest first. A narrowed key sees only its own endpoints. */
  list(caller: Caller, asked: PageAsked): Promise<Page<KeptEndpoint>> {
    return this.#endpoints.page(caller, asked, ({ id }) => mayUse(caller, id));
  }

  async create(caller: Caller, terms: EndpointTerms, how: Binding & Naming & Companions = {}): Promise<EndpointItem> {
    const given = await this.#given(caller, await this.#located(caller.account, terms), how, "new-endpoint");
    const config: KeptEndpoint = { ...created(given.terms), ...given.bound, createdBy: caller.key };
    const asked = { name: config.name, isDefaultName: terms.name === undefined, ...how };
    try {
      return await this.#names.under(caller.account, asked, async (claim, check) => {
        await check();
        return this.#insert(caller, { ...config, ...claim }, given.using, how.also);
      });
    } catch (error) {
      // The template was edited at the same moment. Trying again takes the edited version.
      if (error instanceof WriteRefused && error.reason === "changed") return this.create(caller, terms, how);
      throw error;
    }
  }

  async #insert(
    caller: Caller,
    doc: KeptEndpoint,
    using: readonly Write[],
    more: Companions["also"],
  ): Promise<EndpointItem> {
    await refuseImage(this.#refusesImage, doc.image, caller.account);
    const record = newRecord({ clock: this.#clock, random: this.#random }, caller.account);
    const first = { ...record, release: doc.release };
    await this.#refuseTooMany(caller.account, doc.workers.min);
    const also = [
      ...(await this.#registries.using(caller.account, doc.registry)),
      ...using,
      ...(await this.#volumes.using(caller.account, doc.networkVolumes)),
      ...(await this.#models.using(caller.account, doc.modelReferences)),
      this.#releases.inserting(first, { at: record.createdAt, user: caller.user, diff: [] }),
      ...(more?.(record.id) ?? []),
    ];
    const held = [this.#endpoints.held(caller)];
    try {
      await this.#quotas.within(caller.account, "endpoints", held, (within) =>
        this.#store.commit([this.#endpoints.inserting({ ...record, doc }, within), ...also]),
      );
    } catch (error) {
      if (!(error instanceof WriteRefused) || error.reason !== "missing") throw error;
      // Either the registry, a volume, a model or the template was deleted at this moment. These calls throw if it was not the last one.
      await this.#registries.using(caller.account, doc.registry);
      await this.#volumes.using(caller.account, doc.networkVolumes);
      await this.#models.using(caller.account, doc.modelReferences);
      throw this.#templates.notFound();
    }
    this.wasChanged(record.id);
    return { ...record, version: 1, doc };
  }

  async update(caller: Caller, id: string, terms: EndpointTerms, how: Binding & Naming = {}): Promise<EndpointItem> {
    permitted(caller, id, await this.#endpoints.get(id));
    const located = await this.#located(caller.account, terms);
    let isChanged = false;
    const changed = await this.#endpoints.changeOwned(caller, id, async (item) => {
      permitted(caller, id, item);
      const asked = how.follows ? withoutShownTemplate(item, located) : located;
      refuseTemplate(caller, asked);
      const { terms, bound, using: usingTemplate } = await this.#given(caller, asked, how, "change");
      refuseNewSecrets(caller, item.doc, terms);
      refuseNewRegistry(caller, item.doc, terms);
      refuseNewVolumes(caller, item.doc, terms.networkVolumes);
      refuseNewModels(caller, item.doc, terms.modelReferences);
      await refuseImage(this.#refusesImage, terms.image, item.account);
      const claim = await this.#names.renamed(item, { name: terms.name, ...how });
      const said = { ...updated(item.doc, terms), ...claim };
      const set = { ...said, ...bindingAfter(item.doc, said, bound) };
      if (terms.workers?.min !== undefined) await this.#refuseTooMany(item.account, terms.workers.min);
      const named = set.registry === item.doc.registry ? null : set.registry;
      const using = [
        ...(await this.#registries.using(item.account, named)),
        ...usingTemplate,
        ...(await this.#volumes.using(item.account, set.networkVolumes)),
        ...(await this.#models.using(item.account, newModels(item.doc, set.modelReferences))),
      ];
      isChanged = !changesNothing(item.doc, set, { templateName: await this.#templateNameOf(caller, item, set) });
      const made = { at: this.#clock.now(), user: caller.user };
      return isChanged ? { set, also: [...using, ...this.#releases.ofChange(item, set, made)] } : undefined;
    });
    if (isChanged) this.wasChanged(changed.id);
    return changed;
  }

  /** The name of the shown template, if the caller sets one; otherwise undefined. */
  async #templateNameOf(
    caller: Caller,
    { doc }: EndpointItem,
    { templateName: said }: Partial<KeptEndpoint>,
  ): Promise<string | undefined> {
    if (said === undefined) return undefined;
    if (!doc.follows || !doc.template) return doc.templateName ?? doc.name;
    try {
      return (await this.#templates.visible(caller, doc.template)).doc.name;
    } catch (error) {
      if (isProblem(error, "not-found")) return undefined;
      throw error;
    }
  }

  /** Adds the places of the named volumes to the terms. Throws if a volume does not belong to the account. */
  async #located(account: string, terms: EndpointTerms): Promise<EndpointTerms> {
    if (!terms.networkVolumes) return terms;
    return { ...terms, volumePlaces: await this.#volumes.located(account, terms.networkVolumes) };
  }

  /** Adds the fields of the named template to the terms. Also returns whether the endpoint follows it, and the writes for that. */
  async #given(
    caller: Caller,
    terms: EndpointTerms,
    { follows }: Binding,
    copying: "new-endpoint" | "change",
  ): Promise<{ terms: EndpointTerms; bound: Binding; using: Write[] }> {
    const { templateId } = terms;
    if (templateId === undefined) return { terms, bound: {}, using: [] };
    const isMeant = follows === true;
    const template = await this.#templates.forEndpoint(caller, templateId, { follows: isMeant });
    const { name, category } = template.doc;
    const known = copying === "change" ? terms : withCompute({ name, ...terms }, category);
    const isBound = isMeant && template.isFollowable && !saysContainer(terms);
    const bound = isBound ? { follows: true } : {};
    return { terms: withTemplate(template.doc, known, copying), bound, using: template.using };
  }

  /** Must be called after each write of an endpoint on this node. */
  wasChanged(id: string): void {
    this.#remembered.delete(id);
    this.#changed(id);
  }

  /** Checks only the workers that always run. Workers that jobs ask for in addition wait until the quota allows them. */
  #refuseTooMany(account: string, asked: number): Promise<void> {
    return this.#quotas.refuseBeyond(account, "workers", { field: "workers.min", asked });
  }

  /**
   * Callers no longer see the endpoint. What it left elsewhere is removed before the answer, or after a crash when the next server starts.
   */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.#endpoints.changeOwned(caller, id, (item) => {
      permitted(caller, id, item);
      return { remove: true, also: [this.#removals.marking("endpoint", id)] };
    });
    this.#remembered.delete(id);
    this.#types.delete(id);
    this.#shared.delete(id);
    await this.#removals.finish("endpoint", id);
  }

  /** Removes the endpoints of an account that is being deleted. What they left elsewhere is removed now, or when a server next runs. */
  async removeAccount(account: string): Promise<void> {
    for await (const { id } of this.#endpoints.all({ account })) {
      await this.#store.commit([this.#endpoints.removing(id), this.#removals.marking("endpoint", id)]);
    }
  }

  /** An endpoint of another account does not exist for the caller. One outside the key's list is refused. */
  async own(caller: Caller, id: string): Promise<EndpointItem> {
    return permitted(caller, id, await this.#endpoints.get(id));
  }

  /** Like `own`, for every job: the endpoint is remembered for a moment, so that an invocation does not read the store. */
  ownForInvocation(caller: Caller, id: string): EndpointItem | Promise<EndpointItem> {
    return this.knownForInvocation(caller, id) ?? this.find(id).then((item) => permitted(caller, id, item));
  }

  /** Undefined if the endpoint was not read a moment ago. */
  knownForInvocation(caller: Caller, id: string): EndpointItem | undefined {
    const remembered = this.#remembered.get(id);
    return remembered && permitted(caller, id, remembered);
  }

  /** A change by another node is seen within a second. */
  async find(id: string): Promise<EndpointItem | undefined> {
    const remembered = this.#remembered.get(id);
    if (remembered) return remembered;
    const item = await this.#endpoints.get(id);
    if (item) {
      this.#remembered.set(id, item);
      this.#types.set(id, item.doc.type);
      if (item.doc.sharedAs === undefined) this.#shared.delete(id);
      else this.#shared.set(id, item.doc.apartSince);
    }
    return item;
  }

  /** Whether other accounts may call it, as it was a moment ago. Mostly answers at once, since every claim asks. */
  isShared(id: string): boolean | Promise<boolean> {
    const known = this.#remembered.get(id);
    return known ? isOffered(known) : this.find(id).then(isOffered);
  }

  /** Since when each of its workers serves one account only; undefined if they serve all. As old as the last answer of `isShared`. */
  apartSince(id: string): number | undefined {
    return this.#shared.get(id);
  }

  /** Answers without waiting once the type was read: it never changes, and ids are never reused. */
  typeOf(id: string): EndpointType | undefined | Promise<EndpointType | undefined> {
    return this.#types.get(id) ?? this.find(id).then((item) => item?.doc.type);
  }

  /** The prefix of the URLs of the endpoint's operations. */
  urlOf(id: string): string {
    return `${this.#publicUrl()}/v2/${id}`;
  }

  /** The prefix of URLs of this server. */
  publicUrl(): string {
    return this.#publicUrl();
  }
}

const isOffered = (item: EndpointItem | undefined) => item?.doc.sharedAs !== undefined;

/** An endpoint of another account does not exist for the caller. One outside the key's list is refused. */
export function permitted(caller: Caller, id: string, item: EndpointItem | undefined): EndpointItem {
  if (!item || item.account !== caller.account) throw problem("not-found", "endpoint not found");
  if (!mayUse(caller, id))
    throw problem("not-allowed", `This API key is narrowed to other endpoints than '${id}'.`, {
      reason: "key-narrowed",
    });
  return item;
}

export function mayUse({ endpoints }: Caller, id: string): boolean {
  return !endpoints || endpoints.includes(id);
}
