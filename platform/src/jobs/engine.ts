/** The job engine as its clients see it: submit, wait, read, cancel, retry, purge. */

import type { Admit } from "../kernel/body-memory.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Failed } from "../kernel/failed.ts";
import type { Gone } from "../kernel/gone.ts";
import { jobId, jobIdParts } from "../kernel/ids.ts";
import { isProblem, type Problem, problem } from "../kernel/problem.ts";
import type { Random } from "../kernel/random.ts";
import type { Tracing } from "../kernel/tracing.ts";
import { type Fare, type Job, jobLifecycle, type NewJob, type Payload } from "../ports/queue/job.ts";
import type { Counts, Due, JobChange, Outcome, Part, Queue, Reading } from "../ports/queue/queue.ts";
import type { Signals } from "../ports/signals/signals.ts";
import { DEFAULT_TTL_MS } from "./model.ts";
import { type CancelledBy, cancelling, retrying, settling, shortening } from "./moves.ts";
import type { RequestTerms } from "./request.ts";
import { keptFor, RETENTION_MS, type Retention } from "./retention.ts";
import { streamedSoFar } from "./streamed-tokens.ts";
import type { JobTally } from "./tally.ts";
import { type Ended, Waiters } from "./waiters.ts";

/** The limits that apply to jobs that set none themselves. */
export interface EndpointTerms {
  id: string;
  executionTimeoutMs: number;
}

export interface Submission {
  endpoint: EndpointTerms;
  terms: RequestTerms;
  body: Payload;
  sealed?: true;
  mode: keyof Retention;
  idempotency?: { key: string; digest: string };
  /** The trace that the job belongs to, as a `traceparent`. */
  trace?: string;
  /** Who submits it, where the endpoint is shared. */
  by?: Submitter;
}

/** The account that submits a job to a shared endpoint. */
export interface Submitter {
  account: string;
  /** What it pays; absent for the endpoint's own account. */
  fare?: Fare;
}

export interface EngineParts {
  queue: Queue;
  signals: Signals;
  clock: Clock;
  random: Random;
  failed: Failed;
  /** Reports a new job in this endpoint's queue, so that the fleet can start a worker. Runs for every job, so it must be fast. */
  wanted?: (endpoint: string) => void;
  /** Counts submitted and ended jobs. Without it, nothing is counted. */
  tally?: JobTally;
  /** Records the traces of jobs. Without it, none are recorded. */
  tracing?: Pick<Tracing, "jobEnded"> | undefined;
  /** Whether the endpoint is shared, so that its callers take turns. Runs for every claim, so it must be fast. */
  isShared?: (endpoint: string) => boolean | Promise<boolean>;
  /** How long results are kept, other than by default. */
  retention?: Retention | undefined;
}

/** A request that waits for a job's end. */
export interface Waiting {
  waitMs: number;
  gone: Gone;
  /** Called with the job's id once the job exists. */
  known?: (id: string) => void;
  /** Called before a long result is loaded. */
  admit?: Admit;
  /** Called with the size of a long result that is already in memory. */
  note?: (bytes: number) => void;
}

export class Engine implements AsyncDisposable {
  readonly #queue: Queue;
  readonly #signals: Signals;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #wanted: (endpoint: string) => void;
  readonly #tally: JobTally | undefined;
  readonly waiters: Waiters;
  readonly retention: Retention;

  constructor(parts: EngineParts) {
    this.#queue = parts.queue;
    this.#signals = parts.signals;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#wanted = parts.wanted ?? (() => {});
    this.#tally = parts.tally;
    this.retention = parts.retention ?? RETENTION_MS;
    const look = {
      ended: (id: string) => this.#ended(id),
      endedAmong: (ids: readonly string[]) => this.#endedAmong(ids),
      removed: (id: string, endpoint: string) => this.#removed(id, endpoint),
    };
    this.waiters = new Waiters({ ...parts, look });
  }

