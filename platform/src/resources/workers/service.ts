/** The workers of an endpoint, as callers may see them. */
import { workerOf } from "../../jobs/holder.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Call, Handlers } from "../../kernel/operation.ts";
import { problem } from "../../kernel/problem.ts";
import { isStreamName, type Logs } from "../../ports/logs/logs.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import type { EndpointService } from "../endpoints/service.ts";
import { followLog } from "../logs/follow.ts";
import { type Worker, workerLog } from "./model.ts";
import type { workerOperations } from "./operations.ts";
import type { WorkerRecords } from "./records.ts";
import { standingWorkers, summaryOf } from "./standing.ts";

type Operations = typeof workerOperations;

export class WorkerService implements Handlers<Operations> {
  readonly #records: WorkerRecords;
  readonly #endpoints: EndpointService;
  readonly #queue: Queue;
  readonly #logs: Logs;
  readonly #clock: Clock;
  readonly #requests: (endpoint: string) => ReadonlyMap<string, number>;

  constructor(parts: {
    workerRecords: WorkerRecords;
    endpoints: EndpointService;
    queue: Queue;
    logs: Logs;
    clock: Clock;
    /** Requests of each load-balanced worker, which asks for no work and is seen by nobody else. */
    requests: (endpoint: string) => ReadonlyMap<string, number>;
  }) {
    this.#records = parts.workerRecords;
    this.#endpoints = parts.endpoints;
    this.#queue = parts.queue;
    this.#logs = parts.logs;
    this.#clock = parts.clock;
    this.#requests = parts.requests;
  }

  async listEndpointWorkers({ caller, params }: Call<Operations["listEndpointWorkers"]>) {
    const { id, doc } = await this.#endpoints.own(caller, params.id!);
    const workers = await this.standing(id, doc.release);
    return { workers, summary: summaryOf(workers), endpointVersion: doc.release };
  }

  async getWorkerLogs(call: Call<Operations["getWorkerLogs"]>) {
    const { id, doc } = await this.#endpoints.own(call.caller, call.params.id!);
    const worker = call.params.workerId!;
    const stream = workerLog(id, worker);
    const isName = isStreamName(worker) && !worker.includes("/");
    if (!isName || !((await this.#logs.has(stream)) || (await this.#isStanding(id, doc.release, worker))))
      throw problem("not-found", "worker not found");
    return followLog(this.#logs, stream, call);
  }

  async standing(endpoint: string, release: number): Promise<Worker[]> {
    const now = this.#clock.now();
    const [kept, holders] = await Promise.all([this.#records.ofEndpoint(endpoint), this.#queue.holders(endpoint)]);
    const jobs = new Map(holders.map(({ holder, jobs }) => [workerOf(holder), jobs]));
    for (const [worker, requests] of this.#requests(endpoint)) jobs.set(worker, requests);
    return standingWorkers(kept, jobs, { release, now });
  }

  async #isStanding(endpoint: string, release: number, worker: string): Promise<boolean> {
    return (await this.standing(endpoint, release)).some(({ id }) => id === worker);
  }
}
