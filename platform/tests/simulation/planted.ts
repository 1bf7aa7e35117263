/** Bugs planted into the server from outside, one at a time, each with a mix that makes it likely to show. */
import { waitingJob } from "../../src/ports/queue/decision.ts";
import { type Job, jobLifecycle, type NewJob } from "../../src/ports/queue/job.ts";
import type { Entry, Journal } from "../../src/ports/queue/journal.ts";
import type { Claimed, JobChange, Queue } from "../../src/ports/queue/queue.ts";
import { begunAtOnce, Standbys } from "../../src/ports/queue/standbys.ts";
import type { Signals } from "../../src/ports/signals/signals.ts";
import { overriding } from "./disk.ts";
import type { MixChange } from "./mix.ts";
import type { Plant } from "./world.ts";

export interface PlantedBug {
  name: string;
  plant: Plant;
  mix: MixChange;
  /** Whether the clients' views alone show the bug, without the server's own record. */
  isSeen?: true;
}

/** Workers that come back late. */
const lateWorkers: MixChange = { jobs: { long: 0.4 }, faults: { pause: 15 }, messages: { late: 0.1 } };
const crashes: MixChange = { faults: { crash: 6 }, crashAfterAnswer: 0.02, flushMs: 200 };

export const plantedBugs: PlantedBug[] = [
  {
    name: "changes apply whoever holds the job",
    mix: lateWorkers,
    plant: withApply((change) => ({ ...change, when: { states: change.when.states } })),
  },
  {
    name: "answers are given before the flush",
    isSeen: true,
    mix: crashes,
    plant: { journal: (journal) => answeringEarly(journal) },
  },
  {
    name: "a write that failed is answered as done",
    isSeen: true,
    mix: { faults: { fullDisk: 10 } },
    plant: {
      journal: (journal) => overriding(journal, { write: (entries) => journal.write(entries).catch(() => []) }),
    },
  },
  { name: "a waiting worker is not called for every job", mix: {}, plant: { signals: callingForEveryThird } },
  {
    name: "whoever waits is not told of a cancel",
    mix: { requests: { submitAndWait: 4, cancel: 2 } },
    plant: {
      engine({ waiters }) {
        const tell = waiters.tell.bind(waiters);
        waiters.tell = (ended) => (ended.job.state === "CANCELLED" ? undefined : tell(ended));
      },
    },
  },
  { name: "a job that was given back is handed out twice", mix: lateWorkers, plant: { queue: handingOutTwice } },
  { name: "a job is given back once more after it was", mix: lateWorkers, plant: { queue: givingBackTwice } },
  {
    name: "results expire too early",
    isSeen: true,
    mix: { seconds: 90 },
    plant: { queue: (queue) => overriding(queue, { expire: (now, limit) => queue.expire(now + 1_750_000, limit) }) },
  },
  {
    name: "jobs run out of time too early",
    isSeen: true,
    mix: { jobs: { mortal: 0.5, long: 0.3 } },
    plant: { queue: (queue) => overriding(queue, { due: (now, limit) => queue.due(now + 8000, limit) }) },
  },
  {
    name: "late progress opens a finished job again",
    mix: { jobs: { talking: 1 }, messages: { late: 0.2, doubled: 0.2 }, flushMs: 200 },
    plant: withApply((change) =>
      typeof change.progress === "string"
        ? {
            ...change,
            when: { states: ["IN_PROGRESS", "COMPLETED", "FAILED"] },
            set: { state: jobLifecycle.to("claim") },
          }
        : change,
    ),
  },
  {
    name: "a chunk that is sent again is kept twice",
    mix: { jobs: { talking: 1 }, messages: { late: 0.2, doubled: 0.2 } },
    plant: {
      queue: (queue) =>
        overriding(queue, {
          append: (holder, chunks) =>
            queue.append(
              holder,
              chunks.map(({ key: _, ...chunk }) => chunk),
            ),
        }),
    },
  },
  { name: "a job is handed out before it is on the disk", mix: crashes, plant: handingOutEarly() },
  { name: "a job begins for a worker before it is on the disk", mix: crashes, plant: { queue: beginningEarly } },
  {
    name: "a retried job keeps its old output",
    isSeen: true,
    mix: { requests: { retry: 3 }, jobs: { failing: 0.6 } },
    plant: withApply(({ result, ...change }) =>
      result === null || result === undefined ? change : { ...change, result },
    ),
  },
  {
    name: "a retried job takes the result of an earlier run",
    mix: { requests: { retry: 4, read: 4 }, jobs: { long: 0.5, hurried: 0.6 }, faults: { pause: 20 }, mostJobs: 8 },
    plant: { queue: forgettingRetries },
  },
  {
    name: "a purge removes running jobs",
    mix: { requests: { purge: 1 }, jobs: { long: 0.4 } },
    plant: { journal: purgingRunning },
  },
  {
    name: "jobs of dead workers are never given back",
    isSeen: true,
    mix: { faults: { kill: 10 }, jobs: { long: 0.4 } },
    plant: {
      queue: (queue) =>
        overriding(queue, {
          due: async (now, limit) => (await queue.due(now, limit)).filter(({ why }) => why !== "holder"),
        }),
    },
  },
  {
    name: "a job goes from worker to worker for ever",
    mix: { faults: { kill: 30 }, jobs: { long: 0.8 }, seconds: 120 },
    plant: withApply((change) =>
      change.also?.count?.retried ? { ...change, set: { ...change.set, spent: 0 } } : change,
    ),
  },
  {
    name: "idempotency keys are forgotten",
    isSeen: true,
    mix: { jobs: { keyed: 0.6 } },
    plant: { journal: (journal) => overriding(journal, { findKey: () => undefined }) },
  },
  {
    name: "an end is not always counted",
    mix: crashes,
    plant: {
      journal: (journal) =>
        overriding(journal, {
          write: (entries) => journal.write(entries.filter((entry, i) => entry.do !== "count" || i < 2)),
        }),
    },
  },
];

