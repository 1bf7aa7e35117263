/** The queue port: jobs, payloads, chunks, idempotency keys, endpoint counters and the webhook outbox, changed together. */
import type { Admit } from "../../kernel/body-memory.ts";
import type { Job, JobState, LargeOutput, NewJob, Payload } from "./job.ts";

/** Fields that a change may set. What `large` names must be staged, and belongs to the job from then on. */
export type JobFields = Partial<Omit<Job, "id" | "endpoint" | "createdAt">>;

export type Counter = "completed" | "failed" | "retried";

/** Compare-and-set: applies only while the job is in one of these states and, where named, with this holder and attempt. */
export interface JobChange {
  id: string;
  when: { states: readonly JobState[]; holder?: string | null; attempt?: number };
  set: JobFields;
  clear?: (keyof JobFields)[];
  /** Fields that this change can only lower: what is less already stays, and what is not there stays absent. */
  lower?: { retentionMs?: number; expiresAt?: number };
  /** Where a job that returns to the queue goes; the front by default, since it has waited before. */
  place?: "front" | "back";
  /** The end's result object as JSON text (`{"output":…}`); null removes the one there is. */
  result?: Payload | null;
  /** The newest progress value as JSON text; null removes it. */
  progress?: string | null;
  also?: {
    count?: Partial<Record<Counter, number>>;
    webhook?: boolean;
    dropChunks?: boolean;
    /** The job expires when the retention that it has by now is over, counted from its end. */
    expiry?: boolean;
  };
}

export type Outcome =
  | { applied: true; job: Job }
  /** `now` is absent when there is no such job. */
  | { applied: false; now?: Job };

export interface Enqueued {
  job: Job;
  /** True when an idempotency key led to a job that was there before. */
  known: boolean;
  /** Digest of the body that the known job was made from. */
  digest?: string;
}

export interface Ask {
  endpoint: string;
  holder: string;
  limit: number;
  /** How long the bodies may be together: one job is given however long its own is, then as many as fit. */
  bytes: number;
  now: number;
  /** Jobs that this holder must not get, since it may still be busy with an earlier attempt at them. */
  except?: readonly string[];
  /** Asked before bodies that are long together are loaded. Where it refuses, the jobs come without them, to be handed back. */
  admit?: Admit;
}

export interface Claimed {
  job: Job;
  /** Absent when it was not admitted. */
  body: Payload | undefined;
}

export interface Chunk {
  id: string;
  attempt: number;
  sequence: number;
  /** The worker's chunk object as JSON text. */
  text: string;
  /** The sender's own name for it: of those with the same one, in one attempt, the first is kept. Readers do not get it. */
  key?: string;
}

/** Where a chunk stands. */
export type ChunkPlace = Pick<Chunk, "attempt" | "sequence">;

export interface HolderState {
  holder: string;
  endpoint: string;
  /** How many jobs it has now. */
  jobs: number;
  /** How much longer it counts as alive, unless it is renewed. */
  leftMs: number;
}

/** What a running or waiting job has run out of. */
export type DueReason = "ttl" | "execution" | "holder";

export interface Due {
  job: Job;
  why: DueReason;
}

export interface Counts {
  inQueue: number;
  /** Those of them that do not ask for more workers. */
  lowPriorityInQueue: number;
  inProgress: number;
  completed: number;
  failed: number;
  retried: number;
}

/** What the live jobs of an endpoint ask of its workers. */
export interface Demand extends Pick<Counts, "inQueue" | "lowPriorityInQueue" | "inProgress"> {
  endpoint: string;
  /** When the next jobs in line, without those of low priority, entered the queue: the longest wait first. */
  waitingSince: number[];
}

export interface Outgoing {
  job: string;
  endpoint: string;
  url: string;
  /** Where the URL leads: messages of one target wait for each other, and no others do. */
  target: string;
  /** Attempts already made. */
  tries: number;
  dueAt: number;
}

export interface OutgoingAsk {
  endpoint: string;
  now: number;
  limit: number;
  /** The target that the last page ended with. */
  after?: string;
  /** Targets to pass over. */
  except: readonly string[];
}

export interface OutgoingPage {
  messages: Outgoing[];
  /** Where to go on; absent when there are no further targets. */
  next?: string;
}

export interface JobFilter {
  endpoint: string;
  states?: readonly JobState[];
  offset: number;
  limit: number;
  now: number;
}

export type Part = "body" | "result" | "progress";

/** A job as it was last made durable, with the parts asked for. */
export interface Reading {
  job: Job;
  /** The request body, as it was enqueued. */
  body?: Payload;
  /** The result object of a finished job. */
  result?: Payload;
  /** The newest progress value of a running job. */
  progress?: string;
}

