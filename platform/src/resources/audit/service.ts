/** The audit log: writes an entry together with each change of an account, and lists the entries. */

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

/** Something that an actor is about to do in an account. */
export interface Deed {
  account: string;
  actor: Actor;
  operation: string;
  action?: string | undefined;
  resource?: { type: string; id?: string | undefined } | undefined;
  address?: string | undefined;
  userAgent?: string | undefined;
  fields?: readonly string[] | undefined;
  /** Why Millrace does this by itself. */
  reason?: string;
}

interface How<T> {
  /** Finds the id of the thing that was made in the result of the work. Absent for work that makes nothing. */
  madeIn?: ((result: T) => string | undefined) | undefined;
  /** Writes the entry before the work begins. Needed for work that changes something outside of the store. */
  first?: boolean;
  /** Leaves it to the work to say when it begins, once it has found that there is something to do. */
  whenBegun?: boolean;
  /** Writes no entry for work that changes nothing. */
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
  /** Called when an outcome could not be written. The change itself was made, and its entry exists. */
  failed?: Failed;
}

const FIELDS = 64;
const FIELD_LENGTH = 64;
const USER_AGENT_LENGTH = 200;
const NAME_LENGTH = 191;
/** A filtered page looks at this many entries. If it found any by then it ends there, and the next page continues. */
const LOOKED_AT = 5000;
const READ_AT_ONCE = 500;

/** These problems are faults of the server, or something that somebody else can fix. The outcome is then "failed", not "refused". */
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
   * Does the work and writes an entry about it. The entry goes into the first commit that the work makes, without an outcome. The outcome
   * is added before this resolves, so after a crash in between the entry still shows that the work began. If the work commits nothing, the
   * entry is written when it is done, and this fails if that is not possible.
   */
  async record<T>(deed: Deed, work: (begin: () => Promise<void>) => Promise<T>, how: How<T> = {}): Promise<T> {
    const record = newEntry(this.#parts, deed.account);
    const doc = docOf(deed);
    const began = (id?: string) => ({ ...record, doc: withResource(doc, id) });
    let entry: Entry | undefined;
    const begin = async () => {
      entry = await this.#entries.insert(began());
    };
    if (how.first) await begin();
    const companion = (writes: readonly Write[]) =>
      this.#entries.inserting(began(how.madeIn && firstMade(writes, deed.account)));
    const isOutside = how.first || how.whenBegun;
    const end = await (isOutside
      ? ended(
          () => work(begin),
          () => entry,
        )
      : this.#ended(companion, () => work(begin)));
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
    return this.#store.accompany(companion, (_taken, finish) =>
      ended(work, async () => {
        const written = await finish();
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

  /** Keeps only a few refusals for missing rights each hour, so that nobody can fill the disk or bury other entries with them. */
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
   * Lists the newest first. With several filters a page may end early, at the last entry that was looked at, but it is never empty while
   * more follow. Looking through a whole log takes long, so other work gets its turn in between.
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

  /**
   * A failure here does not fail the work: the change was made and its entry exists. A caller who was told of a failure would make the
   * change again.
   */
  async #settle(entry: Entry, set: Pick<KeptAuditEntry, "outcome" | "reason">, made?: string): Promise<void> {
    await this.#entries
      .patch(entry, { ...withResource(entry.doc, made), ...set })
      .catch(named(this.#failed, "write audit entries"));
  }
}

/** The id, account and time of a new entry. Ids keep entries of the same millisecond in order. */
export function newEntry({ clock, random }: Pick<AuditParts, "clock" | "random">, account: string) {
  const createdAt = clock.now();
  return { id: orderedId(createdAt, random), account, createdAt };
}

/** Cuts every text to a bound, whatever the caller sent. */
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

/** A caller who is refused can send anything as an id. Text that cannot be an id is not kept. */
function knownId(id: string | undefined): { id?: string } {
  return id !== undefined && id.length <= NAME_LENGTH && isStorable(id) ? { id } : {};
}

/** Adds the id of the thing that was made, if there is one. */
function withResource(doc: KeptAuditEntry, id: string | undefined): KeptAuditEntry {
  return id === undefined || !doc.resource ? doc : { ...doc, resource: { type: doc.resource.type, id } };
}

/**
 * The first record that the work inserts is the one that was asked for. The entry can name it even if the server crashes before it answers.
 */
function firstMade(writes: readonly Write[], account: string): string | undefined {
  return writes.flatMap((write) =>
    write.do === "insert" && write.record.account === account ? [write.record.id] : [],
  )[0];
}

type Entry = Item<KeptAuditEntry>;

/** How the work ended, and its entry if one was written with it. */
type End<T> = { result: T; entry: Entry | undefined } | { error: unknown; entry: Entry | undefined };

async function ended<T>(
  work: () => Promise<T>,
  entry: () => Entry | undefined | Promise<Entry | undefined>,
): Promise<End<T>> {
  let end: { result: T } | { error: unknown };
  try {
    end = { result: await work() };
  } catch (error) {
    end = { error };
  }
  return { ...end, entry: await entry() };
}

/** Chooses the most selective filter as the list key. The other filters are applied to what it finds. */
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
