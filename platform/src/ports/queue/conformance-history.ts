/** Many tasks do random work on one queue at once. A check then verifies that their answers form one possible history. */
import { expect } from "vitest";
import { turn } from "../../kernel/clock.ts";
import { realRandom, SeededRandom } from "../../kernel/random.ts";
import { ANY, cancel, ENDPOINT, fail, finish, giveBack, NOW, newJob, retry } from "./conformance-jobs.ts";
import type { JobState } from "./job.ts";
import type { JobChange, Queue } from "./queue.ts";

type Kind = "claim" | "giveBack" | "finish" | "fail" | "cancel" | "retry" | "purge";

/** Something that happened to a job, between `asked` and `told` on a counter that all tasks share. */
interface Happening {
  kind: Kind;
  /** The attempt that it began, ended or found. */
  attempt: number;
  by: string;
  asked: number;
  told: number;
}

interface Options {
  /** The same seed repeats the choices, though not the timing of real disks and servers. */
  seed: number;
  tasks: number;
  steps: number;
}

/** Returns a new seed for each run, and prints it so that a failing run can be repeated. */
export function printedSeed(): number {
  const given = process.env.MILLRACE_SEED;
  const seed = given === undefined ? Buffer.from(realRandom.bytes(4)).readUInt32LE() : Number(given);
  console.log(`MILLRACE_SEED=${seed}`);
  return seed;
}

export class History {
  readonly #queues: readonly Queue[];
  readonly #random: SeededRandom;
  readonly #options: Options;
  readonly #jobs = new Map<string, Happening[]>();
  readonly #held = new Map<string, Map<string, number>>();
  #clock = 0;

  constructor(queues: readonly Queue[], options: Options) {
    this.#queues = queues;
    this.#random = new SeededRandom(options.seed);
    this.#options = options;
  }

  /** Lets every task do its random steps, all at once. */
  async run(): Promise<void> {
    const { tasks, steps } = this.#options;
    const names = Array.from({ length: tasks }, (_, i) => `w${i}`);
    await Promise.all(
      names.map(async (name) => {
        this.#held.set(name, new Map());
        for (let step = 0; step < steps; step++) {
          await this.#step(name);
          if (this.#random.chance(0.2)) await turn();
        }
      }),
    );
  }

  async #step(name: string): Promise<void> {
    const queue = this.#random.pick(this.#queues);
    const roll = this.#random.below(100);
    if (roll < 25) await this.#enqueue(queue, name);
    else if (roll < 50) await this.#claim(queue, name);
    else if (roll < 80) await this.#report(queue, name);
    else if (roll < 90) await this.#interfere(queue, name);
    else if (roll < 99) await this.#retry(queue, name);
    else await this.#purge(queue, name);
  }