/**
 * Worker boots, as far as the queue must know them: alive for some time, and holding jobs. That time passes by the queue's own
 * clock, not by the one that nodes tell the time from: setting that forward would end all workers at once.
 */
export interface Holders {
  /** The boot is alive for that long from now, or up to a second longer: not each of a busy worker's signs of life has to be written down. */
  renew(holder: string, endpoint: string, forMs: number): Promise<void>;
  /** The boot has ended; its jobs are due at once. */
  retire(holder: string): Promise<void>;
  /** Boots that are alive, of one endpoint or of all. */
  holders(endpoint?: string): Promise<HolderState[]>;
  /** Jobs this boot has now. */
  held(holder: string): Promise<Job[]>;
}

/** Messages about ended jobs, written together with the end. */
export interface Outbox {
  /** Endpoints with messages that are due: none is hidden by what another one has. */
  tellers(now: number): Promise<string[]>;
  /** Of each target of an endpoint the message that is due first, if it is due, in the order of the targets' names. */
  outgoing(ask: OutgoingAsk): Promise<OutgoingPage>;
  /** Removes a message, or puts it off. */
  settle(job: string, url: string, next: { tries: number; dueAt: number } | "done"): Promise<void>;
}

/** Outputs too long to be passed around: they come in and go out piece by piece. */
export interface LargeOutputs {
  /**
   * Durable once resolved, under the key that it resolves with. A change that sets a job's `large` makes it that job's, to go when the job
   * does, or when a change clears the field. When the pieces end with an error, nothing is left of them.
   */
  stage(pieces: AsyncIterable<Uint8Array>): Promise<string>;
  /** Removes what was staged, unless a job has it. What a crash leaves staged is removed as well, in time. */
  unstage(key: string): Promise<void>;
  /** Undefined when the job does not have it any more. Pieces that go away while they are read end with an error. */
  open(job: string, large: LargeOutput): Promise<AsyncIterable<Uint8Array> | undefined>;
}

export interface Queue extends Holders, Outbox, AsyncDisposable {
  readonly outputs: LargeOutputs;
  /** Durable once resolved. A known idempotency key returns the first job. */
  enqueue(jobs: NewJob[]): Promise<Enqueued[]>;
  /**
   * Up to `limit` waiting jobs whose bodies fit into `bytes`, begun for this holder: normal before low priority, returned before new, else oldest first. No job
   * is ever held by two. Written at the next `due` at the latest: a claim lost in a crash leaves the job waiting, and its worker may
   * claim it back.
   */
  claim(ask: Ask): Promise<Claimed[]>;
  /** Many compare-and-sets at once, in order. Decides nothing itself. Shown to nobody before it is durable. */
  apply(changes: JobChange[]): Promise<Outcome[]>;
  /** Chunks of a running job, durable once resolved; those of an attempt that this holder no longer has are dropped. */
  append(holder: string, chunks: Chunk[]): Promise<void>;
  /**
   * Undefined when the job is unknown or expired; "purged" while its removal is remembered. Parts that are long together are loaded when
   * `admit`, which is told their bytes, has let them in, and not at all where it refuses, with its error.
   */
  read(id: string, now: number, parts?: readonly Part[], admit?: Admit): Promise<Reading | "purged" | undefined>;
  /** Many jobs at once, in the order of their ids; undefined where one is unknown or expired. */
  find(ids: readonly string[], now: number): Promise<(Job | undefined)[]>;
  /** Up to `limit`, in order; where `bytes` is given, one at least and then as many as have no more together. */
  chunks(id: string, after: ChunkPlace, limit: number, bytes?: number): Promise<Chunk[]>;
  list(filter: JobFilter): Promise<{ jobs: Job[]; total: number }>;
  /** Removes the waiting jobs of an endpoint for good and returns their ids, which are remembered until `until`. */
  purge(endpoint: string, until: number): Promise<string[]>;
  /** Removes everything that an endpoint has, so that its text can no longer be found in the files. */
  removeEndpoint(endpoint: string): Promise<void>;
  /**
   * Shows `change` the body of every job with a sealed credential, ended ones included, and keeps what it makes of it; undefined
   * leaves a body as it is. Works in slices: broken off at any point, it is simply done again. Returns how many were changed.
   */
  reseal(change: (body: Payload, id: string) => string | undefined): Promise<number>;
  /** Jobs that ran out of something, up to `limit`. */
  due(now: number, limit: number): Promise<Due[]>;
  /** Removes up to `limit` results whose time is over and of which nobody waits to be told; returns how many. */
  expire(now: number, limit: number): Promise<number>;
  counts(endpoint: string): Promise<Counts>;
  /** Of every endpoint that has waiting or running jobs, with up to `most` entries of `waitingSince` each. */
  demand(most: number): Promise<Demand[]>;
}
