/** Gathers the values of series: gauges of the whole installation, and what this node has counted. */
import type { JobTally } from "../../jobs/tally.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Histogram } from "../../kernel/histogram.ts";
import { onceFor } from "../../kernel/once-for.ts";
import type { InstanceRecords } from "../../machines/instance-records.ts";
import { type Costs, instancePerHour } from "../../metering/cost.ts";
import type { Demand, Queue } from "../../ports/queue/queue.ts";
import type { Accounts } from "../account/accounts.ts";
import type { EndpointService } from "../endpoints/service.ts";
import { isPodInstance } from "../pods/instance.ts";
import type { PodRecords } from "../pods/records.ts";
import type { Figures } from "../pods/view.ts";
import type { WorkerSummary } from "../workers/model.ts";
import type { WorkerService } from "../workers/service.ts";
import type { Subject } from "./model.ts";
import type { Sample } from "./point.ts";
import type { CountedOf, Sampled, Sources } from "./recorder.ts";

/** The requests to load-balancing endpoints on this node. Taking the counts starts them again from zero. */
interface CountedRequests {
  take(): ReadonlyMap<string, { total: number; failed: number; delay: Histogram; execution: Histogram }>;
}

export interface SourceParts {
  queue: Pick<Queue, "demand">;
  workers: Pick<WorkerService, "summaries">;
  instanceRecords: Pick<InstanceRecords, "all" | "rememberedOf">;
  podRecords: PodRecords;
  costs: Pick<Costs, "storagePerHourOfAll">;
  clock: Clock;
  tally: JobTally;
  requests: CountedRequests;
  /** What an instance uses, if its driver can measure it. */
  figuresOf: (instance: string) => Figures | undefined;
  /** The endpoints in memory. `find` reads those that are not there. */
  book: {
    known(id: string): { account: string } | undefined;
    find(id: string): Promise<{ account: string } | undefined>;
  };
  endpoints: Pick<EndpointService, "find">;
  accounts: Pick<Accounts, "madeAt">;
  /** Whether this is no longer a node of the installation. */
  isGone: (node: string) => Promise<boolean>;
}

/** How often the costs of storage are read from the store. They change seldom, and the costs of instances are in memory. */
const STORAGE_MS = 60_000;
const BILLIONTH = 1e-9;

/** Sums over the resources of one account. */
class AccountSums {
  perHour = 0;
  podsRunning = 0;
  workersRunning = 0;
  jobsInQueue = 0;
  jobsInProgress = 0;
}

export class MetricSources implements Sources {
  readonly #parts: SourceParts;
  #storage = new Map<string, number>();
  #storageReadAt = Number.NEGATIVE_INFINITY;

  constructor(parts: SourceParts) {
    this.#parts = parts;
  }

