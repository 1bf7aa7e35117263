/** The queue port: jobs, payloads, chunks, idempotency keys, counters of endpoints and the webhook outbox, changed together. */
import type { Admit } from "../../kernel/body-memory.ts";
import type { Charge, Job, JobState, LargeOutput, NewJob, Payload } from "./job.ts";

/** Fields that a change may set. The output that `large` names must be staged, and belongs to the job from then on. */
export type JobFields = Partial<Omit<Job, "id" | "endpoint" | "createdAt" | "caller" | "fare" | "trace">>;

export type Counter = "completed" | "failed" | "retried";

/** A compare-and-set: it applies only while the job is in one of these states and, if given, has this holder, attempt and spent attempts. */
export interface JobChange {
  id: string;
  /** A change that counts spent attempts up or down names the number that it counts from. */
  when: { states: readonly JobState[]; holder?: string | null; attempt?: number; spent?: number };
  set: JobFields;
  clear?: (keyof JobFields)[];
  /** Fields that this change can only lower. A smaller value stays, and an absent field stays absent. */
  lower?: { retentionMs?: number; expiresAt?: number };
  /** Where a job goes that returns to the queue. The default is the front, since it has waited before. */
  place?: "front" | "back";
  /** The result object as JSON text (`{"output":…}`); null removes the present one. */
  result?: Payload | null;
  /** The newest progress value as JSON text; null removes it. */
  progress?: string | null;
  also?: {
    count?: Partial<Record<Counter, number>>;
    webhook?: boolean;
    dropChunks?: boolean;
    /** Sets the expiry: the job's retention at that time, counted from its end. */
    expiry?: boolean;
    /** Added to what the job's caller owes for this endpoint. Nothing happens if the job has no fare. */
    charge?: Charge;
  };
}

export type Outcome =
  | { applied: true; job: Job }
  /** `now` is absent when there is no such job. */
  | { applied: false; now?: Job };

export interface Enqueued {
  job: Job;
  /** True when an idempotency key led to an existing job. */
  known: boolean;
  /** The digest of the body from which the existing job was made. */
  digest?: string;
  /** True when the job began as it was inserted. `job` is as it was submitted. */
  hasBegun?: true;
}

export interface Ask {
  endpoint: string;
  holder: string;
  limit: number;
  /** How many bytes the bodies may have together. The first job is returned whatever its length, then as many as fit. */
  bytes: number;
  now: number;
  /** Jobs that this holder must not get, because it may still be working on an earlier attempt. */
  except?: readonly string[];
  /**
   * Callers take turns: one job of each that waits, then the next of each. Jobs without a caller come first, since they were submitted before
   * the endpoint was shared. Without this, callers make no difference.
   */
  inTurns?: boolean;
  /**
   * Only jobs of this caller; an empty text means those without one. With its first job the holder is bound to the caller, and gets nothing
   * of others from then on. The binding is durable before this resolves, unlike the claim. It outlives `retire`.
   */
  of?: string;
  /** Asked before bodies are loaded that are long together. If it refuses, the jobs come without bodies, and the caller hands them back. */
  admit?: Admit;
  /** Called if this claim left nothing behind for anybody. A queue that claims without a round trip need not call it. */
  drained?: () => void;
}

export interface Claimed {
  job: Job;
  /** Absent when the memory for it was refused. */
  body: Payload | undefined;
}

/** A holder that stands by: jobs may begin for it as they are inserted, without a claim. */
export interface StandbyAsk extends Pick<Ask, "endpoint" | "holder" | "limit"> {
  now(): number;
  /** Asked right before jobs begin for it. */
  isOpen(): boolean;
  /**
   * Called when jobs are about to begin for it, which ends the ask. Resolves to those jobs once they are durable, or to none if they wait
   * instead. Never fails.
   */
  begin(jobs: Promise<Claimed[]>): void;
}

export interface Chunk {
  id: string;
  attempt: number;
  sequence: number;
  /** The worker's chunk object as JSON text. */
  text: string;
  /** The sender's own name for the chunk. Of several with the same name in one attempt, the first is kept. Readers do not see it. */
  key?: string;
}

/** The place of a chunk in a job's stream. */
export type ChunkPlace = Pick<Chunk, "attempt" | "sequence">;

export interface HolderState {
  holder: string;
  endpoint: string;
  /** How many jobs it has now. */
  jobs: number;
  /** How much longer it counts as alive, unless it is renewed. */
  leftMs: number;
  /** The caller that it is bound to, if any. See `Ask.of`. */
  caller?: string;
}

