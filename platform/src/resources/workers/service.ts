/** The workers of an endpoint, as callers may see them. */
import { holderName, workerOf } from "../../jobs/holder.ts";
import type { Overrun, Overruns } from "../../jobs/overruns.ts";
import { isSilent, silentMs } from "../../jobs/silence.ts";
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { onceFor } from "../../kernel/once-for.ts";
import { problem } from "../../kernel/problem.ts";
import type { Reason } from "../../kernel/reason.ts";
import type { SilentSince } from "../../machines/silences.ts";
import { isStreamName, type LogLine, type Logs, type Query } from "../../ports/logs/logs.ts";
import type { HolderState, Queue } from "../../ports/queue/queue.ts";
import type { EndpointService } from "../endpoints/service.ts";
import { EndpointLog, type EndpointLogQuery, type WorkerLines } from "./endpoint-log.ts";
import { asItIsNow, atLostJob, hindranceFrom, silence } from "./hindrance.ts";
import { type Hindrance, type Worker, type WorkerSummary, workerLog, workerLogsOf } from "./model.ts";
import type { WorkerItem, WorkerRecords } from "./records.ts";
import { countedWorkers, type Heard, standingWorkers } from "./standing.ts";

export interface LogAsked {
  endpoint: string;
  worker: string;
  query: Query;
  gone: AbortSignal;
}

/** Reads logs on the node that has them, which is the node whose machine the worker ran on. */
export interface LogsElsewhere {
  /** Whether the machine belongs to this node. */
  isHere(machine: string): boolean;
  /** Follows the log of a worker on another machine. Rejects with the name of the machine if it is not reachable. */
  follow(machine: string, asked: LogAsked): Promise<AsyncIterable<LogLine[]>>;
  /** Follows the log of a worker whose machine is no longer known. Rejects if no node has it. */
  find(asked: LogAsked): Promise<AsyncIterable<LogLine[]>>;
}

/** What is known of an endpoint's workers at one moment. */
interface Known {
  kept: readonly WorkerItem[];
  holders: readonly HolderState[];
  overruns: ReadonlyMap<string, Overrun>;
  now: number;
}

export class WorkerService {
  readonly #records: WorkerRecords;
  readonly #endpoints: EndpointService;
  readonly #queue: Queue;
  readonly #logs: Logs;
  readonly #clock: Clock;
  readonly #elsewhere: LogsElsewhere | undefined;
  readonly #overruns: Overruns;
  readonly #requests: (endpoint: string) => ReadonlyMap<string, number>;
  readonly #silentSince: SilentSince;

  constructor(parts: {
    workerRecords: WorkerRecords;
    endpoints: EndpointService;
    queue: Queue;
    logs: Logs;
    clock: Clock;
    overruns: Overruns;
    /** Absent if there is only one node. */
    elsewhere?: LogsElsewhere | undefined;
    /** The requests of each load-balanced worker. These workers ask for no work, so the queue does not know them. */
    requests: (endpoint: string) => ReadonlyMap<string, number>;
    silentSince: SilentSince;
  }) {
    this.#records = parts.workerRecords;
    this.#endpoints = parts.endpoints;
    this.#queue = parts.queue;
    this.#logs = parts.logs;
    this.#clock = parts.clock;
    this.#elsewhere = parts.elsewhere;
    this.#overruns = parts.overruns;
    this.#requests = parts.requests;
    this.#silentSince = parts.silentSince;
  }

  /** The workers of an endpoint that the caller may see, and the endpoint's newest release. */
  async list(caller: Caller, endpoint: string): Promise<{ workers: Worker[]; release: number }> {
    const { id, doc } = await this.#endpoints.own(caller, endpoint);
    return { workers: await this.standing(id, doc.release), release: doc.release };
  }

  /** The lines of a worker's log, from the start that the query names, followed by new lines as they come. */
  async logs(caller: Caller, asked: LogAsked): Promise<AsyncIterable<LogLine[]>> {
    const { doc } = await this.#endpoints.own(caller, asked.endpoint);
    if (!isStreamName(asked.worker) || asked.worker.includes("/")) throw problem("not-found", "worker not found");
    return this.#linesOf(asked, doc.release);
  }

