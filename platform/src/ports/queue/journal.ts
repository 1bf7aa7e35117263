/** What the embedded queue needs from its journal: entries written in order, and what was written read back. */
import type { Admit } from "../../kernel/body-memory.ts";
import type { Job, JobPolicy, Payload } from "./job.ts";
import type {
  Chunk,
  ChunkPlace,
  Counter,
  JobFilter,
  LargeOutputs,
  Outgoing,
  OutgoingAsk,
  OutgoingPage,
  Part,
  Reading,
} from "./queue.ts";

/** A job as it is written down: what must be searched as fields, all else in the document. */
export interface JobRow {
  id: string;
  endpoint: string;
  state: Job["state"];
  /** Order in the queue; jobs returned to the front have numbers before all others. */
  position: number;
  createdAt: number;
  expiresAt: number | null;
  /** The rest of the job as JSON text. */
  doc: string;
}

/** A payload as an entry carries it: text, or the name of a file that already holds it. */
export type Stashed = string | { file: string };

/** Longer payloads go to files, beside the database and not through it. */
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
      /** The key of the staged output that the job has from now on; null removes the one there is. */
      output?: string | null;
    }
  /** Another body for a job that is still there. */
  | { do: "body"; id: string; body: Stashed }
  | { do: "remove"; ids: string[]; rememberUntil: number }
  /** Up to so many of its jobs; the result is how many. When there are fewer, nothing is left of it. */
  | { do: "removeEndpoint"; endpoint: string; limit: number }
  | { do: "count"; endpoint: string; count: Partial<Record<Counter, number>> }
  | { do: "message"; message: Outgoing }
  | { do: "settle"; job: string; url: string; next: { tries: number; dueAt: number } | "done" }
  | { do: "chunks"; chunks: Chunk[] }
  | { do: "expire"; now: number; limit: number };

/** A body that is there, and perhaps still to be read. */
export interface StoredBody {
  bytes: number;
  read(): Payload | Promise<Payload | undefined>;
}

/** A job as it is written down, with the parts asked for, all of one moment. */
export interface Written {
  row: JobRow;
  parts: Omit<Reading, "job">;
}

export interface Journal {
  readonly outputs: LargeOutputs;
  /** Throws while no new jobs are taken on, before anything is decided on them. */
  refuseNew(): void;
  /** Puts a large payload where entries can refer to it; durable once resolved. */
  stash(payload: Payload): Promise<Stashed>;
  /** Removes stashed payloads that no entry came to refer to. */
  discard(stashed: readonly Stashed[]): Promise<void>;
  /** Durable once resolved; entries of one call are written together, calls in their order. One result per entry, or none at all where no entry has one. */
  write(entries: Entry[]): Promise<unknown[]>;
  /** Names what to do at the moment when a write fails, and with it all that were given after it: before anybody hears of it. */
  whenFailed(action: () => void): void;
  /** All jobs that are not final, by position; with their bodies while those are wanted. */
  live(wantsBody: () => boolean, visit: (row: JobRow, body: string | undefined) => void): void;
  /** Highest and lowest position ever given out, so that new ones never repeat them. */
  positions(): { lowest: number; highest: number };
  find(id: string): JobRow | undefined;
  findKey(scoped: string): { id: string; digest: string } | undefined;
  /** Up to so many jobs whose bodies hold a sealed credential, by id. */
  sealed(after: string, limit: number): string[];
  /** The body of a job that was not removed: how long it is, without reading one that has a file of its own. */
  body(id: string): StoredBody | undefined;
  /** See the queue's: `admit` is asked before what is long is loaded. */
  read(id: string, parts: readonly Part[], admit?: Admit): Promise<Written | undefined>;
  wasPurged(id: string, now: number): boolean;
  list(filter: JobFilter): Promise<{ rows: JobRow[]; total: number }>;
  chunks(id: string, after: ChunkPlace, limit: number, bytes?: number): Chunk[];
  counters(endpoint: string): Record<Counter, number>;
  tellers(now: number): string[];
  outgoing(ask: OutgoingAsk): OutgoingPage;
  /** Whether an `expire` entry would find anything: a quiet queue writes nothing. */
  hasExpired(now: number): boolean;
  /** Makes removed text unreadable in the files. */
  scrub(): Promise<void>;
  close(): Promise<void>;
}

type Doc = Pick<Job, "policy"> & Partial<Omit<Job, "id" | "endpoint" | "state" | "createdAt" | "expiresAt">>;

/** Format of the document; see `kernel/document.ts` for how formats change. */
const FORMAT = 1;
const OPENING = `{"v":${FORMAT},"policy":`;

export function toRow(job: Job, position: number): JobRow {
  const { id, endpoint, state, createdAt, expiresAt } = job;
  return { id, endpoint, state, position, createdAt, expiresAt: expiresAt ?? null, doc: docOf(job) };
}

/**
 * What a job has in common with one that was just accepted is not written down, and most jobs that wait are nothing else. By hand,
 * since every job is written twice: half the cost of stringifying an object made for it, and without a loop over the names of fields. The
 * expiry has a column of its own.
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
  return `${doc}}`;
}

const policyTexts = new WeakMap<JobPolicy, string>();

/** Jobs share their policies, so each is stringified once. */
function policyText(policy: JobPolicy): string {
  let text = policyTexts.get(policy);
  if (text === undefined) {
    text = JSON.stringify(policy);
    policyTexts.set(policy, text);
  }
  return text;
}

/**
 * Reads many rows one after another. Most agree on their policy, which opens the document and is read once for all of them; and
 * most say nothing more.
 */
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
