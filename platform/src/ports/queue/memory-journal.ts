/** A journal that keeps everything in memory: the queue's rules without a disk, for tests and simulations. */
import { type Admit, UNCOUNTED_BYTES } from "../../kernel/body-memory.ts";
import { fittingChunks } from "./fitting.ts";
import { jobLifecycle, type Payload } from "./job.ts";
import {
  type Binding,
  type Entry,
  fromRow,
  type JobRow,
  type Journal,
  type Stashed,
  type StoredBody,
  type Written,
} from "./journal.ts";
import { pageOf, TARGETS_IN_A_PAGE, tellersPageOf } from "./outgoing.ts";
import type {
  ChargeFilter,
  Charges,
  Chunk,
  ChunkPlace,
  Counter,
  JobFilter,
  LargeOutputs,
  NewCharges,
  Outgoing,
  OutgoingAsk,
  OutgoingPage,
  Part,
  Teller,
  TellersAsk,
  TellersPage,
} from "./queue.ts";

interface Kept {
  row: JobRow;
  body: Payload;
  result?: Payload;
  progress?: string;
  key?: string;
  output?: string;
}

const PIECE_BYTES = 256 * 1024;

const CHARGE_KEY = ["caller", "endpoint", "share", "hour"] as const;
const CHARGE_SUMS = ["requests", "executionMs", "inputTokens", "outputTokens", "amount"] as const;
const byHour = (a: Charges, b: Charges) =>
  a.hour - b.hour || (a.caller + a.endpoint + a.share < b.caller + b.endpoint + b.share ? -1 : 1);

const text = (stashed: Stashed) => stashed as string;
const outgoingKey = (job: string, url: string) => JSON.stringify([job, url]);

