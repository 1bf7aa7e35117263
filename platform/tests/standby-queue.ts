/** A queue that begins jobs as they are inserted, as PostgreSQL's does, made from one that does not. */
import type { NewJob } from "../src/ports/queue/job.ts";
import type { Claimed, Queue } from "../src/ports/queue/queue.ts";
import { type Beginning, Standbys } from "../src/ports/queue/standbys.ts";
import { overriding } from "./simulation/disk.ts";

export function withStandbys(queue: Queue): Queue {
  const standbys = new Standbys();
  return overriding(queue, {
    standBy: (ask) => standbys.add(ask),
    async enqueue(jobs) {
      const beginnings = jobs.every(isPlain) ? standbys.deal(jobs) : [];
      const begun = new Set<string>();
      try {
        const enqueued = await queue.enqueue(jobs);
        const free = await freeAmong(queue, jobs);
        for (const beginning of beginnings) {
          const claimed = free.has(beginning.ask.endpoint) ? await claimFor(queue, beginning) : [];
          for (const { job } of claimed) begun.add(job.id);
          beginning.settle(claimed);
        }
        return enqueued.map((one) => (begun.has(one.job.id) ? { ...one, hasBegun: true } : one));
      } finally {
        for (const { settle } of beginnings) settle([]);
      }
    },
  });
}

const isPlain = ({ idempotency, caller, webhooks }: NewJob) => !idempotency && caller === undefined && !webhooks;

/** Endpoints of these new jobs on which no other job waits. */
async function freeAmong(queue: Queue, jobs: readonly NewJob[]): Promise<Set<string>> {
  const free = new Set<string>();
  for (const endpoint of new Set(jobs.map((job) => job.endpoint))) {
    const { inQueue } = await queue.counts(endpoint);
    if (inQueue === jobs.filter((job) => job.endpoint === endpoint).length) free.add(endpoint);
  }
  return free;
}

/** Unlike PostgreSQL's statement, this comes after the jobs were inserted. So they begin at that time. */
const claimFor = (queue: Queue, { ask: { endpoint, holder, now }, jobs }: Beginning): Promise<Claimed[]> =>
  queue.claim({ endpoint, holder, now: now(), limit: jobs.length, bytes: Number.MAX_SAFE_INTEGER });
