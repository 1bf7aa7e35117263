/** Brings an edit of a template to the endpoints that follow it, in the same commit, with a release for each changed container. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { LastSeen } from "../../kernel/cursor.ts";
import { Problem, problem } from "../../kernel/problem.ts";
import { allows, type Scope } from "../../kernel/scope.ts";
import { Collection } from "../../ports/store/collection.ts";
import type { Store, Write } from "../../ports/store/store.ts";
import type { RegistryService } from "../registries/service.ts";
import type { ReleaseRecords } from "../releases/records.ts";
import { withTemplate } from "../templates/copy.ts";
import type { TemplateTerms } from "../templates/fields.ts";
import type { Followers, Reach, SeenTemplate } from "../templates/followers.ts";
import type { KeptTemplate } from "../templates/model.ts";
import { changesNothing, updated } from "./fields.ts";
import { endpoints, type KeptEndpoint } from "./model.ts";
import { ownTemplate, termsOfOwn } from "./own-template.ts";
import { type EndpointItem, type EndpointService, mayUse, permitted } from "./service.ts";

interface Edited {
  id: string;
  account: string;
  doc: KeptTemplate;
}

/** The limit of one commit. A quota bounds the number of an account's endpoints, but each may be a megabyte long. */
export const MOST_REACHED_BYTES = 32 * 1024 * 1024;
/** Only a few are read at once, because each may be a megabyte long. */
const READ_AT_ONCE = 20;

export class EndpointFollowers implements Followers {
  readonly #endpoints: Collection<KeptEndpoint>;
  readonly #service: EndpointService;
  readonly #releases: ReleaseRecords;
  readonly #registries: RegistryService;
  readonly #clock: Clock;

  constructor(parts: {
    store: Store;
    clock: Clock;
    endpoints: EndpointService;
    releaseRecords: ReleaseRecords;
    registries: RegistryService;
  }) {
    this.#endpoints = new Collection(parts.store, endpoints);
    this.#service = parts.endpoints;
    this.#releases = parts.releaseRecords;
    this.#registries = parts.registries;
    this.#clock = parts.clock;
  }

  async reaching(caller: Caller, template: Edited): Promise<Reach> {
    const made = { at: this.#clock.now(), user: caller.user };
    const writes: Write[] = [];
    const reached: string[] = [];
    let bytes = 0;
    for await (const item of this.#following(template)) {
      const set = changeBy(template, item);
      if (changesNothing(item.doc, set)) continue;
      requireScope(caller, "serverless:write");
      permitted(caller, item.id, item);
      const its = [this.#endpoints.patching(item, set), ...this.#releases.ofChange(item, set, made)];
      bytes += JSON.stringify(its).length;
      if (bytes > MOST_REACHED_BYTES) throw tooMuch();
      writes.push(...its);
      reached.push(item.id);
    }
    if (reached.length > 0) writes.push(...(await this.#registries.using(template.account, template.doc.registry)));
    const written = () => {
      for (const id of reached) this.#service.wasChanged(id);
    };
    return { writes, written };
  }

  async own(caller: Caller, id: string): Promise<SeenTemplate | undefined> {
    const item = await this.#unbound(caller, id, "serverless:read");
    return item && ownTemplate(item);
  }

  async allOwn(caller: Caller): Promise<SeenTemplate[]> {
    if (!allows(caller.grants, "serverless:read")) return [];
    const found: SeenTemplate[] = [];
    for await (const item of this.#endpoints.all({ account: caller.account })) {
      if (!item.doc.follows && mayUse(caller, item.id)) found.push(ownTemplate(item));
    }
    return found;
  }

  async changeOwn(caller: Caller, id: string, terms: TemplateTerms): Promise<SeenTemplate | undefined> {
    const item = await this.#unbound(caller, id, "serverless:write");
    return item && ownTemplate(await this.#service.update(caller, id, termsOfOwn(item, terms)));
  }

  async *#following({ id, account }: Edited): AsyncGenerator<EndpointItem> {
    const key = { name: "template", value: id };
    for (let after: LastSeen | undefined, more = true; more; ) {
      const page: EndpointItem[] = await this.#endpoints.list({ account, key, after, limit: READ_AT_ONCE });
      for (const item of page) if (item.doc.follows) yield item;
      after = page.at(-1);
      more = page.length === READ_AT_ONCE;
    }
  }

  /** An endpoint of the account that follows no template. Those of other accounts do not exist for the caller. */
  async #unbound(caller: Caller, id: string, needed: Scope): Promise<EndpointItem | undefined> {
    const item = await this.#endpoints.get(id);
    if (!item || item.account !== caller.account || item.doc.follows) return undefined;
    requireScope(caller, needed);
    return permitted(caller, id, item);
  }
}

/** The refusal names the endpoint, because the editor of a template does not say which endpoints follow it. */
function changeBy(template: Edited, { id, doc }: EndpointItem): Partial<KeptEndpoint> {
  try {
    return updated(doc, withTemplate(template.doc, {}, "change"));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const why = error.errors?.join("; ") ?? error.message;
    throw problem("rule-broken", `Endpoint '${doc.name}' (${id}), which follows this template, cannot have it: ${why}`);
  }
}

function requireScope({ grants }: Caller, needed: Scope): void {
  if (allows(grants, needed)) return;
  throw problem("not-allowed", `This API key lacks the scope '${needed}', and this template is that of an endpoint.`);
}

const tooMuch = () =>
  problem(
    "rule-broken",
    `More follows this template than can be changed at once: ${MOST_REACHED_BYTES / 1024 / 1024} MiB with what it says. Let some follow another one.`,
  );
