/** The audit log: writes down each change of an account together with the change, and shows what was written. */

import { type Clock, turn } from "../../kernel/clock.ts";
import { type Failed, named } from "../../kernel/failed.ts";
import { orderedId } from "../../kernel/ids.ts";
import { isProblem, type Meaning } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { isStorable } from "../../kernel/storable.ts";
import { Collection, type Item, type Page, type PageAsked } from "../../ports/store/collection.ts";
import type { Companion, CompanionStore } from "../../ports/store/companion-store.ts";
import type { ListKey, Write } from "../../ports/store/store.ts";
import { type Actor, auditEntries, type KeptAuditEntry } from "./model.ts";
import { RefusalPace } from "./refusal-pace.ts";

/** Something that is about to be done in an account. */
export interface Deed {
  account: string;
  actor: Actor;
  operation: string;
  action?: string | undefined;
  resource?: { type: string; id?: string | undefined } | undefined;
  address?: string | undefined;
  userAgent?: string | undefined;
  fields?: readonly string[] | undefined;
  /** Why Millrace does it by itself. */
  reason?: string;
}

interface How<T> {
  /** The id of what it made, in what it returns; absent where it makes nothing. */
  madeIn?: ((result: T) => string | undefined) | undefined;
  /** Written before it is begun: for work that changes something elsewhere than in the store. */
  first?: boolean;
  /** Nothing is written of work that changes nothing. */
  onlyChanges?: boolean;
}

export interface AuditAsked extends PageAsked {
  from?: number | undefined;
  to?: number | undefined;
  operation?: string | undefined;
  resource?: string | undefined;
  key?: string | undefined;
}

export interface AuditParts {
  store: CompanionStore;
  clock: Clock;
  random: Random;
  /** Hears of an outcome that could not be written: what was done is done, and its entry is there. */
  failed?: Failed;
}

const FIELDS = 64;
const FIELD_LENGTH = 64;
const USER_AGENT_LENGTH = 200;
const NAME_LENGTH = 191;
/** How many entries a filtered page looks at; it then ends, if there is anything on it, and the next one goes on there. */
const LOOKED_AT = 5000;
const READ_AT_ONCE = 500;

/** What somebody else may put right, or is wrong with the server: it was not refused. */
const FAILURES: readonly Meaning[] = ["fault", "unavailable", "no-answer", "late-answer"];

export class AuditLog {
  readonly #store: CompanionStore;
  readonly #entries: Collection<KeptAuditEntry>;
  readonly #parts: AuditParts;
  readonly #pace: RefusalPace;
  readonly #failed: Failed;

  constructor(parts: AuditParts) {
    this.#parts = parts;
    this.#failed = parts.failed ?? (() => {});
    this.#store = parts.store;
    this.#entries = new Collection(parts.store, auditEntries);
    this.#pace = new RefusalPace(parts.clock);
  }

  async prepare(): Promise<void> {
    await this.#entries.prepare();
  }

  get entries(): Collection<KeptAuditEntry> {
    return this.#entries;
  }

