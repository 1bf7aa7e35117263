/** What the embedded queue needs from its journal: it writes entries in order and reads them back. */
import type { Admit } from "../../kernel/body-memory.ts";
import type { Job, JobPolicy, Payload } from "./job.ts";
import type {
  ChargeFilter,
  Charges,
  Chunk,
  ChunkPlace,
  Counter,
  JobFilter,
  LargeOutputs,
  MessageState,
  NewCharges,
  Outgoing,
  OutgoingAsk,
  OutgoingPage,
  Part,
  Reading,
  TellersAsk,
  TellersPage,
} from "./queue.ts";

/** A job as it is stored: searchable values are fields, and everything else is in the document. */
export interface JobRow {
  id: string;
  endpoint: string;
  state: Job["state"];
  /** The order in the queue. Jobs returned to the front get numbers below all others. */
  position: number;
  createdAt: number;
  expiresAt: number | null;
  /** The rest of the job as JSON text. */
  doc: string;
}

/** A payload in an entry: the text, or the name of a file that already holds it. */
export type Stashed = string | { file: string };

/** Longer payloads go into files next to the database instead of through it. */
const LARGE_LENGTH = 256 * 1024;

export function isLarge(payload: Payload | null | undefined): boolean {
  return payload !== null && payload !== undefined && (typeof payload !== "string" || payload.length > LARGE_LENGTH);
}

export type Entry =
  | { do: "insert"; row: JobRow; body: Stashed; key?: { scoped: string; digest: string } }
  | {
      do: "update";
      row: JobRow;
      result?: Stashed | null;
      progress?: string | null;
      dropChunks?: boolean;
      /** The key of the staged output that the job gets; null removes its present one. */
      output?: string | null;
    }
  /** Replaces the body of a job that still exists. */
  | { do: "body"; id: string; body: Stashed }
  | { do: "remove"; ids: string[]; rememberUntil: number }
  /** Removes up to `limit` of its jobs and returns how many. A smaller number than the limit means that nothing is left. */
  | { do: "removeEndpoint"; endpoint: string; limit: number }
  | { do: "count"; endpoint: string; count: Partial<Record<Counter, number>> }
  | { do: "charge"; charges: NewCharges }
  | { do: "bind"; binding: Binding }
  | { do: "unbind"; holder: string }
  | { do: "message"; message: Outgoing }
  | { do: "settle"; job: string; url: string; next: MessageState | "done"; seen?: MessageState }
  | { do: "chunks"; chunks: Chunk[] }
  | { do: "expire"; now: number; limit: number };

/** Which caller a worker boot works for, and for no other. */
export interface Binding {
  holder: string;
  endpoint: string;
  caller: string;
}

/** A body that exists, but may not have been read yet. */
export interface StoredBody {
  bytes: number;
  read(): Payload | Promise<Payload | undefined>;
}

/** A stored job with the parts asked for, all from the same moment. */
export interface Written {
  row: JobRow;
  parts: Omit<Reading, "job">;
}

export interface Journal {
  readonly outputs: LargeOutputs;
  /** Throws while no new jobs are accepted, before anything is decided about them. */
  refuseNew(): void;
  /** Stores a large payload so that entries can refer to it. It is durable once this resolves. */
  stash(payload: Payload): Promise<Stashed>;
  /** Removes stashed payloads to which no entry refers. */
  discard(stashed: readonly Stashed[]): Promise<void>;
  /**
   * Entries are durable once this resolves. Entries of one call are written together, and calls in their order. Returns one result per
   * entry, or an empty list if no entry has one.
   */
  write(entries: Entry[]): Promise<unknown[]>;
  /** Sets what to do when a write fails, and with it all later ones. The action runs before any caller learns of the failure. */
  whenFailed(action: () => void): void;
  /** Visits all jobs that are not final, by position. Their bodies come along while `wantsBody` is true. */
  live(wantsBody: () => boolean, visit: (row: JobRow, body: string | undefined) => void): void;
  /** The lowest and highest positions of live jobs, and at least 0 on either side. New positions lie beyond them. */
  positions(): { lowest: number; highest: number };
  find(id: string): JobRow | undefined;
  findKey(scoped: string): { id: string; digest: string } | undefined;
  /** Returns up to `limit` ids, after `after`, of jobs whose bodies hold a sealed credential. */
  sealed(after: string, limit: number): string[];
  /** The body of a job that was not removed, with its length. A body in a file of its own is not read yet. */
  body(id: string): StoredBody | undefined;
  /** Like the queue's `read`: `admit` is asked before long parts are loaded. */
  read(id: string, parts: readonly Part[], admit?: Admit): Promise<Written | undefined>;
  wasPurged(id: string, now: number): boolean;
  list(filter: JobFilter): Promise<{ rows: JobRow[]; total: number }>;
  chunks(id: string, after: ChunkPlace, limit: number, bytes?: number): Chunk[];
  counters(endpoint: string): Record<Counter, number>;
  charges(filter: ChargeFilter): Charges[];
  chargedByKey(key: string, fromHour: number): number;
  bindings(): Binding[];
  tellers(ask: TellersAsk): TellersPage;
  outgoing(ask: OutgoingAsk): OutgoingPage;
  /** Whether an `expire` entry would find anything, so that a quiet queue writes nothing. */
  hasExpired(now: number): boolean;
  /** Makes removed text unreadable in the files. */
  scrub(): Promise<void>;
  close(): Promise<void>;
}