  newId(mode: Submission["mode"], now = this.#clock.now()): string {
    return jobId(now, this.#random, { sync: mode === "runsync" || mode === "runsyncWithWait" });
  }

  /** A submitted job is durable: once this resolves, nothing can lose the job. */
  async submit(submission: Submission, given?: string): Promise<Job> {
    const now = this.#clock.now();
    const id = given ?? this.newId(submission.mode, now);
    const [enqueued] = await this.#queue.enqueue([newJob(submission, id, now, this.retention)]);
    const { known, digest, job: accepted, hasBegun } = enqueued!;
    if (known && digest !== submission.idempotency?.digest) {
      throw problem("conflicting", "this Idempotency-Key was already used with a different request body");
    }
    if (!known) this.#queued(submission.endpoint.id, 1, !hasBegun);
    return accepted;
  }

  /** Submits many jobs of one endpoint in their order. Jobs already submitted under the same key are unchanged. */
  async submitAll(endpoint: EndpointTerms, submissions: readonly (Submission & { id: string })[]): Promise<void> {
    const now = this.#clock.now();
    const jobs = submissions.map((submission) => newJob(submission, submission.id, now, this.retention));
    const enqueued = await this.#queue.enqueue(jobs);
    const accepted = enqueued.filter(({ known }) => !known);
    this.#queued(endpoint.id, accepted.length, !accepted.every(({ hasBegun }) => hasBegun));
  }

  /**
   * Returns the job when it has ended, or as it is when the time is up. Listening begins before the job exists, so no end is missed. The
   * submission's body is dropped once it is durable, because nobody needs it during a wait that can take minutes.
   */
  async submitAndWait(submission: Submission, waiting: Waiting, id: string): Promise<Ended> {
    const endpoint = submission.endpoint.id;
    const wait = this.waiters.wait(id, endpoint, waiting.waitMs, waiting.gone);
    try {
      const job = await this.submit(submission, id);
      if (job.id !== id) return await this.#waitForKnown(job.id, submission, waiting, id);
      submission.body = "";
      waiting.known?.(id);
      return await this.#end(wait, endpoint, id, waiting);
    } finally {
      wait.leave();
    }
  }

  /** Waits for the job that has the submission's key already. If it expires just now, no job has the key, and the submission makes one. */
  async #waitForKnown(known: string, submission: Submission, waiting: Waiting, id: string): Promise<Ended> {
    const dropBody = (job: string) => {
      submission.body = "";
      waiting.known?.(job);
    };
    try {
      return await this.waitFor(submission.endpoint.id, known, { ...waiting, known: dropBody });
    } catch (error) {
      if (!isProblem(error, "not-found") || submission.body === "") throw error;
      return this.submitAndWait(submission, waiting, id);
    }
  }

  /** Does the same for a job that already exists. */
  async waitFor(endpoint: string, id: string, waiting: Waiting): Promise<Ended> {
    const wait = this.waiters.wait(id, endpoint, waiting.waitMs, waiting.gone);
    try {
      const { job, result } = await this.read(endpoint, id, ["result"], waiting.admit);
      waiting.known?.(id);
      if (jobLifecycle.isFinal(job.state)) return { job, result };
      return await this.#end(wait, endpoint, id, waiting);
    } finally {
      wait.leave();
    }
  }

  async read(endpoint: string, id: string, parts: readonly Part[] = [], admit?: Admit): Promise<Reading> {
    const reading = await this.#queue.read(id, this.#clock.now(), parts, admit);
    if (reading === "purged") throw problem("not-found", "job not found: it was removed by purge-queue");
    if (!reading || !isOf(reading.job, endpoint)) throw this.#absent(id);
    return reading;
  }

  /** Throws as for an unknown job, unless this account submitted it. */
  async assertSubmittedBy(endpoint: string, id: string, account: string): Promise<void> {
    const { job } = await this.read(endpoint, id);
    if (job.caller !== account) throw this.#absent(id);
  }