  /**
   * Does the work and writes it down. The entry is in the first commit that the work makes, still without its outcome, which is added
   * before this resolves: a crash in between leaves that it began. Work that commits nothing has its entry once it is done, and fails
   * where that cannot be written.
   */
  async record<T>(deed: Deed, work: () => Promise<T>, how: How<T> = {}): Promise<T> {
    const record = newEntry(this.#parts, deed.account);
    const doc = docOf(deed);
    const began = (id?: string) => ({ ...record, doc: withResource(doc, id) });
    const entry = how.first ? await this.#entries.insert(began()) : undefined;
    const companion = (writes: readonly Write[]) =>
      this.#entries.inserting(began(how.madeIn && firstMade(writes, deed.account)));
    const end = entry ? await ended(work, () => entry) : await this.#ended(companion, work);
    if ("error" in end) {
      await this.#settleFailed(deed, end);
      throw end.error;
    }
    const made = how.madeIn?.(end.result);
    if (end.entry) await this.#settle(end.entry, { outcome: "done" }, made);
    else if (!how.onlyChanges)
      await this.#entries.insert({ ...record, doc: { ...withResource(doc, made), outcome: "done" } });
    return end.result;
  }

  #ended<T>(companion: Companion, work: () => Promise<T>): Promise<End<T>> {
    return this.#store.accompany(companion, (taken) =>
      ended(work, () => {
        const written = taken();
        return written && this.#entries.read(written);
      }),
    );
  }

  async #settleFailed(deed: Deed, { error, entry }: { error: unknown; entry: Entry | undefined }): Promise<void> {
    const reason = isProblem(error) ? error.code : "fault";
    const outcome = FAILURES.includes(reason) ? "failed" : "refused";
    if (entry) await this.#settle(entry, { outcome, reason });
    else if (reason === "not-allowed") await this.refused(deed, reason);
  }

  /** Of refusals for a lack of rights, a few each hour are kept: nobody fills a disk, or hides something, with more. */
  async refused(deed: Deed, reason: Meaning): Promise<void> {
    const left = this.#pace.note(deed.account);
    if (left === undefined) return;
    const unkept = left > 0 ? `; ${left} more refusals before it were not kept` : "";
    const doc: KeptAuditEntry = { ...docOf(deed), outcome: "refused", reason: `${reason}${unkept}` };
    await this.#entries
      .insert({ ...newEntry(this.#parts, deed.account), doc })
      .catch(named(this.#failed, "write audit entries"));
  }

  /**
   * The newest first. With more than one filter a page may end early, at the last entry that was looked at, but it is never empty while
   * more follow: to look through all that an account has takes long, and others have their turn meanwhile.
   */
  async page({ account }: { account: string }, asked: AuditAsked): Promise<Page<KeptAuditEntry>> {
    const { limit, from = Number.NEGATIVE_INFINITY, to } = asked;
    const key = keyOf(account, asked);
    const items: Item<KeptAuditEntry>[] = [];
    let after = to !== undefined && (asked.after?.createdAt ?? to) >= to ? { createdAt: to, id: "" } : asked.after;
    for (let looked = 0; looked < LOOKED_AT || items.length === 0; await turn()) {
      const atOnce = looked === 0 ? limit + 1 : READ_AT_ONCE;
      const found = await this.#entries.list({ account, key, after, limit: atOnce });
      for (const item of found) {
        if (item.createdAt < from) return { items, next: undefined };
        after = item;
        if (!fits(item.doc, asked)) continue;
        if (items.length === limit) return { items, next: items.at(-1) };
        items.push(item);
      }
      if (found.length < atOnce) return { items, next: undefined };
      looked += found.length;
    }
    return { items, next: after };
  }

  /** What was done is done, and it is written that it began: a caller who was told of a failure would do it again. */
  async #settle(entry: Entry, set: Pick<KeptAuditEntry, "outcome" | "reason">, made?: string): Promise<void> {
    await this.#entries
      .patch(entry, { ...withResource(entry.doc, made), ...set })
      .catch(named(this.#failed, "write audit entries"));
  }
}

/** What is known of an entry before what is in it; those of one moment stay in their order. */
export function newEntry({ clock, random }: Pick<AuditParts, "clock" | "random">, account: string) {
  const createdAt = clock.now();
  return { id: orderedId(createdAt, random), account, createdAt };
}

/** Entries are bounded, whatever they are made from. */
function docOf({
  account,
  actor,
  operation,
  action,
  resource,
  address,
  userAgent,
  fields,
  reason,
}: Deed): KeptAuditEntry {
  const { type, id, name } = actor;
  return {
    account,
    actor: { type, ...(id !== undefined && { id }), ...(name !== undefined && { name: name.slice(0, NAME_LENGTH) }) },
    operation,
    ...(action !== undefined && { action: action.slice(0, FIELD_LENGTH) }),
    ...(resource && { resource: { type: resource.type, ...knownId(resource.id) } }),
    ...(address !== undefined && { address: address.slice(0, FIELD_LENGTH) }),
    ...(userAgent !== undefined && { userAgent: userAgent.slice(0, USER_AGENT_LENGTH) }),
    fields: (fields ?? []).slice(0, FIELDS).map((field) => field.slice(0, FIELD_LENGTH)),
    outcome: "unknown",
    ...(reason !== undefined && { reason }),
  };
}

/** Who may not do something may name anything: what no id can be is not kept. */
function knownId(id: string | undefined): { id?: string } {
  return id !== undefined && id.length <= NAME_LENGTH && isStorable(id) ? { id } : {};
}

/** With the id of what was made, where the deed named none. */
function withResource(doc: KeptAuditEntry, id: string | undefined): KeptAuditEntry {
  return id === undefined || !doc.resource ? doc : { ...doc, resource: { type: doc.resource.type, id } };
}

/** What is made first is what was asked for; should the server end before it answers, the entry names it all the same. */
function firstMade(writes: readonly Write[], account: string): string | undefined {
  return writes.flatMap((write) =>
    write.do === "insert" && write.record.account === account ? [write.record.id] : [],
  )[0];
}

type Entry = Item<KeptAuditEntry>;

/** How work ended, and its entry where one was written with it. */
type End<T> = { result: T; entry: Entry | undefined } | { error: unknown; entry: Entry | undefined };

async function ended<T>(work: () => Promise<T>, entry: () => Entry | undefined): Promise<End<T>> {
  try {
    return { result: await work(), entry: entry() };
  } catch (error) {
    return { error, entry: entry() };
  }
}

/** Listed by what is named least often; what else is asked for is looked for among those. */
function keyOf(account: string, { resource, key, operation }: AuditAsked): ListKey | undefined {
  if (resource !== undefined) return { name: "resource", value: `${account} ${resource}` };
  if (key !== undefined) return { name: "key", value: `${account} ${key}` };
  if (operation !== undefined) return { name: "operation", value: `${account} ${operation}` };
  return undefined;
}

function fits({ actor, resource, operation }: KeptAuditEntry, asked: AuditAsked): boolean {
  return (
    (asked.resource === undefined || resource?.id === asked.resource) &&
    (asked.key === undefined || actor.id === asked.key) &&
    (asked.operation === undefined || operation === asked.operation)
  );
}