  /** The lines of all workers of an endpoint in one stream, each with its worker. */
  async endpointLogs(
    caller: Caller,
    { endpoint, query, gone }: { endpoint: string; query: EndpointLogQuery; gone: AbortSignal },
  ): Promise<AsyncIterable<WorkerLines>> {
    const { id, doc } = await this.#endpoints.own(caller, endpoint);
    const log = new EndpointLog({
      ...{ clock: this.#clock, query, gone },
      workers: async () => {
        if (!(await this.#endpoints.find(id))) return undefined;
        const kept = await this.#records.ofEndpoint(id);
        return kept.sort((a, b) => b.createdAt - a.createdAt).map((worker) => worker.id);
      },
      kept: (most) => this.#logs.newest(workerLogsOf(id), most),
      follow: (worker, asked, stopped) =>
        this.#linesOf({ endpoint: id, worker, query: asked, gone: stopped }, doc.release),
    });
    return log.read();
  }

  async #linesOf(asked: LogAsked, release: number): Promise<AsyncIterable<LogLine[]>> {
    const { endpoint, worker, query, gone } = asked;
    const stream = workerLog(endpoint, worker);
    const follow = () => this.#logs.follow(stream, query, gone);
    const record = (await this.#records.ofEndpoint(endpoint)).find(({ id }) => id === worker)?.doc;
    if (this.#elsewhere && record?.machine && !this.#elsewhere.isHere(record.machine))
      return this.#elsewhere.follow(record.machine, asked);
    if (record || (await this.#logs.has(stream))) return follow();
    try {
      return await (this.#elsewhere?.find(asked) ?? Promise.reject(problem("not-found", "worker not found")));
    } catch (error) {
      // A worker that was started by hand has no log yet, but a reader may wait for one.
      if (await this.#isStanding(endpoint, release, worker)) return follow();
      throw error;
    }
  }

  /** The platform's workers in an account, grouped by endpoint. The records are read only once. */
  async byEndpoint({ account }: Pick<Caller, "account">): Promise<Map<string, WorkerItem[]>> {
    const own = (await this.#records.all()).filter((worker) => worker.account === account);
    return Map.groupBy(own, ({ doc }) => doc.owner);
  }

  /** Why the state of a worker is unknown, if its machine is silent. */
  lossOf(worker: WorkerItem): Reason | undefined {
    const hindrance = hindranceFrom(worker, this.#silentSince);
    return hindrance?.kind === "lost" ? hindrance.reason : undefined;
  }

  async standing(endpoint: string, release: number): Promise<Worker[]> {
    const now = this.#clock.now();
    const [kept, holders] = await Promise.all([this.#records.ofEndpoint(endpoint), this.#queue.holders(endpoint)]);
    const { overruns } = await this.#overruns.freedomOf(holders);
    return this.#standing(endpoint, { kept, holders, overruns, release, now });
  }

  /** Returns the worker summary of every endpoint that has workers, with one reading for all endpoints. */
  async summaries(): Promise<Map<string, WorkerSummary>> {
    const now = this.#clock.now();
    const [{ byEndpoint, holders: own }, holding] = await Promise.all([this.#records.grouped(), this.#queue.holders()]);
    const { overruns } = await this.#overruns.freedomOf(holding);
    // To hear of a worker with a record changes its status only if it has jobs.
    const telling = holding.filter(({ holder, jobs }) => jobs > 0 || !own.has(holder));
    const heard = Map.groupBy(telling, ({ endpoint }) => endpoint);
    const summaries = new Map<string, WorkerSummary>();
    for (const endpoint of new Set([...byEndpoint.keys(), ...heard.keys()])) {
      const [kept = [], holders = []] = [byEndpoint.get(endpoint), heard.get(endpoint)];
      const known = this.#known(endpoint, { kept, holders, overruns, now });
      const isQuiet = known.present === kept && known.heard.size === 0 && kept.every((worker) => !this.#isLost(worker));
      const moment = { now, silentSince: this.#silentSince };
      summaries.set(endpoint, isQuiet ? onRecord(kept) : countedWorkers(known.present, known.heard, moment));
    }
    return summaries;
  }

  #isLost({ doc: { machine } }: WorkerItem): boolean {
    return machine !== null && this.#silentSince(machine) !== undefined;
  }

  #standing(endpoint: string, { release, ...known }: Known & { release: number }): Worker[] {
    const { present, heard } = this.#known(endpoint, known);
    return standingWorkers(present, heard, { release, now: known.now, silentSince: this.#silentSince });
  }

  #known(endpoint: string, { kept, holders, overruns, now }: Known) {
    const present =
      overruns.size === 0
        ? kept
        : kept.map((worker) => asItIsNow(worker, overruns.get(holderName(endpoint, worker.id)), now));
    const heard = new Map<string, Heard>();
    for (const holder of holders) {
      const hindrance = hindranceByHand(holder, overruns.get(holder.holder), now);
      heard.set(workerOf(holder.holder), { jobs: holder.jobs, hindrance });
    }
    for (const [worker, requests] of this.#requests(endpoint)) heard.set(worker, { jobs: requests });
    return { present, heard };
  }

  async #isStanding(endpoint: string, release: number, worker: string): Promise<boolean> {
    return (await this.standing(endpoint, release)).some(({ id }) => id === worker);
  }
}

/** The summary of workers of whom nothing is known but their records. The same object for the same list. */
const onRecord = onceFor((kept: readonly WorkerItem[]) =>
  countedWorkers(kept, new Map(), { now: 0, silentSince: () => undefined }),
);

/** A worker that was started by hand has no record. Only the node that it talks to knows what it is doing. */
function hindranceByHand(holder: HolderState, overrun: Overrun | undefined, now: number): Hindrance | undefined {
  if (isSilent(holder)) return silence(silentMs(holder), now);
  return overrun && atLostJob(overrun, now);
}
