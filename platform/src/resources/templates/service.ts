/** The rules of templates, and what something made from a template takes from it. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { newRecord } from "../../kernel/ids.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { changedIn, isEmpty } from "../../kernel/same.ts";
import { Collection, type Item, type Page, type PageAsked, type RecordParts } from "../../ports/store/collection.ts";
import { type Write, WriteRefused } from "../../ports/store/store.ts";
import type { QuotaBook } from "../account/quotas.ts";
import { isMountedOtherwise, mountPaths } from "../container/mistakes.ts";
import { saysContainer } from "../endpoints/binding.ts";
import { type RefusesImage, refuseImage } from "../endpoints/images.ts";
import type { RegistryService } from "../registries/service.ts";
import type { Uses } from "../uses.ts";
import { created, type TemplateTerms, updated } from "./fields.ts";
import { type Followers, noFollowers, type Reach, type SeenTemplate } from "./followers.ts";
import { type KeptTemplate, type TemplateSource, templates } from "./model.ts";
import { officialTemplate, officialTemplates } from "./official.ts";

export type TemplateItem = Item<KeptTemplate>;

export interface TemplateParts extends RecordParts {
  quotas: QuotaBook;
  uses: Uses;
  registries: RegistryService;
  /** Whether the account belongs to the owner of the installation. */
  isOwners: (account: string) => Promise<boolean>;
  /** Decides which images this installation refuses, and why. */
  refusesImage: RefusesImage;
}

const PUBLIC_AT_MOST = 100;
/** A list of community templates shows at most this many of one account, so that no account can fill it. */
const OF_ONE_ACCOUNT = 10;
/** A list looks at no more templates than this, since the caller may be unable to run most of them. */
const LOOKED_AT_MOST = 2000;

export class TemplateService {
  readonly #templates: Collection<KeptTemplate>;
  readonly #parts: { clock: Clock; random: Random } & Pick<
    TemplateParts,
    "quotas" | "uses" | "registries" | "isOwners" | "refusesImage"
  >;
  #followers: Followers = noFollowers;

  constructor(parts: TemplateParts) {
    this.#templates = new Collection(parts.store, templates);
    this.#parts = parts;
  }

  prepare(): Promise<void> {
    return this.#templates.prepare();
  }

  /** Registers what follows templates. */
  followedBy(followers: Followers): void {
    this.#followers = followers;
  }