  async sample(): Promise<Sampled[]> {
    const { instanceRecords, queue, workers } = this.#parts;
    const [instances, demand, summaries] = await Promise.all([
      instanceRecords.all(),
      queue.demand(0),
      workers.summaries(),
    ]);
    const accounts = new Map<string, AccountSums>();
    const sampled: Sampled[] = [];
    const asked = new Map(demand.map((one) => [one.endpoint, one]));
    for (const id of new Set([...asked.keys(), ...summaries.keys()])) {
      const subject = this.#known(id) ?? (await this.#endpoint(id));
      if (!subject) continue;
      const [of, summary] = [asked.get(id), summaries.get(id)];
      sampled.push({ subject, values: this.#valuesOf(id, of, summary) });
      const sums = sumsOf(accounts, subject.account);
      sums.jobsInQueue += of?.inQueue ?? 0;
      sums.jobsInProgress += of?.inProgress ?? 0;
      sums.workersRunning += summary?.running ?? 0;
    }
    for (const instance of instances) {
      const perHour = instancePerHour(instance.doc);
      if (perHour > 0) sumsOf(accounts, instance.account).perHour += perHour;
      if (!isPodInstance(instance) || instance.doc.state !== "RUNNING") continue;
      const subject: Subject = { kind: "pod", id: instance.doc.owner, account: instance.account };
      sampled.push({ subject, values: this.#use([instance]) });
      sumsOf(accounts, instance.account).podsRunning++;
    }
    return [...sampled, ...(await this.#accounts(accounts))];
  }

  /** The same object as before if nothing has changed, so that an endpoint that does nothing costs nothing more. */
  #valuesOf(id: string, demand: Demand | undefined, summary: WorkerSummary | undefined): Sample {
    const use = this.#use(this.#parts.instanceRecords.rememberedOf(id));
    if (demand || !summary || use !== UNKNOWN) return [...jobValues(demand), ...workerValues(summary), ...use];
    return quietValues(summary);
  }

  async count(): Promise<CountedOf[]> {
    const counted: CountedOf[] = [];
    const accounts = new Map<string, [completed: number, failed: number]>();
    for (const [id, { completed, failed, retried, delay, execution }] of this.#parts.tally.take()) {
      const subject = await this.#endpoint(id);
      if (!subject) continue;
      const spreads = [[...delay.filled()], [...execution.filled()]];
      counted.push({ subject, counted: { sums: [completed, failed, retried], spreads } });
      const [completedBefore, failedBefore] = accounts.get(subject.account) ?? [0, 0];
      accounts.set(subject.account, [completedBefore + completed, failedBefore + failed]);
    }
    for (const [id, { total, failed, delay, execution }] of this.#parts.requests.take()) {
      const subject = await this.#endpoint(id);
      const spreads = [[...delay.filled()], [...execution.filled()]];
      if (subject) counted.push({ subject, counted: { sums: [0, 0, 0, total, failed], spreads } });
    }
    for (const [account, sums] of accounts)
      counted.push({ subject: accountSubject(account), counted: { sums, spreads: [] } });
    return counted;
  }

  async isThere(subject: Pick<Subject, "kind" | "id">): Promise<boolean> {
    return (await this.#find(subject)) !== undefined;
  }

  isGone(node: string): Promise<boolean> {
    return this.#parts.isGone(node);
  }

  /** Reads the store, not the memory of this node. */
  #find({ kind, id }: Pick<Subject, "kind" | "id">): Promise<unknown> {
    const { podRecords, endpoints, accounts } = this.#parts;
    if (kind === "pod") return podRecords.pods.get(id);
    return kind === "account" ? accounts.madeAt(id) : endpoints.find(id);
  }

  /** An endpoint that is in memory. Thousands are looked up at once, so this does not wait. */
  #known(id: string): Subject | undefined {
    const found = this.#parts.book.known(id);
    return found && { kind: "endpoint", id, account: found.account };
  }

  async #endpoint(id: string): Promise<Subject | undefined> {
    const found = await this.#parts.book.find(id);
    return found && { kind: "endpoint", id, account: found.account };
  }

  async #accounts(sums: ReadonlyMap<string, AccountSums>): Promise<Sampled[]> {
    const { clock, costs } = this.#parts;
    if (clock.monotonic() - this.#storageReadAt >= STORAGE_MS) {
      this.#storageReadAt = clock.monotonic();
      this.#storage = await costs.storagePerHourOfAll();
    }
    return [...new Set([...sums.keys(), ...this.#storage.keys()])].map((account) => {
      const of = sums.get(account) ?? new AccountSums();
      const perHour = (of.perHour + (this.#storage.get(account) ?? 0)) * BILLIONTH;
      const values = [perHour, of.podsRunning, of.workersRunning, of.jobsInQueue, of.jobsInProgress];
      return { subject: accountSubject(account), values };
    });
  }

  /** Returns the mean use of the instances that can be measured, and of their GPUs. */
  #use(instances: readonly { id: string }[]): Sample {
    const figures = instances.flatMap(({ id }) => this.#parts.figuresOf(id) ?? []);
    if (figures.length === 0) return UNKNOWN;
    const gpus = figures.flatMap((one) => one.gpus);
    return [
      meanOf(figures.map(({ cpu }) => cpu)),
      meanOf(figures.map(({ memory }) => memory)),
      meanOf(gpus.map(({ util }) => util)),
      meanOf(gpus.map(({ memoryUtil }) => memoryUtil)),
    ];
  }
}

const UNKNOWN: Sample = [undefined, undefined, undefined, undefined];

const accountSubject = (account: string): Subject => ({ kind: "account", id: account, account });

const jobValues = (demand: Demand | undefined): Sample => {
  const { inQueue = 0, inProgress = 0 } = demand ?? {};
  return [inQueue, inProgress, inQueue];
};

const workerValues = (summary: WorkerSummary | undefined): Sample =>
  summary
    ? [summary.running, summary.idle, summary.initializing, summary.throttled, summary.unhealthy]
    : [0, 0, 0, 0, 0];

/** The values of an endpoint without jobs whose workers are not measured. */
const quietValues = onceFor(
  (summary: WorkerSummary): Sample => [...jobValues(undefined), ...workerValues(summary), ...UNKNOWN],
);

const meanOf = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;

function sumsOf(accounts: Map<string, AccountSums>, account: string): AccountSums {
  const known = accounts.get(account) ?? new AccountSums();
  accounts.set(account, known);
  return known;
}
