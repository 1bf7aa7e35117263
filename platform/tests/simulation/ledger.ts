/** The server's own record, read from its journal: its decisions, which of them are on the disk, and whether each was allowed. */
import { type Job, type JobState, jobLifecycle } from "../../src/ports/queue/job.ts";
import { type Entry, fromRow, type JobRow } from "../../src/ports/queue/journal.ts";
import { claimOf } from "../../src/ports/queue/live-job.ts";
import { brokenRule, type Circumstances } from "./legal.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";

/** A state of a job that was on the disk. */
export interface Durable {
  job: Job;
  result: string | undefined;
}

export interface Track {
  id: string;
  endpoint: string;
  key: string | undefined;
  /** The decided state, on the disk or not; undefined when there is no such job. */
  decided: Durable | undefined;
  durable: Durable | undefined;
  /** Every state that was on the disk, oldest first. */
  history: Durable[];
  /** Writes for which the server has not got an answer yet. */
  unanswered: number;
  removed: "purged" | "expired" | undefined;
  /** What clients asked for and the server has begun to do. */
  asked: { retry: number; cancel: number; shortenings: number[] };
  retries: number;
  retriedAtMs: number;
  /** Claims made by a take since the last retry, as `<worker>/<attempt>`. */
  taken: Set<string>;
  /** Which worker got which attempt, since the server started. */
  handedOut: Map<number, string>;
  /** The job as its last claim left it, since the server started. */
  begun: Job | undefined;
}

export class Ledger {
  readonly tracks = new Map<string, Track>();
  /** Jobs whose decided state is not final, or that have unanswered writes. */
  readonly #open = new Set<Track>();
  /** Ended jobs on the disk, by endpoint. */
  readonly #ended = new Map<string, { completed: number; failed: number }>();
  readonly #trace: Trace;
  readonly #timeline: Timeline;
  readonly #circumstances: Circumstances;
  /** The jobs that were read from rows which are not on the disk yet. */
  readonly #read = new Map<JobRow, Job>();
  purgesAsked = 0;

  constructor(trace: Trace, timeline: Timeline, circumstances: Circumstances) {
    this.#trace = trace;
    this.#timeline = timeline;
    this.#circumstances = circumstances;
  }

  track(id: string): Track {
    let track = this.tracks.get(id);
    if (!track) {
      track = {
        id,
        endpoint: "",
        key: undefined,
        decided: undefined,
        durable: undefined,
        history: [],
        unanswered: 0,
        removed: undefined,
        asked: { retry: 0, cancel: 0, shortenings: [] },
        retries: 0,
        retriedAtMs: -1,
        taken: new Set(),
        handedOut: new Map(),
        begun: undefined,
      };
      this.tracks.set(id, track);
    }
    return track;
  }

  /** Records entries that the server hands to its journal: these are its decisions. */
  decide(entries: Entry[]): void {
    for (const entry of entries) {
      for (const id of idsOf(entry)) this.track(id).unanswered++;
      if (entry.do === "insert") this.#inserts(entry);
      else if (entry.do === "update") this.#updates(entry);
      else if (entry.do === "remove") this.#removes(entry.ids);
      else if (entry.do === "chunks") this.#appends(entry);
      for (const id of idsOf(entry)) this.#follow(this.track(id));
    }
  }

  /** Records that the server has begun a job. The decision holds at once, although the server writes it only later. */
  begin(job: Job): void {
    const track = this.track(job.id);
    const before = track.decided;
    // The report comes a moment after the decision, and another change may have come in between.
    if (before?.job.state !== "IN_QUEUE" || before.job.attempt >= job.attempt) return;
    track.begun = job;
    this.#change(track, before, { job, result: before.result }, undefined);
    this.#follow(track);
  }

  /** Records that the entries are on the disk, whether or not the server learns of it. */
  commit(entries: Entry[]): void {
    for (const entry of entries) {
      if (entry.do === "insert")
        this.#keep(this.track(entry.row.id), { job: this.#written(entry.row), result: undefined });
      else if (entry.do === "update") this.#commitUpdate(entry);
      else if (entry.do === "remove") for (const id of entry.ids) this.#gone(this.track(id), "purged");
      else if (entry.do === "expire") this.#expires(entry.now);
    }
  }