/** What a running or waiting job has run out of. */
export type DueReason = "ttl" | "execution" | "holder";

export interface Due {
  job: Job;
  why: DueReason;
}

export interface Counts {
  inQueue: number;
  /** The part of `inQueue` that does not ask for more workers. */
  lowPriorityInQueue: number;
  inProgress: number;
  completed: number;
  failed: number;
  retried: number;
}

/** What the live jobs of an endpoint need from its workers. */
export interface Demand extends Pick<Counts, "inQueue" | "lowPriorityInQueue" | "inProgress"> {
  endpoint: string;
  /** When the next jobs in line entered the queue, longest wait first, without those of low priority. */
  waitingSince: number[];
}

/** The live jobs of one caller of a shared endpoint. */
export interface CallerCounts {
  caller: string;
  inQueue: number;
  inProgress: number;
}

/** The sum of what ended in one hour for one caller, endpoint and name. */
export interface Charges extends Charge {
  caller: string;
  endpoint: string;
  share: string;
}

/** What is added to the charges, with the API key that it is also counted for. */
export interface NewCharges extends Charges {
  key?: string | undefined;
}

/** Charges of a caller, of endpoints, or of both. */
export interface ChargeFilter {
  caller?: string;
  endpoints?: readonly string[];
  /** Hours that begin within this time. */
  from: number;
  to: number;
}

/** The messages of one caller's jobs on one endpoint. They wait for nobody else's. */
export interface Teller {
  endpoint: string;
  /** Empty for jobs without a caller. */
  caller: string;
}

export interface TellersAsk {
  now: number;
  /** How many tellers are looked at, whether they have due messages or not. */
  limit: number;
  /** The teller with which the last page ended. */
  after?: Teller | undefined;
}

export interface TellersPage {
  /** Those that have due messages, sorted by endpoint and caller. */
  tellers: Teller[];
  /** Where the next page begins; absent when there are no more. */
  next?: Teller;
}

export interface Outgoing extends Teller, MessageState {
  job: string;
  url: string;
  /** Where the URL leads. Messages of one target wait for each other, and only those do. */
  target: string;
}

export interface MessageState {
  /** Attempts made so far. */
  tries: number;
  dueAt: number;
}

export interface OutgoingAsk extends Teller {
  now: number;
  limit: number;
  /** The target with which the last page ended. */
  after?: string | undefined;
  /** Targets to skip. */
  except: readonly string[];
}

export interface OutgoingPage {
  messages: Outgoing[];
  /** Where the next page begins; absent when there are no more targets. */
  next?: string;
}

export interface JobFilter {
  endpoint: string;
  states?: readonly JobState[];
  /** Only jobs that this holder has, or had last. */
  holder?: string;
  /** Only jobs that this account submitted. */
  caller?: string;
  offset: number;
  limit: number;
  now: number;
}

export type Part = "body" | "result" | "progress";

/** A job in its last durable state, with the parts asked for. */
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
 * Worker boots, as far as the queue must know them: they are alive for some time and hold jobs. That time passes by the queue's own clock,
 * not by the nodes' time of day: setting that forward would end all workers at once.
 */
export interface Holders {
  /**
   * The boot is alive for that long from now, or up to a second longer, so that not every sign of life of a busy worker must be written.
   */
  renew(holder: string, endpoint: string, forMs: number): Promise<void>;
  /** Says that the boot has ended. Its jobs are due at once. */
  retire(holder: string): Promise<void>;
  /** Says that nothing of the boot is left and its name is never used again, so its binding is forgotten. */
  unbind(holder: string): Promise<void>;
  /** Returns the boots that are alive, of one endpoint or of all. */
  holders(endpoint?: string): Promise<HolderState[]>;
  /** Returns the jobs that this boot has now. */
  held(holder: string): Promise<Job[]>;
}

/** Messages about ended jobs, which are written together with the end. */
export interface Outbox {
  /** Returns one page of those that have due messages. However many messages one has, the others are listed too. */
  tellers(ask: TellersAsk): Promise<TellersPage>;
  /** Returns the first message of each target of a teller if it is due, sorted by target. */
  outgoing(ask: OutgoingAsk): Promise<OutgoingPage>;
  /**
   * Removes a message, or postpones it. With `seen`, only while it has that many tries and is due then: a job that was retried may have
   * ended again, and that message takes the place of the one that is being sent.
   */
  settle(job: string, url: string, next: MessageState | "done", seen?: MessageState): Promise<void>;
}