/** Replaces every change by another one. */
function withApply(other: (change: JobChange) => JobChange): Plant {
  return { queue: (queue) => overriding(queue, { apply: (changes) => queue.apply(changes.map(other)) }) };
}

function answeringEarly(journal: Journal, isEarly = (_: Entry[]) => true): Journal {
  return overriding(journal, {
    write(entries) {
      const written = journal.write(entries);
      written.catch(() => undefined);
      return isEarly(entries) ? Promise.resolve(entries.map(() => 0)) : written;
    },
  });
}

function callingForEveryThird(signals: Signals): Signals {
  let calls = 0;
  return overriding(signals, {
    emit(topic, count) {
      if (!topic.startsWith("work:") || ++calls % 3 !== 0) signals.emit(topic, count);
    },
  });
}

/** The queue holds a returned job in two places. */
function handingOutTwice(queue: Queue): Queue {
  const again: Claimed[] = [];
  return overriding(queue, {
    async claim(ask) {
      const second = again.pop();
      if (second) return [second];
      const claimed = await queue.claim(ask);
      again.push(...claimed.filter(({ job }) => job.retried > 0 && !again.some((one) => one.job.id === job.id)));
      return claimed;
    },
  });
}

/** A job is taken from its new holder because the previous one was lost. */
function givingBackTwice(queue: Queue): Queue {
  const once: JobChange[] = [];
  return overriding(queue, {
    apply(changes) {
      const again = once.splice(0).map((change) => ({ ...change, when: { states: change.when.states } }));
      once.push(
        ...changes.filter(({ set, also }) => set.state === "IN_QUEUE" && set.spent === undefined && also?.count),
      );
      return queue.apply([...changes, ...again]).then((outcomes) => outcomes.slice(0, changes.length));
    },
  });
}

/** Submissions are answered in time, but workers get the jobs before they are written. */
function handingOutEarly(): Plant {
  let written: Promise<unknown> = Promise.resolve();
  const isInsert = (entries: Entry[]) => entries.some((entry) => entry.do === "insert");
  return {
    journal: (journal) => {
      const recorded = overriding(journal, {
        write(entries) {
          const writing = journal.write(entries);
          if (isInsert(entries)) written = writing;
          return writing;
        },
      });
      return answeringEarly(recorded, isInsert);
    },
    queue: (queue) =>
      overriding(queue, {
        async enqueue(jobs) {
          const enqueued = await queue.enqueue(jobs);
          await written;
          return enqueued;
        },
      }),
  };
}

/** A retried job looks as if it had never been retried. */
function forgettingRetries(queue: Queue): Queue {
  const unretried = (job: Job): Job => ({ ...job, barred: undefined, ttlAt: job.createdAt + job.policy.ttlMs });
  return overriding(queue, {
    async read(id, now, parts) {
      const reading = await queue.read(id, now, parts);
      return typeof reading === "object" ? { ...reading, job: unretried(reading.job) } : reading;
    },
    async apply(changes) {
      const outcomes = await queue.apply(changes);
      return outcomes.map((outcome) =>
        !outcome.applied && outcome.now ? { applied: false, now: unretried(outcome.now) } : outcome,
      );
    },
  });
}

function purgingRunning(journal: Journal): Journal {
  return overriding(journal, {
    write(entries) {
      const running = (endpoint: string) => {
        const ids: string[] = [];
        journal.live(
          () => false,
          (row) => {
            if (row.endpoint === endpoint && row.state === "IN_PROGRESS") ids.push(row.id);
          },
        );
        return ids;
      };
      return journal.write(
        entries.map((entry) =>
          entry.do === "remove"
            ? { ...entry, ids: [...entry.ids, ...running(journal.find(entry.ids[0]!)?.endpoint ?? "")] }
            : entry,
        ),
      );
    },
  });
}

/** Workers that stand by are told of a job as soon as it is on its way to the disk. */
function beginningEarly(queue: Queue): Queue {
  const standbys = new Standbys();
  return overriding(queue, {
    standBy: (ask) => standbys.add(ask),
    enqueue(jobs) {
      for (const beginning of standbys.deal(jobs)) {
        const begun = (job: NewJob) => begunAtOnce(waitingJob(job, job.endpoint, job.policy), beginning);
        beginning.settle(beginning.jobs.map((job) => ({ job: begun(job), body: job.body })));
      }
      return queue.enqueue(jobs);
    },
  });
}