export class MemoryJournal implements Journal {
  readonly #jobs = new Map<string, Kept>();
  readonly #keys = new Map<string, { id: string; digest: string }>();
  readonly #purged = new Map<string, number>();
  readonly #counters = new Map<string, Record<Counter, number>>();
  readonly #outgoing = new Map<string, Outgoing>();
  readonly #chunks = new Map<string, Chunk[]>();
  readonly #charges: Charges[] = [];
  readonly #bindings = new Map<string, Binding>();
  readonly #keyCharges: { key: string; hour: number; amount: number }[] = [];
  readonly #outputs = new Map<string, Uint8Array>();
  #staged = 0;
  readonly outputs: LargeOutputs = {
    stage: async (pieces) => {
      const key = `staged-${++this.#staged}`;
      this.#outputs.set(key, Buffer.concat(await Array.fromAsync(pieces)));
      return key;
    },
    unstage: async (key) => {
      if (![...this.#jobs.values()].some(({ output }) => output === key)) this.#outputs.delete(key);
    },
    open: async (job, { key, start, bytes }) => {
      const whole = this.#jobs.get(job)?.output === key ? this.#outputs.get(key) : undefined;
      return whole && inPieces(whole.subarray(start, start + bytes));
    },
  };
  #lowest = 0;
  #highest = 0;

  refuseNew(): void {
    // There is no disk that could be full.
  }

  async stash(payload: Payload): Promise<Stashed> {
    return typeof payload === "string" ? payload : Buffer.from(payload).toString();
  }

  async discard(): Promise<void> {}

  whenFailed(): void {}

  async write(entries: Entry[]): Promise<unknown[]> {
    return entries.map((entry) => this.#write(entry));
  }

  live(_: () => boolean, visit: (row: JobRow, body: string | undefined) => void): void {
    const live = [...this.#jobs.values()].filter(({ row }) => !jobLifecycle.isFinal(row.state));
    live.sort((a, b) => a.row.position - b.row.position);
    for (const { row, body } of live) visit({ ...row }, body as string);
  }

  positions(): { lowest: number; highest: number } {
    return { lowest: this.#lowest, highest: this.#highest };
  }

  find(id: string): JobRow | undefined {
    return this.#jobs.get(id)?.row;
  }

  findKey(scoped: string): { id: string; digest: string } | undefined {
    return this.#keys.get(scoped);
  }

  sealed(after: string, limit: number): string[] {
    const sealed = [...this.#jobs.values()].filter(({ row }) => row.id > after && fromRow(row).sealed);
    return sealed
      .map(({ row }) => row.id)
      .sort()
      .slice(0, limit);
  }

  body(id: string): StoredBody | undefined {
    const kept = this.#jobs.get(id);
    return kept && { bytes: Buffer.byteLength(kept.body), read: () => kept.body };
  }

  async read(id: string, parts: readonly Part[], admit?: Admit): Promise<Written | undefined> {
    const there = this.#jobs.get(id);
    const bytes = parts.reduce((sum, part) => sum + Buffer.byteLength(there?.[part] ?? ""), 0);
    if (bytes > UNCOUNTED_BYTES) await admit?.(bytes);
    const kept = this.#jobs.get(id);
    if (!kept) return undefined;
    const found = parts.map((part) => [part, kept[part]]).filter(([, payload]) => payload !== undefined);
    return { row: kept.row, parts: Object.fromEntries(found) };
  }

  wasPurged(id: string, now: number): boolean {
    return (this.#purged.get(id) ?? Number.NEGATIVE_INFINITY) > now;
  }

  async list(filter: JobFilter): Promise<{ rows: JobRow[]; total: number }> {
    const { endpoint, states, holder, caller, offset, limit, now } = filter;
    const rows = [...this.#jobs.values()]
      .map(({ row }) => row)
      .filter((row) => row.endpoint === endpoint && (!states || states.includes(row.state)))
      .filter(({ expiresAt }) => expiresAt === null || expiresAt > now)
      .filter((row) => holder === undefined || fromRow(row).holder === holder)
      .filter((row) => caller === undefined || fromRow(row).caller === caller)
      .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
    return { rows: rows.slice(offset, offset + limit), total: rows.length };
  }

  chunks(id: string, after: ChunkPlace, limit: number, bytes?: number): Chunk[] {
    const found = (this.#chunks.get(id) ?? [])
      .filter((chunk) => isAfter(chunk, after))
      .sort((a, b) => a.attempt - b.attempt || a.sequence - b.sequence)
      .slice(0, limit)
      .map(({ key: _, ...chunk }) => chunk);
    return fittingChunks(found, bytes);
  }

  counters(endpoint: string): Record<Counter, number> {
    return this.#counters.get(endpoint) ?? { completed: 0, failed: 0, retried: 0 };
  }

  bindings(): Binding[] {
    return [...this.#bindings.values()];
  }

  charges({ caller, endpoints, from, to }: ChargeFilter): Charges[] {
    return this.#charges
      .filter((one) => caller === undefined || one.caller === caller)
      .filter((one) => !endpoints || endpoints.includes(one.endpoint))
      .filter(({ hour }) => hour >= from && hour < to)
      .map((one) => ({ ...one }))
      .sort(byHour);
  }

  tellers({ now, limit, after }: TellersAsk): TellersPage {
    const seen = new Map<string, Teller & { isDue: boolean }>();
    for (const { endpoint, caller, dueAt } of this.#outgoing.values()) {
      if (after && compareTellers({ endpoint, caller }, after) <= 0) continue;
      const name = JSON.stringify([endpoint, caller]);
      seen.set(name, { endpoint, caller, isDue: dueAt <= now || seen.get(name)?.isDue === true });
    }
    return tellersPageOf([...seen.values()].sort(compareTellers).slice(0, limit), limit);
  }

  outgoing(ask: OutgoingAsk): OutgoingPage {
    const heads = new Map<string, Outgoing>();
    for (const message of this.#outgoing.values()) {
      const { endpoint, caller, target, dueAt } = message;
      if (endpoint !== ask.endpoint || caller !== ask.caller || target <= (ask.after ?? "")) continue;
      if (dueAt < (heads.get(target)?.dueAt ?? Number.POSITIVE_INFINITY)) heads.set(target, message);
    }
    const byTarget = [...heads.values()].sort((a, b) => (a.target < b.target ? -1 : 1));
    return pageOf(byTarget.slice(0, TARGETS_IN_A_PAGE), ask);
  }

  hasExpired(now: number): boolean {
    for (const until of this.#purged.values()) if (until <= now) return true;
    for (const { row } of this.#jobs.values()) if (row.expiresAt !== null && row.expiresAt <= now) return true;
    return false;
  }

  async scrub(): Promise<void> {}

  async close(): Promise<void> {}

  #write(entry: Entry): unknown {
    switch (entry.do) {
      case "insert":
        this.#notePosition(entry.row);
        if (entry.key) this.#keys.set(entry.key.scoped, { id: entry.row.id, digest: entry.key.digest });
        return this.#jobs.set(entry.row.id, { row: entry.row, body: text(entry.body), key: entry.key?.scoped });
      case "update":
        return this.#update(entry);
      case "body": {
        const kept = this.#jobs.get(entry.id);
        if (kept) kept.body = text(entry.body);
        return undefined;
      }
      case "remove":
        for (const id of entry.ids) {
          this.#purged.set(id, entry.rememberUntil);
          this.#remove(id);
        }
        return undefined;
      case "removeEndpoint":
        for (const { row } of this.#jobs.values()) if (row.endpoint === entry.endpoint) this.#remove(row.id);
        this.#counters.delete(entry.endpoint);
        for (const { holder, endpoint } of this.bindings())
          if (endpoint === entry.endpoint) this.#bindings.delete(holder);
        return 0;
      case "count":
        return this.#counters.set(entry.endpoint, added(this.counters(entry.endpoint), entry.count));
      case "charge":
        return this.#charge(entry.charges);
      case "bind":
        return this.#bindings.set(entry.binding.holder, entry.binding);
      case "unbind":
        return this.#bindings.delete(entry.holder);
      case "message":
        return this.#outgoing.set(outgoingKey(entry.message.job, entry.message.url), entry.message);
      case "settle":
        return this.#settle(entry);
      case "chunks":
        return entry.chunks.forEach((chunk) => {
          this.#append(chunk);
        });
      case "expire":
        return this.#expire(entry.now, entry.limit);
    }
  }

  #update({ row, result, progress, dropChunks, output }: Extract<Entry, { do: "update" }>): void {
    this.#notePosition(row);
    const kept = this.#jobs.get(row.id);
    if (!kept) return;
    kept.row = row;
    if (result !== undefined) kept.result = result === null ? undefined : text(result);
    if (progress !== undefined) kept.progress = progress ?? undefined;
    if (dropChunks) this.#chunks.delete(row.id);
    if (output === undefined) return;
    if (kept.output !== undefined) this.#outputs.delete(kept.output);
    kept.output = output ?? undefined;
  }

  chargedByKey(key: string, fromHour: number): number {
    const its = this.#keyCharges.filter((one) => one.key === key && one.hour >= fromHour);
    return its.reduce((sum, { amount }) => sum + amount, 0);
  }

  #charge({ key, ...charges }: NewCharges): void {
    if (key !== undefined) this.#keyCharges.push({ key, hour: charges.hour, amount: charges.amount });
    const known = this.#charges.find((one) => CHARGE_KEY.every((name) => one[name] === charges[name]));
    if (known) for (const name of CHARGE_SUMS) known[name] += charges[name];
    else this.#charges.push({ ...charges });
  }

  #append(chunk: Chunk): void {
    const known = this.#chunks.get(chunk.id) ?? [];
    if (known.some((other) => isSame(other, chunk))) return;
    this.#chunks.set(chunk.id, [...known, chunk]);
  }

  #settle({ job, url, next, seen }: Extract<Entry, { do: "settle" }>): void {
    const key = outgoingKey(job, url);
    const message = this.#outgoing.get(key);
    if (seen && (message?.tries !== seen.tries || message.dueAt !== seen.dueAt)) return;
    if (next === "done") this.#outgoing.delete(key);
    else if (message) this.#outgoing.set(key, { ...message, ...next });
  }

  #expire(now: number, limit: number): number {
    for (const [id, until] of this.#purged) if (until <= now) this.#purged.delete(id);
    const telling = new Set([...this.#outgoing.values()].map(({ job }) => job));
    const over = [...this.#jobs.values()]
      .filter(({ row }) => row.expiresAt !== null && row.expiresAt <= now && !telling.has(row.id))
      .slice(0, limit);
    for (const { row } of over) this.#remove(row.id);
    return over.length;
  }

  #remove(id: string): void {
    const { key, output } = this.#jobs.get(id) ?? {};
    if (output !== undefined) this.#outputs.delete(output);
    // After this job had expired, another job may have taken its key.
    if (key && this.#keys.get(key)?.id === id) this.#keys.delete(key);
    this.#jobs.delete(id);
    this.#chunks.delete(id);
    for (const [at, message] of this.#outgoing) if (message.job === id) this.#outgoing.delete(at);
  }

  #notePosition({ position }: JobRow): void {
    this.#lowest = Math.min(this.#lowest, position);
    this.#highest = Math.max(this.#highest, position);
  }
}

async function* inPieces(whole: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < whole.length; at += PIECE_BYTES) yield whole.subarray(at, at + PIECE_BYTES);
}

function compareTellers(one: Teller, other: Teller): number {
  const [a, b] = one.endpoint === other.endpoint ? [one.caller, other.caller] : [one.endpoint, other.endpoint];
  return a < b ? -1 : Number(a > b);
}

function isAfter(chunk: Chunk, after: { attempt: number; sequence: number }): boolean {
  return chunk.attempt > after.attempt || (chunk.attempt === after.attempt && chunk.sequence > after.sequence);
}

function isSame(one: Chunk, other: Chunk): boolean {
  const hasSameKey = one.key !== undefined && one.key === other.key;
  return one.attempt === other.attempt && (one.sequence === other.sequence || hasSameKey);
}

function added(counters: Record<Counter, number>, count: Partial<Record<Counter, number>>): Record<Counter, number> {
  const { completed = 0, failed = 0, retried = 0 } = count;
  return {
    completed: counters.completed + completed,
    failed: counters.failed + failed,
    retried: counters.retried + retried,
  };
}