  /** Records that the server learned that the entries are on the disk. */
  answer(entries: Entry[]): void {
    for (const entry of entries) {
      for (const id of idsOf(entry)) {
        const track = this.track(id);
        track.unanswered--;
        this.#follow(track);
      }
    }
  }

  /** After a crash, decisions that are not on the disk were never made. */
  lose(): void {
    for (const track of this.tracks.values()) {
      track.decided = track.durable;
      track.unanswered = 0;
      track.handedOut.clear();
      track.begun = undefined;
      this.#follow(track);
    }
  }

  /** After a failed write, decisions that are not on the disk were never made, except for claims. */
  loseWrites(): void {
    for (const track of this.tracks.values()) {
      const { durable, begun } = track;
      const isClaimed = durable?.job.state === "IN_QUEUE" && begun?.attempt === durable.job.attempt + 1;
      track.decided = isClaimed ? { job: { ...durable.job, ...claimOf(begun) }, result: durable.result } : durable;
      track.unanswered = 0;
      this.#follow(track);
    }
  }

  /** A job that waits both on the disk and in the server's memory, so that a worker that asks must get one. */
  waiting(endpoint: string, apart: ReadonlySet<string> | undefined): Track | undefined {
    for (const track of this.#open) {
      const waits = track.endpoint === endpoint && track.unanswered === 0 && track.decided?.job.state === "IN_QUEUE";
      if (waits && !apart?.has(track.id)) return track;
    }
    return undefined;
  }

  /** Jobs that have not ended, or whose end the server does not know to be on the disk yet. */
  get unfinished(): ReadonlySet<Track> {
    return this.#open;
  }

  /** The expected counters of an endpoint. */
  counts(endpoint: string) {
    const states = [...this.#open]
      .filter((track) => track.endpoint === endpoint)
      .map(({ decided }) => decided?.job.state);
    const inState = (state: JobState) => states.filter((one) => one === state).length;
    const ended = this.#ended.get(endpoint) ?? { completed: 0, failed: 0 };
    return { inQueue: inState("IN_QUEUE"), inProgress: inState("IN_PROGRESS"), ...ended };
  }

  #decided(row: JobRow): Job {
    const job = fromRow(row);
    this.#read.set(row, job);
    return job;
  }

