/** Answers the REST v2 operations on the workers of an endpoint. */
import type { Handlers } from "../../kernel/operation.ts";
import { paged } from "../../kernel/paged.ts";
import { endpointLogEvents, endpointLogQueryOf, logEvents, logQueryOf } from "../logs/follow.ts";
import type { LogReaders } from "../logs/readers.ts";
import type { HealthService } from "./health.ts";
import { MOST_HEALTHS, type workerOperations } from "./operations.ts";
import type { WorkerService } from "./service.ts";
import { summaryOf } from "./standing.ts";

interface WorkerParts {
  workers: WorkerService;
  endpointHealth: HealthService;
  logReaders: LogReaders;
}

export const workerHandlers = ({
  workers: service,
  endpointHealth,
  logReaders: readers,
}: WorkerParts): Handlers<typeof workerOperations> => ({
  listEndpointHealth: ({ caller, query: { limit = MOST_HEALTHS, ...query } }) =>
    paged(
      "endpoints",
      { ...query, limit },
      (asked) => endpointHealth.list(caller, asked),
      (health) => health,
    ),
  async listEndpointWorkers({ caller, params }) {
    const { workers, release } = await service.list(caller, params.id!);
    return { workers, summary: summaryOf(workers), endpointVersion: release };
  },
  async getWorkerLogs(call) {
    const { caller, params, gone } = call;
    const asked = { endpoint: params.id!, worker: params.workerId!, query: logQueryOf(call), gone };
    return readers.followOne(caller, gone, logEvents, () => service.logs(caller, asked));
  },
  async getEndpointLogs(call) {
    const { caller, params, gone } = call;
    const asked = { endpoint: params.id!, query: endpointLogQueryOf(call), gone };
    return readers.follow(caller, gone, endpointLogEvents(asked.query), () => service.endpointLogs(caller, asked));
  },
});
