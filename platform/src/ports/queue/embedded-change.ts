/** A change as the embedded queue carries it out: whether it fits the job, and what it writes. */
import type { Job } from "./job.ts";
import { type Entry, type Stashed, toRow } from "./journal.ts";
import type { LiveJob } from "./live-job.ts";
import type { Change, Counter } from "./queue.ts";

/** A change whose large result is already on the disk. */
export type StashedChange = Omit<Change, "result"> & { result?: Stashed | null };

export type Count = Partial<Record<Counter, number>>;

export function fits(job: Job, { states, holder, attempt }: Change["when"]): boolean {
  if (!states.includes(job.state)) return false;
  if (holder !== undefined && (job.holder ?? null) !== holder) return false;
  return attempt === undefined || attempt === job.attempt;
}

/** Changes that come together are counted together: one write for each endpoint and not for each job. */
export function addCount(counted: Map<string, Count>, endpoint: string, count: Count): void {
  const sum = counted.get(endpoint) ?? {};
  for (const name of Object.keys(count) as Counter[]) sum[name] = (sum[name] ?? 0) + count[name]!;
  counted.set(endpoint, sum);
}

export function entriesOf({ result, progress, also }: StashedChange, job: LiveJob): Entry[] {
  const entries: Entry[] = [
    { do: "update", row: toRow(job, job.position), result, progress, dropChunks: also?.dropChunks },
  ];
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