  /**
   * The first end wins: cancelling a finished job changes nothing and returns its real state. `byCaller` is for a guest, who pays for what
   * it had of the job.
   */
  async cancel(endpoint: string, id: string, byCaller = false): Promise<Job> {
    let { job } = await this.read(endpoint, id);
    for (;;) {
      const by: CancelledBy = byCaller ? { streamed: await streamedSoFar(this.#queue, job) } : "its endpoint";
      const [outcome] = await this.#queue.apply([cancelling(job, this.#clock.now(), by)]);
      const told = this.#told(outcome!);
      if (!told) throw this.#absent(id);
      if (outcome!.applied || !jobLifecycle.can(told.state, "cancel")) return told;
      // The job began or went back to the queue meanwhile.
      job = told;
    }
  }

  /** Cancels many jobs at once. Jobs that have started meanwhile continue. */
  async cancelWaiting(jobs: readonly Job[]): Promise<void> {
    const now = this.#clock.now();
    const when: JobChange["when"] = { states: ["IN_QUEUE"] };
    const outcomes = await this.#queue.apply(jobs.map((job) => ({ ...cancelling(job, now), when })));
    for (const outcome of outcomes) this.#told(outcome);
  }

  async retry(endpoint: string, id: string): Promise<Job> {
    const { job } = await this.read(endpoint, id);
    if (!jobLifecycle.can(job.state, "retry")) {
      throw problem(
        "wrong-state",
        `job is not in a retryable state: it is ${job.state}, and only FAILED or TIMED_OUT jobs can be retried`,
      );
    }
    const [outcome] = await this.#queue.apply([retrying(job, this.#clock.now())]);
    if (!outcome!.applied) throw problem("wrong-state", "job is not in a retryable state: it was changed a moment ago");
    this.#returned(endpoint);
    return outcome!.job;
  }

  async purge(endpoint: string): Promise<number> {
    const now = this.#clock.now();
    const ids = await this.#queue.purge(endpoint, now);
    for (const id of ids) this.waiters.tell({ job: removedJob(id, endpoint, now), result: undefined });
    return ids.length;
  }

  async shorten(endpoint: string, id: string, ttlMs: number): Promise<void> {
    const { job } = await this.read(endpoint, id);
    await this.#queue.apply(shortening(job, ttlMs, this.#clock.now()));
  }

  /** Stores how far a stream was read, so that the next reader continues from there. */
  async moveCursor(
    { id, attempt: current }: Job,
    { attempt, sequence }: { attempt: number; sequence: number },
  ): Promise<void> {
    const when = { states: jobLifecycle.states, attempt: current };
    await this.#queue.apply([{ id, when, set: { cursor: { attempt, sequence } } }]);
  }

  counts(endpoint: string): Promise<Counts> {
    return this.#queue.counts(endpoint);
  }

  /** Removes everything that the endpoint's jobs left behind. Requests that wait for one of them learn that it is gone. */
  async removeEndpoint(endpoint: string): Promise<void> {
    await this.#queue.removeEndpoint(endpoint);
    this.#signals.emit(`removed:${endpoint}`);
  }

  /** Ends or returns jobs that exceeded a limit. This is safe to repeat, and safe when two nodes do it at once. */
  async settleDue(due: Due[]): Promise<void> {
    if (due.length === 0) return;
    const now = this.#clock.now();
    const read = ({ job, why }: Due) => (why === "holder" ? undefined : streamedSoFar(this.#queue, job));
    const streamed = await Promise.all(due.map(read));
    const outcomes = await this.#queue.apply(due.map((one, i) => settling(one, now, streamed[i])));
    for (const [i, outcome] of outcomes.entries()) {
      this.#told(outcome);
      const { job } = due[i]!;
      if (!outcome.applied) continue;
      if (outcome.job.state === "IN_QUEUE") this.#returned(job.endpoint);
      else if (job.holder) this.#signals.emit(`stop:${job.holder}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.waiters[Symbol.asyncDispose]();
  }

  #queued(endpoint: string, jobs: number, someWait: boolean): void {
    this.#tally?.submitted(jobs);
    // Jobs that began at once need nobody any more.
    if (!someWait) return;
    // The fleet is asked before a waiting worker is called for this job. Afterwards nobody could tell whether one had been waiting.
    this.#wanted(endpoint);
    this.#signals.emit(`work:${endpoint}`);
  }

  /** Does the same for a job that comes back for another attempt. */
  #returned(endpoint: string): void {
    this.#wanted(endpoint);
    this.waiters.returned(endpoint);
  }

  /** Announces an end that was just made, and returns the job as it now is. */
  #told(outcome: Outcome): Job | undefined {
    if (!outcome.applied) return outcome.now;
    const { job } = outcome;
    if (!jobLifecycle.isFinal(job.state)) return job;
    this.waiters.tell({ job, result: undefined });
    if (job.holder && job.state === "CANCELLED") this.#signals.emit(`stop:${job.holder}`);
    return job;
  }

  /**
   * An expired job leaves nothing behind, but its id says when it was made. The message depends on the id alone, so clients learn nothing
   * about the jobs of other accounts.
   */
  #absent(id: string): Problem {
    const made = jobIdParts(id);
    if (!made || made.madeAt > this.#clock.now()) return problem("not-found", "job not found");
    const kept = keptFor(this.retention, made.sync);
    const less = "or for less where 'ttl' of /status said so";
    return problem("not-found", `job not found: it is unknown here, or it has expired: ${kept}, ${less}`);
  }

  async #end(
    wait: Pick<ReturnType<Waiters["wait"]>, "ended">,
    endpoint: string,
    id: string,
    waiting: Waiting,
  ): Promise<Ended> {
    const ended = await wait.ended;
    if (!ended || ended.isUnread) return this.#now(endpoint, id, waiting.admit);
    if (ended.result) waiting.note?.(ended.result.length);
    return ended;
  }

  /** A job that existed and no longer does was purged or removed with its endpoint. */
  async #now(endpoint: string, id: string, admit: Admit | undefined): Promise<Ended> {
    const reading = await this.#queue.read(id, this.#clock.now(), ["result"], admit);
    if (typeof reading === "object") return { job: reading.job, result: reading.result };
    return { job: removedJob(id, endpoint, this.#clock.now()), result: undefined };
  }

  /** Reads for a waiter the end of a job that ended on another node. */
  async #ended(id: string): Promise<Ended | undefined> {
    const reading = await this.#queue.read(id, this.#clock.now());
    if (reading === "purged") return { job: removedJob(id, "", this.#clock.now()), result: undefined };
    if (!reading || !jobLifecycle.isFinal(reading.job.state)) return undefined;
    return { job: reading.job, result: undefined, isUnread: true };
  }

  async #endedAmong(ids: readonly string[]): Promise<Ended[]> {
    const jobs = await this.#queue.find(ids, this.#clock.now());
    const ended: Ended[] = [];
    for (const [i, job] of jobs.entries()) {
      // Few are not found: those that are being submitted, and those that were removed.
      const end = job ? undefined : await this.#ended(ids[i]!);
      if (end) ended.push(end);
      else if (job && jobLifecycle.isFinal(job.state)) ended.push({ job, result: undefined, isUnread: true });
    }
    return ended;
  }

  async #removed(id: string, endpoint: string): Promise<Ended | undefined> {
    const now = this.#clock.now();
    const reading = await this.#queue.read(id, now);
    return typeof reading === "object" ? undefined : { job: removedJob(id, endpoint, now), result: undefined };
  }
}

/** Links to outputs of guests have the name by which the endpoint is shared. No name looks like an id. */
const isOf = ({ endpoint, fare }: Job, address: string) => endpoint === address || fare?.share === address;

function newJob(submission: Submission, id: string, createdAt: number, retention: Retention): NewJob {
  const { endpoint, terms, body, sealed, idempotency, trace, by } = submission;
  const job: NewJob = { id, endpoint: endpoint.id, policy: policyOf(submission, retention), createdAt, body };
  if (terms.webhooks.length > 0) job.webhooks = terms.webhooks;
  if (sealed) job.sealed = sealed;
  if (trace !== undefined) job.trace = trace;
  if (idempotency) job.idempotency = idempotency;
  return by ? submittedBy(by, job) : job;
}

/** Keys of guests are their own. No key contains a line break, so nobody can name one of another account. */
function submittedBy({ account, fare }: Submitter, job: NewJob): NewJob {
  job.caller = account;
  if (!fare) return job;
  const { idempotency: own } = job;
  return { ...job, fare, ...(own && { idempotency: { ...own, key: `${account}\n${own.key}` } }) };
}

function policyOf({ endpoint, terms, mode, by }: Submission, retention: Retention) {
  const asked = terms.executionTimeoutMs ?? endpoint.executionTimeoutMs;
  return {
    ttlMs: terms.ttlMs ?? DEFAULT_TTL_MS,
    // Workers cost the account that shares the endpoint, so its own limit holds for guests.
    executionTimeoutMs: by?.fare ? Math.min(asked, endpoint.executionTimeoutMs) : asked,
    retentionMs: retention[mode],
    errorRetries: terms.errorRetries,
    lowPriority: terms.lowPriority,
  };
}

/** A removed job has no record any more. Requests that wait for it are told that it was cancelled. */
function removedJob(id: string, endpoint: string, now: number): Job {
  const policy = { ttlMs: 0, executionTimeoutMs: 0, retentionMs: 0, errorRetries: 0, lowPriority: false };
  const times = { createdAt: now, ttlAt: now, queuedAt: now, endedAt: now };
  const state = jobLifecycle.to("cancel");
  return { id, endpoint, state, policy, ...times, attempt: 0, spent: 0, errorsRetried: 0, retried: 0 };
}
