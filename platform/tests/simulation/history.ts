/** What clients were shown, in order: a job's end that was shown stays, and a job that is gone stays gone. */
import { type Job, jobLifecycle } from "../../src/ports/queue/job.ts";
import type { Ledger, Track } from "./ledger.ts";
import type { Trace } from "./trace.ts";

/** What one answer showed of a job. */
export interface View {
  id: string;
  /** Absent when the answer was that there is no such job. */
  job?: Job;
  /** Whether the job is gone only because of the clock. When the clock is set back, the job is there again. */
  isOnlyOver?: boolean;
  /** The result, when the answer included it. */
  result?: { text: string | undefined };
}

interface Seen extends View {
  by: string;
  /** When the answer had arrived, counted in sent and arrived messages. */
  seenAt: number;
}

const isFinal = (job: Job | undefined) => job !== undefined && jobLifecycle.isFinal(job.state);

export class History {
  readonly #trace: Trace;
  readonly #record: Trace;
  readonly #ledger: Ledger;
  readonly #seen = new Map<string, Seen[]>();
  /** The jobs that each idempotency key led to, and when that was known. */
  readonly #keys = new Map<string, { id: string; seenAt: number }[]>();
  #count = 0;

  constructor(trace: Trace, record: Trace, ledger: Ledger) {
    this.#trace = trace;
    this.#record = record;
    this.#ledger = ledger;
  }

  /** Jobs whose submission was answered. */
  readonly accepted = new Set<string>();

  /** Counts a request that leaves a client. */
  sent(): number {
    return ++this.#count;
  }

  /** Checks an answer that leaves the server: what it shows must be on the disk, or a crash could take it back. */
  shown(view: View): void {
    const { id, job, result } = view;
    const track = this.#ledger.tracks.get(id);
    if (!job) {
      view.isOnlyOver = track?.removed === undefined;
      if (track && track.history.length > 0 && !this.#ledger.isGone(track))
        this.#record.broken("was called gone while it is there", id);
      return;
    }
    const known = track?.history.filter((durable) => durable.job.retried === job.retried) ?? [];
    const same = known.filter((durable) => durable.job.state === job.state && durable.job.endedAt === job.endedAt);
    // The server does not wait until a claim is written.
    if (known.length === 0 || (same.length === 0 && job.state !== "IN_PROGRESS"))
      this.#record.broken(`was shown as ${job.state} before that was on the disk`, id);
    else if (result && isFinal(job) && !same.some((durable) => durable.result === result.text))
      this.#record.broken(`was shown as ${job.state} with a result that is not on the disk: ${result.text}`, id);
  }

  /** Checks the job that answered the submission with the number `sentAt`. */
  acknowledged(id: string, key: string | undefined, sentAt: number): void {
    this.accepted.add(id);
    if (key === undefined) return;
    const known = this.#keys.get(key) ?? [];
    this.#keys.set(key, known);
    for (const earlier of known) {
      const isThere = !this.#ledger.isGone(this.#ledger.track(earlier.id));
      if (earlier.id !== id && earlier.seenAt < sentAt && isThere)
        this.#trace.broken(`was made for the key that had led to ${this.#trace.name(earlier.id)}`, id);
    }
    known.push({ id, seenAt: ++this.#count });
  }

  /** Checks an answer that arrives at the client that sent the request with the number `sentAt`. */
  seen(view: View, by: string, sentAt: number): void {
    const seen = this.#seen.get(view.id) ?? [];
    this.#seen.set(view.id, seen);
    const what = view.job ? `${view.job.state}${view.result?.text ? ` ${view.result.text}` : ""}` : "no such job";
    this.#trace.note(`${by} sees ${what}`, view.id);
    const wrong = wrongByItself(view, this.#ledger);
    if (wrong) this.#trace.broken(wrong, view.id);
    for (const earlier of seen) {
      const broken = earlier.seenAt < sentAt && contradiction(earlier, view, this.#ledger);
      if (broken) this.#trace.broken(broken, view.id);
    }
    seen.push({ ...view, by, seenAt: ++this.#count });
  }
}

/** What a later view shows that cannot follow the earlier one. */
function contradiction(
  { job: before, result: first, by, isOnlyOver }: Seen,
  { id, job: after, result: second }: View,
  ledger: Ledger,
): string | undefined {
  if (!after)
    return before && isEarly(before, ledger.track(id), ledger.highest) ? "is gone before its time" : undefined;
  if (!before) return isOnlyOver ? undefined : `is ${after.state} again after ${by} saw that it was gone`;
  if (after.retried < before.retried) return `went back to before its retry number ${before.retried}`;
  if (!isFinal(before)) return undefined;
  const isRetried = after.retried > before.retried && jobLifecycle.can(before.state, "retry");
  if (isRetried) return undefined;
  if (after.state !== before.state || after.endedAt !== before.endedAt)
    return `is ${after.state} after ${by} saw it ${before.state}`;
  if (first && second && first.text !== second.text)
    return `has the result ${second.text} after ${by} saw ${first.text}`;
  return undefined;
}

/** A final job must stay until its shown expiry, unless a client asked to shorten its retention or to retry it. */
function isEarly({ state, expiresAt }: Job, { asked }: Track, highest: number): boolean {
  return jobLifecycle.isFinal(state) && asked.retry === 0 && asked.shortenings.length === 0 && expiresAt! > highest;
}

function wrongByItself({ job, result }: View, { highest }: Ledger): string | undefined {
  if (job?.state !== "TIMED_OUT" && job?.state !== "CANCELLED") return undefined;
  if (result?.text !== undefined) return `is ${job.state} and has a result: ${result.text}`;
  return job.reason?.includes("time to live") && job.ttlAt > highest ? "timed out too early" : undefined;
}