type Doc = Pick<Job, "policy"> & Partial<Omit<Job, "id" | "endpoint" | "state" | "createdAt" | "expiresAt">>;

/** The format of the document. `kernel/document.ts` explains how formats change. */
const FORMAT = 1;
const OPENING = `{"v":${FORMAT},"policy":`;

export function toRow(job: Job, position: number): JobRow {
  const { id, endpoint, state, createdAt, expiresAt } = job;
  return { id, endpoint, state, position, createdAt, expiresAt: expiresAt ?? null, doc: docOf(job) };
}

/**
 * Leaves out every value that a newly accepted job has too, so most waiting jobs store only their policy. The text is built by hand, since
 * every job is written twice: this costs half as much as stringifying an object made for it. The expiry has a column of its own.
 */
function docOf(job: Job): string {
  const { createdAt, policy, ttlAt, queuedAt } = job;
  let doc = `${OPENING}${policyText(policy)}`;
  if (ttlAt !== createdAt + policy.ttlMs) doc += `,"ttlAt":${ttlAt}`;
  if (queuedAt !== createdAt) doc += `,"queuedAt":${queuedAt}`;
  if (job.attempt !== 0) doc += `,"attempt":${job.attempt}`;
  if (job.spent !== 0) doc += `,"spent":${job.spent}`;
  if (job.errorsRetried !== 0) doc += `,"errorsRetried":${job.errorsRetried}`;
  if (job.retried !== 0) doc += `,"retried":${job.retried}`;
  if (job.holder !== undefined) doc += `,"holder":${JSON.stringify(job.holder)}`;
  if (job.barred !== undefined) doc += `,"barred":${JSON.stringify(job.barred)}`;
  if (job.startedAt !== undefined) doc += `,"startedAt":${job.startedAt}`;
  if (job.deadline !== undefined) doc += `,"deadline":${job.deadline}`;
  if (job.endedAt !== undefined) doc += `,"endedAt":${job.endedAt}`;
  if (job.reason !== undefined) doc += `,"reason":${JSON.stringify(job.reason)}`;
  if (job.reasonCode !== undefined) doc += `,"reasonCode":"${job.reasonCode}"`;
  if (job.error !== undefined) doc += `,"error":${JSON.stringify(job.error)}`;
  if (job.large !== undefined) doc += `,"large":${JSON.stringify(job.large)}`;
  if (job.webhooks !== undefined) doc += `,"webhooks":${JSON.stringify(job.webhooks)}`;
  if (job.sealed !== undefined) doc += `,"sealed":${job.sealed}`;
  if (job.cursor !== undefined) doc += `,"cursor":${JSON.stringify(job.cursor)}`;
  if (job.deliveries !== undefined) doc += `,"deliveries":${JSON.stringify(job.deliveries)}`;
  if (job.caller !== undefined) doc += `,"caller":${JSON.stringify(job.caller)}`;
  if (job.fare !== undefined) doc += `,"fare":${JSON.stringify(job.fare)}`;
  if (job.trace !== undefined) doc += `,"trace":${JSON.stringify(job.trace)}`;
  return `${doc}}`;
}

const policyTexts = new WeakMap<JobPolicy, string>();

/** Jobs share their policies, so each policy is stringified once. */
function policyText(policy: JobPolicy): string {
  let text = policyTexts.get(policy);
  if (text === undefined) {
    text = JSON.stringify(policy);
    policyTexts.set(policy, text);
  }
  return text;
}

/** Reads many rows one after another. Most documents hold only a policy that many rows share, so each such document is parsed once. */
export function rowReader(shared: (policy: JobPolicy) => JobPolicy): (row: JobRow) => Job {
  const policies = new Map<string, JobPolicy>();
  return (row) => {
    const known = policies.get(row.doc);
    if (known) return jobOf(row, known);
    const { policy, ...rest } = readDoc(row.doc);
    const common = shared(policy);
    if (row.doc === `${OPENING}${policyText(policy)}}`) policies.set(row.doc, common);
    return jobOf(row, common, rest);
  };
}

export function fromRow(row: JobRow): Job {
  const { policy, ...rest } = readDoc(row.doc);
  return jobOf(row, policy, rest);
}

function readDoc(text: string): Doc {
  const { v: _, ...doc } = JSON.parse(text) as Doc & { v: number };
  return doc;
}

function jobOf(row: JobRow, policy: JobPolicy, rest?: Omit<Doc, "policy">): Job {
  const { id, endpoint, state, createdAt, expiresAt } = row;
  const ttlAt = createdAt + policy.ttlMs;
  const queuedAt = createdAt;
  const counters = { attempt: 0, spent: 0, errorsRetried: 0, retried: 0 };
  const job: Job = { id, endpoint, state, policy, createdAt, ttlAt, queuedAt, ...counters };
  if (rest) Object.assign(job, rest);
  if (expiresAt !== null) job.expiresAt = expiresAt;
  return job;
}