/** Outputs that are too long to pass around. They arrive and leave in pieces. */
export interface LargeOutputs {
  /**
   * Durable once resolved, under the returned key. A change that sets a job's `large` gives the output to that job. It is removed with the
   * job, or when a change clears the field. If the pieces end with an error, nothing of them is kept.
   */
  stage(pieces: AsyncIterable<Uint8Array>): Promise<string>;
  /** Removes a staged output, unless a job has it. Outputs that a crash left staged are also removed, after some time. */
  unstage(key: string): Promise<void>;
  /** Returns undefined when the job no longer has the output. If the output is removed while it is read, the pieces end with an error. */
  open(job: string, large: LargeOutput): Promise<AsyncIterable<Uint8Array> | undefined>;
}

export interface Queue extends Holders, Outbox, AsyncDisposable {
  readonly outputs: LargeOutputs;
  /** Durable once resolved. A known idempotency key returns the first job. */
  enqueue(jobs: NewJob[]): Promise<Enqueued[]>;
  /**
   * Claims up to `limit` waiting jobs whose bodies fit into `bytes`, and begins an attempt of each for this holder. Normal priority comes
   * before low, returned jobs before new ones, and older before newer. No job ever has two holders. A claim is written at the next `due` at
   * the latest. If a crash loses it, the job waits again, and its worker may claim it back.
   */
  claim(ask: Ask): Promise<Claimed[]>;
  /**
   * Until the returned function is called, jobs that are enqueued through this object may begin for the holder as they are inserted, as if it
   * had claimed them then. None begins while another job of the endpoint waits, and none that has a caller. The others wait to be claimed.
   * Absent where a claim costs little.
   */
  standBy?(ask: StandbyAsk): () => void;
  /** Makes many compare-and-sets at once, in order. The queue decides nothing itself. Nobody sees a change before it is durable. */
  apply(changes: JobChange[]): Promise<Outcome[]>;
  /** Adds chunks of running jobs, durable once resolved. Chunks of an attempt that this holder no longer has are dropped. */
  append(holder: string, chunks: Chunk[]): Promise<void>;
  /**
   * Returns undefined when the job is unknown or expired, and "purged" while its removal is remembered. If the parts are long together,
   * `admit` is asked with their bytes before they are loaded. If it refuses, this throws its error and loads nothing.
   */
  read(id: string, now: number, parts?: readonly Part[], admit?: Admit): Promise<Reading | "purged" | undefined>;
  /** Finds many jobs at once, in the order of the ids; undefined for an unknown or expired one. */
  find(ids: readonly string[], now: number): Promise<(Job | undefined)[]>;
  /** Returns up to `limit` chunks in order. If `bytes` is given: at least one, and then as many as fit into it together. */
  chunks(id: string, after: ChunkPlace, limit: number, bytes?: number): Promise<Chunk[]>;
  list(filter: JobFilter): Promise<{ jobs: Job[]; total: number }>;
  /** Removes the waiting jobs of an endpoint for good. Returns their ids. Each is remembered for as long as its result would have been kept. */
  purge(endpoint: string, now: number): Promise<string[]>;
  /** Removes everything of an endpoint, so that its text can no longer be found in the files. */
  removeEndpoint(endpoint: string): Promise<void>;
  /**
   * Passes the body of every job with a sealed credential to `change`, also of ended jobs, and stores what it returns; undefined leaves a
   * body unchanged. Works in slices; if it is interrupted, it can simply be repeated. Returns how many bodies changed.
   */
  reseal(change: (body: Payload, id: string) => string | undefined): Promise<number>;
  /** Returns up to `limit` jobs that ran out of something. */
  due(now: number, limit: number): Promise<Due[]>;
  /** Removes up to `limit` expired jobs, except those with messages still to be sent. Returns how many. */
  expire(now: number, limit: number): Promise<number>;
  counts(endpoint: string): Promise<Counts>;
  /** Returns the callers with waiting or running jobs, sorted by name. */
  callers(endpoint: string): Promise<CallerCounts[]>;
  /** Adds to what a caller owes for something that is no job. Durable once resolved. */
  charge(charges: NewCharges): Promise<void>;
  /** Returns what was charged, sorted by hour. Charges stay when their endpoint is removed. */
  charges(filter: ChargeFilter): Promise<Charges[]>;
  /** Returns what was charged for an API key, in 1e-9 USD, in hours from this one on. Only keys that a fare names are counted. */
  chargedByKey(key: string, fromHour: number): Promise<number>;
  /** Returns the demand of every endpoint with waiting or running jobs, with up to `most` entries of `waitingSince` each. */
  demand(most: number): Promise<Demand[]>;
}
