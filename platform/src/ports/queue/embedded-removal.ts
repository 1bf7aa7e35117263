/** Removals of the embedded queue, in slices, so that other calls get through in between: removing a job takes as long as making it. */
import { Slices } from "../../kernel/slices.ts";
import type { Entry, Journal } from "./journal.ts";
import type { LiveJob } from "./live-job.ts";

export const REMOVED_AT_ONCE = 250;
const SEEN_AT_ONCE = 10_000;
/** Dropping a job costs as much as looking at this many. */
const COST_OF_REMOVAL = 50;

export async function dropJobs(jobs: Iterable<LiveJob>, endpoint: string, drop: (job: LiveJob) => void): Promise<void> {
  const slices = new Slices(SEEN_AT_ONCE);
  for (const job of jobs) {
    const isMeant = job.endpoint === endpoint;
    if (isMeant) drop(job);
    const others = slices.did(isMeant ? COST_OF_REMOVAL : 1);
    if (others) await others;
  }
}

/** Each job is remembered for as long as its result would have been kept. Most jobs agree in that, so few entries say it. */
export function removalsOf(jobs: readonly LiveJob[], now: number): Entry[] {
  const kept = Map.groupBy(jobs, ({ policy }) => policy.retentionMs);
  return Array.from(kept, ([retentionMs, alike]) => {
    const ids = alike.map(({ id }) => id);
    return { do: "remove", ids, rememberUntil: now + retentionMs };
  });
}

export async function removeRows(journal: Journal, endpoint: string): Promise<void> {
  let removed: number;
  do {
    [removed] = (await journal.write([{ do: "removeEndpoint", endpoint, limit: REMOVED_AT_ONCE }])) as [number];
  } while (removed >= REMOVED_AT_ONCE);
}

/** The removal of results whose time is over. */
export class Expiry {
  readonly #journal: Journal;
  /** While results are being removed, those that expired by this time count as removed, even if they are still on disk. */
  #until = Number.NEGATIVE_INFINITY;
  #underWay = 0;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  async remove(now: number, limit: number): Promise<number> {
    if (!this.#journal.hasExpired(now)) return 0;
    this.#until = Math.max(this.#until, now);
    this.#underWay++;
    try {
      return (await this.#journal.write([{ do: "expire", now, limit }]))[0] as number;
    } finally {
      // The clock may be set back, and later results would count as removed for as long.
      if (--this.#underWay === 0) this.#until = Number.NEGATIVE_INFINITY;
    }
  }

  /** Whether a removal that was asked for takes this job along. A change that is written behind it would be lost. */
  includes({ expiresAt }: { expiresAt?: number | null }): boolean {
    return (expiresAt ?? Number.POSITIVE_INFINITY) <= this.#until;
  }
}
