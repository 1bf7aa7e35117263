/** Parts of the embedded queue's decisions that need no memory of their own. */
import type { Job, NewJob } from "./job.ts";
import { type Entry, type Stashed, toRow } from "./journal.ts";
import type { LiveJob } from "./live-job.ts";
import type { Change } from "./queue.ts";

export type NewStashedJob = Omit<NewJob, "body"> & { body: Stashed };
export type StashedChange = Omit<Change, "result"> & { result?: Stashed | null };

/** What one call decided: the entries to write, and the jobs that wait for them. */
export class Decision {
  readonly entries: Entry[] = [];
  readonly touched: LiveJob[] = [];
  /** Jobs as this call's changes made them: what is shown once they are durable, though later ones may be under way. */
  readonly made = new Map<LiveJob, Job>();
  /** Whether an answer rests on a write of somebody else that is still under way. */
  waits = false;
}

export const scoped = (endpoint: string, key: string) => JSON.stringify([endpoint, key]);

/** The payload that a call brought, where it is large. */
export const stashedIn = (given: NewStashedJob | StashedChange) => ("body" in given ? given.body : given.result);

export function fits(job: Job, { states, holder, attempt }: Change["when"]): boolean {
  if (!states.includes(job.state)) return false;
  if (holder !== undefined && (job.holder ?? null) !== holder) return false;
  return attempt === undefined || attempt === job.attempt;
}

export function entriesOf({ result, progress, also }: StashedChange, job: LiveJob): Entry[] {
  const entries: Entry[] = [
    { do: "update", row: toRow(job, job.position), result, progress, dropChunks: also?.dropChunks },
  ];
  if (also?.count) entries.push({ do: "count", endpoint: job.endpoint, count: also.count });
  if (also?.webhook) {
    for (const url of job.webhooks ?? []) {
      entries.push({
        do: "message",
        message: { job: job.id, endpoint: job.endpoint, url, tries: 0, dueAt: job.endedAt ?? 0 },
      });
    }
  }
  return entries;
}