  /** The account's own templates, the newest first. */
  async list(caller: Caller, asked: PageAsked): Promise<Page<KeptTemplate>> {
    const { items, next } = await this.#templates.page(caller, asked);
    return { items: await this.#asTheyAre(caller, items), next };
  }

  /** The own containers of endpoints that follow no template, shown as templates. */
  listBound(caller: Caller): Promise<SeenTemplate[]> {
    return this.#followers.allOwn(caller);
  }

  async create({ account }: Caller, terms: Parameters<typeof created>[0]): Promise<TemplateItem> {
    const { registries, quotas } = this.#parts;
    const doc = created(terms);
    await refuseImage(this.#parts.refusesImage, doc.image, account, mountPaths(doc.mounts));
    if (doc.registry !== null) await registries.get({ account }, doc.registry);
    const item = { ...newRecord(this.#parts, account), doc };
    const held = [this.#templates.held({ account })];
    try {
      return await quotas.within(account, "templates", held, (within) => this.#templates.insert(item, within));
    } catch (error) {
      throw nameTaken(error, doc.name);
    }
  }

  /** With `reaches`, everything that follows the template changes in the same commit. Without it, the followers do not change. */
  async update(
    caller: Caller,
    id: string,
    terms: TemplateTerms,
    { reaches = false }: { reaches?: boolean } = {},
  ): Promise<SeenTemplate> {
    await refuseImage(this.#parts.refusesImage, terms.image, caller.account);
    const own = reaches && !(await this.#templates.get(id)) && (await this.#followers.changeOwn(caller, id, terms));
    if (own) return own;
    try {
      let reach: Reach | undefined;
      const changed = await this.#templates.changeOwned(caller, id, async (item) => {
        if (terms.registry) await this.#parts.registries.get(caller, terms.registry);
        const set = changedIn(item.doc, updated(item.doc, terms));
        const after = { ...item, doc: { ...item.doc, ...set } };
        if (isMountedOtherwise(item.doc, after.doc))
          await refuseImage(this.#parts.refusesImage, after.doc.image, caller.account, mountPaths(after.doc.mounts));
        reach = reaches && saysContainer(terms) ? await this.#reaching(caller, after) : undefined;
        const also = reach?.writes ?? [];
        return isEmpty(set) && also.length === 0 ? undefined : { set, also };
      });
      reach?.written();
      return await this.#asItIs(changed);
    } catch (error) {
      throw nameTaken(error, terms.name ?? "");
    }
  }

  async #reaching(caller: Caller, after: TemplateItem): Promise<Reach> {
    return this.#followers.reaching(caller, await this.#asItIs(after));
  }

  /** With `bound`, the own template of an endpoint is found too, and refused: it is deleted with the endpoint. */
  async remove(caller: Caller, id: string, { bound = false }: { bound?: boolean } = {}): Promise<void> {
    if (bound && (await this.#followers.own(caller, id)))
      throw problem("rule-broken", `This template is the own configuration of endpoint '${id}', and goes with it.`);
    await this.#templates.changeOwned(caller, id, async (item) => {
      await this.#parts.uses.refuseWhileUsed("template", item);
      return { remove: true };
    });
  }

  /** Returns an own, public or official template, and with `bound` also an endpoint's own one. All others do not exist for the caller. */
  async visible(caller: Caller, id: string, { bound = false }: { bound?: boolean } = {}): Promise<SeenTemplate> {
    const official = officialTemplate(id);
    if (official) return official;
    const item = await this.#templates.get(id);
    if (item?.account === caller.account) return this.#asItIs(item);
    const seen = item?.doc.public ? foreign(item) : bound && (await this.#followers.own(caller, id));
    if (!seen) throw this.#templates.notFound();
    return seen;
  }

  /** Finds one of the account's own templates by its name, which is unique there. */
  async named({ account }: Pick<Caller, "account">, name: string): Promise<TemplateItem> {
    const item = await this.#templates.find(account, "name", name);
    if (!item) throw this.#templates.notFound();
    return item;
  }

  /** Lists public templates that the caller may run. */
  async listPublic({ account }: Pick<Caller, "account">, source: TemplateSource): Promise<SeenTemplate[]> {
    const found: SeenTemplate[] = [];
    for await (const item of this.#from(source, account)) {
      if (found.length === PUBLIC_AT_MOST) break;
      if (!(await this.#parts.refusesImage(item.doc.image, account))) found.push(item);
    }
    return found;
  }

  async *#from(source: TemplateSource, account: string): AsyncGenerator<SeenTemplate> {
    if (source === "official") return yield* officialTemplates;
    const shares = new Map<string, number>();
    let looked = 0;
    for await (const item of this.#templates.all({ key: { name: "public", value: "yes" } })) {
      if (++looked > LOOKED_AT_MOST) return;
      const isVerified = await this.#parts.isOwners(item.account);
      const isMeant = source === "verified" ? isVerified : !isVerified && item.account !== account;
      const share = (shares.get(item.account) ?? 0) + 1;
      if (!isMeant || (!isVerified && share > OF_ONE_ACCOUNT)) continue;
      shares.set(item.account, share);
      yield foreign(item);
    }
  }

  /** The template to copy. Throws 404 if the caller cannot see it, and 422 if it is meant for the other kind. */
  async forCopy(caller: Caller, id: string, kind: "endpoint" | "pod"): Promise<KeptTemplate> {
    return ofKind(await this.visible(caller, id), kind).doc;
  }

  /**
   * What an endpoint takes from a template, and the writes for the commit in which it does. An endpoint can follow the account's own
   * templates, provided they did not change before that commit, and the official ones, which never change. It only copies a stranger's
   * template, so that nobody else decides what it runs.
   */
  async forEndpoint(caller: Caller, id: string, { follows }: { follows: boolean }) {
    const item = await this.#templates.get(id);
    const seen = ofKind(await this.visible(caller, id, { bound: follows }), "endpoint");
    const isOwn = item?.account === caller.account;
    const using = isOwn ? [this.#templates.touching(id, follows ? item.version : undefined)] : [];
    return { doc: seen.doc, isFollowable: isOwn || officialTemplate(id) !== undefined, using };
  }

  notFound() {
    return this.#templates.notFound();
  }

  /**
   * Writes for the commit that makes something of the account name a template. They make a deletion that missed the new user look again,
   * and if the deletion came first the commit fails. A stranger's template can be deleted even while others name it.
   */
  async using(account: string, template: string | null | undefined): Promise<Write[]> {
    if (!template || officialTemplate(template)) return [];
    const item = await this.#templates.get(template);
    if (item?.account === account) return [this.#templates.touching(item.id)];
    if (!item?.doc.public) throw this.#templates.notFound();
    return [];
  }

  async #asItIs(item: TemplateItem): Promise<TemplateItem> {
    return (await this.#asTheyAre(item, [item]))[0]!;
  }

  /** Shows a deleted registry as null. Templates that name it are not rewritten, and ids are never reused. */
  async #asTheyAre({ account }: { account: string }, items: TemplateItem[]): Promise<TemplateItem[]> {
    if (items.every(({ doc }) => doc.registry === null)) return items;
    const known = new Set((await this.#parts.registries.list({ account })).map(({ id }) => id));
    return items.map((item) => {
      const isKnown = item.doc.registry === null || known.has(item.doc.registry);
      return isKnown ? item : { ...item, doc: { ...item.doc, registry: null } };
    });
  }
}

/** Leaves out the registry, which only its own account can use. Others who use the template pull without it. */
const foreign = ({ id, doc }: TemplateItem): SeenTemplate => ({ id, doc: { ...doc, registry: null } });

function ofKind(seen: SeenTemplate, kind: "endpoint" | "pod"): SeenTemplate {
  if (seen.doc.serverless !== (kind === "endpoint")) throw wrongKind(seen.doc.serverless);
  return seen;
}

function wrongKind(isServerless: boolean) {
  const error = isServerless
    ? "$.templateId: names a serverless template, from which endpoints are made and not Pods"
    : "$.templateId: must name a serverless template; this one is for Pods";
  return problem("invalid", "Request validation failed.", { errors: [error] });
}

function nameTaken(error: unknown, name: string): unknown {
  const taken = error instanceof WriteRefused && error.reason === "key-taken";
  return taken ? problem("rule-broken", `A template named '${name}' already exists.`) : error;
}