  /** Most rows come to the disk as they were decided, and need not be read twice. */
  #written(row: JobRow): Job {
    const job = this.#read.get(row) ?? fromRow(row);
    this.#read.delete(row);
    return job;
  }

  #follow(track: Track): void {
    const isLive = track.decided && !jobLifecycle.isFinal(track.decided.job.state);
    // A purge that is not on the disk yet is not over either.
    const isOpen = isLive || track.unanswered > 0;
    if (isOpen) this.#open.add(track);
    else this.#open.delete(track);
  }

  /** The latest time that the clock has ever shown. */
  get highest(): number {
    return this.#timeline.highest;
  }

  /** Whether the job is gone according to the disk. */
  isGone({ removed, durable }: Track): boolean {
    return removed !== undefined || isOver(durable, this.#timeline.highest);
  }

  #inserts({ row, key }: Extract<Entry, { do: "insert" }>): void {
    const track = this.track(row.id);
    const job = this.#decided(row);
    track.endpoint = row.endpoint;
    track.key = key?.scoped;
    track.decided = { job, result: undefined };
    if (job.createdAt !== this.#timeline.wall) this.#trace.broken("was not created now", row.id);
    if (job.ttlAt !== job.createdAt + job.policy.ttlMs) this.#trace.broken("has a wrong time to live", row.id);
    this.#trace.note("decided IN_QUEUE", row.id);
    for (const other of this.tracks.values()) {
      if (
        key &&
        other !== track &&
        other.key === key.scoped &&
        other.decided &&
        !isOver(other.decided, this.#timeline.highest)
      )
        this.#trace.broken(`has the idempotency key of ${this.#trace.name(other.id)}`, row.id);
    }
  }

  #updates({ row, result }: Extract<Entry, { do: "update" }>): void {
    const track = this.track(row.id);
    const job = this.#decided(row);
    const claimed = track.decided && claimBetween(track.decided.job, job, this.#timeline.wall);
    if (claimed) this.begin(claimed);
    const before = track.decided;
    if (!before) {
      this.#trace.broken(`was changed to ${job.state} when there was no such job`, row.id);
      return;
    }
    const given = result as string | null | undefined;
    this.#change(track, before, { job, result: given === undefined ? before.result : (given ?? undefined) }, given);
  }

  #change(track: Track, before: Durable, after: Durable, given: string | null | undefined): void {
    const { job } = after;
    const broken = brokenRule(track, before, after, given, this.#circumstances);
    if (broken) this.#trace.broken(broken, job.id);
    if (jobLifecycle.isFinal(before.job.state) && job.state === "IN_QUEUE") {
      track.retries++;
      track.retriedAtMs = this.#timeline.elapsed;
      track.taken.clear();
    }
    track.decided = after;
    const who = job.state === "IN_PROGRESS" ? ` by ${job.holder}` : "";
    this.#trace.note(`decided ${job.state}${who}, attempt ${job.attempt}, spent ${job.spent}`, job.id);
  }

  #removes(ids: string[]): void {
    for (const id of ids) {
      const track = this.track(id);
      const state = track.decided?.job.state;
      if (state !== "IN_QUEUE") this.#trace.broken(`was purged while ${state ?? "not there"}`, id);
      if (this.purgesAsked === 0) this.#trace.broken("was purged when nobody asked for it", id);
      track.decided = undefined;
      this.#trace.note("decided to purge", id);
    }
  }

  #appends({ chunks }: Extract<Entry, { do: "chunks" }>): void {
    for (const { id, attempt, text } of chunks) {
      const job = this.track(id).decided?.job;
      const run = this.#circumstances.runIn(text);
      if (job?.state !== "IN_PROGRESS" || job.attempt !== attempt || run?.worker !== job.holder)
        this.#trace.broken(`took a chunk of ${run?.name}, which does not have the job`, id);
    }
  }

  #commitUpdate({ row, result }: Extract<Entry, { do: "update" }>): void {
    const track = this.track(row.id);
    if (!track.durable) {
      this.#trace.broken("was changed on the disk when it was no longer there", row.id);
      return;
    }
    const before = track.durable.result;
    const after = {
      job: this.#written(row),
      result: result === undefined ? before : ((result as string | null) ?? undefined),
    };
    this.#count(track.durable.job, after.job);
    this.#keep(track, after);
  }

  #keep(track: Track, durable: Durable): void {
    track.durable = durable;
    track.history.push(durable);
    this.#trace.note(`on the disk: ${durable.job.state}`, track.id);
  }

  #count(before: Job, after: Job): void {
    if (before.state === after.state) return;
    const ended = this.#ended.get(after.endpoint) ?? { completed: 0, failed: 0 };
    this.#ended.set(after.endpoint, ended);
    if (after.state === "COMPLETED") ended.completed++;
    if (after.state === "FAILED" || after.state === "TIMED_OUT") ended.failed++;
  }

  #expires(now: number): void {
    for (const track of this.tracks.values()) {
      if (!isOver(track.durable, now)) continue;
      if (!isOver(track.durable, this.#timeline.highest)) this.#trace.broken("expired too early", track.id);
      this.#gone(track, "expired");
      track.decided = undefined;
    }
  }

  #gone(track: Track, why: "purged" | "expired"): void {
    track.durable = undefined;
    track.removed = why;
    this.#trace.note(`${why} on the disk`, track.id);
  }
}

function isOver(durable: Durable | undefined, now: number): boolean {
  return durable?.job.expiresAt !== undefined && durable.job.expiresAt <= now;
}

function idsOf(entry: Entry): string[] {
  if (entry.do === "insert" || entry.do === "update") return [entry.row.id];
  return entry.do === "remove" ? entry.ids : [];
}

/** A claim is reported a moment after it was made, and a result may have come in between. Its row says who has claimed the job. */
function claimBetween(before: Job, after: Job, now: number): Job | undefined {
  if (before.state !== "IN_QUEUE" || after.state === "IN_PROGRESS" || after.attempt !== before.attempt + 1)
    return undefined;
  // A job that has come back does not say who had it. A repeated report can return it in the very moment in which it was claimed.
  const { holder, startedAt } = after.state === "IN_QUEUE" ? { holder: "somebody", startedAt: now } : after;
  if (holder === undefined || startedAt === undefined) return undefined;
  const claim = { state: jobLifecycle.to("claim"), holder, attempt: after.attempt, spent: before.spent + 1, startedAt };
  return { ...before, ...claim, deadline: startedAt + before.policy.executionTimeoutMs };
}