  async #enqueue(queue: Queue, name: string): Promise<void> {
    const ids = Array.from({ length: 1 + this.#random.below(3) }, (_, i) => `${name}-${this.#jobs.size}-${i}`);
    for (const id of ids) this.#jobs.set(id, []);
    await queue.enqueue(ids.map((id) => newJob(id, { policy: { lowPriority: this.#random.chance(0.2) } })));
  }

  async #claim(queue: Queue, holder: string): Promise<void> {
    const limit = 1 + this.#random.below(4);
    const asked = this.#clock++;
    // A worker names jobs that it is at. Others may have given them back meanwhile, and then they wait.
    const except = this.#random.chance(0.5) ? [...this.#held.get(holder)!.keys()] : [];
    const claimed = await queue.claim({ endpoint: ENDPOINT, holder, limit, bytes: ANY, now: NOW, except });
    expect(claimed.length).toBeLessThanOrEqual(limit);
    expect(claimed.filter(({ job }) => except.includes(job.id))).toEqual([]);
    for (const { job, body } of claimed) {
      expect(body).toBe(newJob(job.id).body);
      expect(job).toMatchObject({ state: "IN_PROGRESS", holder });
      this.#note(job.id, { kind: "claim", attempt: job.attempt, by: holder, asked, told: this.#clock++ });
      this.#held.get(holder)!.set(job.id, job.attempt);
    }
  }

  /** Ends attempts that this worker holds, sometimes twice, like a worker that got no answer. */
  async #report(queue: Queue, holder: string): Promise<void> {
    const held = [...this.#held.get(holder)!].slice(0, 3);
    const reports = held.map(([id, attempt]) => {
      const kind = this.#random.pick(["finish", "finish", "fail", "giveBack"] as const);
      const when = { states: ["IN_PROGRESS" as const], holder, attempt };
      return { kind, change: this.#changeOf(kind, id, when) };
    });
    if (this.#random.chance(0.2)) reports.push(...reports.slice(0, 1));
    await this.#apply(queue, holder, reports);
    for (const [id, attempt] of held) {
      // The job may have come back to this same worker in the meantime.
      if (this.#held.get(holder)!.get(id) === attempt) this.#held.get(holder)!.delete(id);
    }
  }

  /** Cancels, finishes or gives back a job that another task may be working on. */
  async #interfere(queue: Queue, name: string): Promise<void> {
    const id = this.#anyJob();
    if (!id) return;
    const kind = this.#random.pick(["cancel", "giveBack"] as const);
    await this.#apply(queue, name, [{ kind, change: this.#changeOf(kind, id) }]);
  }

  async #retry(queue: Queue, name: string): Promise<void> {
    const id = this.#anyJob();
    if (id) await this.#apply(queue, name, [{ kind: "retry", change: this.#changeOf("retry", id) }]);
  }

  async #purge(queue: Queue, by: string): Promise<void> {
    const asked = this.#clock++;
    const ids = await queue.purge(ENDPOINT, NOW);
    for (const id of ids) this.#note(id, { kind: "purge", attempt: -1, by, asked, told: this.#clock++ });
  }

  #changeOf(kind: Exclude<Kind, "claim" | "purge">, id: string, when?: JobChange["when"]): JobChange {
    const given = when ? { when } : {};
    if (kind === "finish") return finish(id, { ...given, also: { count: { completed: 1 } } });
    if (kind === "fail") return fail(id, { ...given, also: { count: { failed: 1 } } });
    if (kind === "retry") return retry(id, { ...given, also: { count: { retried: 1 } } });
    return kind === "cancel" ? cancel(id, given) : giveBack(id, given);
  }

  async #apply(queue: Queue, by: string, given: { kind: Kind; change: JobChange }[]): Promise<void> {
    const asked = this.#clock++;
    const outcomes = await queue.apply(given.map(({ change }) => change));
    for (const [i, outcome] of outcomes.entries()) {
      const { kind, change } = given[i]!;
      if (!outcome.applied) continue;
      expect(outcome.job.state).toBe(change.set.state);
      this.#note(change.id, { kind, attempt: outcome.job.attempt, by, asked, told: this.#clock++ });
    }
  }

  #note(id: string, happening: Happening): void {
    this.#jobs.get(id)!.push(happening);
  }

  #anyJob(): string | undefined {
    return this.#jobs.size === 0 ? undefined : [...this.#jobs.keys()][this.#random.below(this.#jobs.size)];
  }

  /** Throws unless the happenings of every job form a sequence that the lifecycle allows, and that ends in the state the queue reports. */
  async check(queues = this.#queues): Promise<void> {
    const counts = { inQueue: 0, inProgress: 0, completed: 0, failed: 0, retried: 0 };
    for (const [id, happenings] of this.#jobs) {
      const end = follow(id, happenings);
      for (const queue of queues) expect([id, await shownBy(queue, id)]).toEqual([id, end]);
      if (end.state === "IN_QUEUE") counts.inQueue++;
      if (end.state === "IN_PROGRESS") counts.inProgress++;
      counts.completed += happenings.filter(({ kind }) => kind === "finish").length;
      counts.failed += happenings.filter(({ kind }) => kind === "fail").length;
      counts.retried += happenings.filter(({ kind }) => kind === "retry").length;
    }
    for (const queue of queues) expect(await queue.counts(ENDPOINT)).toMatchObject(counts);
  }

  /** How often each thing happened, to show that the run covered enough. */
  get tally(): Record<Kind, number> {
    const tally = { claim: 0, giveBack: 0, finish: 0, fail: 0, cancel: 0, retry: 0, purge: 0 };
    for (const happenings of this.#jobs.values()) for (const { kind } of happenings) tally[kind]++;
    return tally;
  }
}

interface End {
  state: JobState | "purged";
  attempt?: number;
}

async function shownBy(queue: Queue, id: string): Promise<End> {
  const reading = await queue.read(id, NOW);
  if (reading === undefined) throw new Error(`${id} is lost`);
  return reading === "purged" ? { state: "purged" } : { state: reading.job.state, attempt: reading.job.attempt };
}

/** The order of events within one attempt: it begins, it ends, an ended job is retried, and it is purged. */
const ORDER: Record<Kind, number> = { claim: 0, giveBack: 1, finish: 1, fail: 1, retry: 2, cancel: 3, purge: 4 };

const MOVES: Record<Kind, { from: End["state"][]; to: End["state"] }> = {
  claim: { from: ["IN_QUEUE"], to: "IN_PROGRESS" },
  giveBack: { from: ["IN_PROGRESS"], to: "IN_QUEUE" },
  finish: { from: ["IN_PROGRESS"], to: "COMPLETED" },
  fail: { from: ["IN_PROGRESS"], to: "FAILED" },
  cancel: { from: ["IN_QUEUE", "IN_PROGRESS"], to: "CANCELLED" },
  retry: { from: ["FAILED"], to: "IN_QUEUE" },
  purge: { from: ["IN_QUEUE"], to: "purged" },
};

/** Every claim begins a new attempt, so the happenings of a job have only one possible order: by attempt, then by kind. */
function follow(id: string, happenings: Happening[]): End {
  const purge = happenings.find(({ kind }) => kind === "purge");
  if (purge) purge.attempt = Math.max(0, ...happenings.map(({ attempt }) => attempt));
  const line = happenings.toSorted((a, b) => a.attempt - b.attempt || ORDER[a.kind] - ORDER[b.kind]);
  const story = () => `${id}: ${line.map(({ kind, attempt, by }) => `${kind} ${attempt} by ${by}`).join(", ")}`;
  let end: End = { state: "IN_QUEUE", attempt: 0 };
  let before: Happening | undefined;
  for (const happening of line) {
    const { from, to } = MOVES[happening.kind];
    const attempt = end.attempt! + (happening.kind === "claim" ? 1 : 0);
    if (!from.includes(end.state) || happening.attempt !== attempt) throw new Error(`impossible history of ${story()}`);
    if (before && happening.told < before.asked) throw new Error(`effect before its cause in ${story()}`);
    before = happening;
    end = to === "purged" ? { state: to } : { state: to, attempt };
  }
  return end;
}
