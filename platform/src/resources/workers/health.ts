/** How endpoints with a queue are: their jobs, their workers, and why jobs wait. */
import { shownWait } from "../../jobs/record.ts";
import { type WaitFactParts, waitFacts } from "../../jobs/wait-facts.ts";
import { eachOf } from "../../kernel/bounded.ts";
import type { Caller } from "../../kernel/caller.ts";
import { turn } from "../../kernel/clock.ts";
import type { PageAsked } from "../../ports/store/collection.ts";
import type { EndpointService } from "../endpoints/service.ts";
import type { Worker } from "./model.ts";
import type { WorkerService } from "./service.ts";
import { readyWorkers, summaryOf } from "./standing.ts";

export interface HealthParts extends WaitFactParts {
  workers: Pick<WorkerService, "standing">;
}

export async function healthOf(parts: HealthParts, { id, release }: { id: string; release: number }) {
  const { counts, ofWorkers } = await waitFacts(parts, id);
  const { completed, failed, inProgress, inQueue, retried } = counts;
  const standing = await parts.workers.standing(id, release);
  return {
    jobs: { completed, failed, inProgress, inQueue, retried },
    workers: workerCounts(standing),
    ...(inQueue > 0 && ofWorkers !== undefined ? shownWait(ofWorkers) : {}),
  };
}

export function workerCounts(workers: readonly Worker[]) {
  const { idle, initializing, running, throttled, unhealthy } = summaryOf(workers);
  return { idle, initializing, ready: readyWorkers(workers).length, running, throttled, unhealthy };
}

/** So few are read at once that one request does not take all connections to the database. */
const AT_ONCE = 4;

type EndpointHealth = { id: string } & Awaited<ReturnType<typeof healthOf>>;

/** The health of many endpoints in one answer. */
export class HealthService {
  readonly #parts: HealthParts & { endpoints: Pick<EndpointService, "list"> };

  constructor(parts: HealthParts & { endpoints: Pick<EndpointService, "list"> }) {
    this.#parts = parts;
  }

  /** Of a page of the caller's endpoints, those with a queue. */
  async list(caller: Caller, asked: PageAsked) {
    const { items, next } = await this.#parts.endpoints.list(caller, asked);
    const queues = items.filter(({ doc }) => doc.type !== "LOAD_BALANCER");
    const found = new Map<string, EndpointHealth>();
    // Everything may come from memory at once. A hundred endpoints with many workers must not keep other requests from their turns.
    await eachOf(queues, AT_ONCE, async ({ id, doc }) => {
      found.set(id, { id, ...(await healthOf(this.#parts, { id, release: doc.release })) });
      await turn();
    });
    return { items: queues.map(({ id }) => found.get(id)!), next };
  }
}
