/** Operations on the workers of an endpoint. */
import { Health } from "../../jobs/model.ts";
import type { Operations } from "../../kernel/operation.ts";
import { Pagination, pageQuery } from "../../kernel/page.ts";
import { nullable, t } from "../../kernel/schema.ts";
import { EndpointLogEvent, LogEvent, logDescription, logQuery } from "../logs/model.ts";
import { Worker, WorkerSummary } from "./model.ts";

const tag = "Serverless";

/** Each costs the server as much as the read of one endpoint's. */
export const MOST_HEALTHS = 100;

const { workers, ...ofJobs } = Health.properties;
const EndpointHealth = t.Object(
  {
    id: t.String({ description: "The endpoint's id." }),
    ...ofJobs,
    // Without the name that this shape has in the description of invocation: each name is in one description only.
    workers: t.Object(workers.properties),
  },
  { $id: "EndpointHealth" },
);

export const workerOperations = {
  listEndpointHealth: {
    method: "GET",
    path: "/v2/account/serverless/health",
    summary: "Count the jobs and workers of many endpoints",
    description:
      "What `/health` of each says, in one answer, in the order of the list of endpoints. Endpoints that balance load have no queue, and are left out.",
    tag,
    query: t.Object({
      ...pageQuery,
      limit: t.Optional(
        t.Integer({
          ...{ minimum: 1, maximum: MOST_HEALTHS, default: MOST_HEALTHS },
          description: "Of how many endpoints at most.",
        }),
      ),
    }),
    out: t.Object({ endpoints: t.Array(EndpointHealth), pagination: Pagination }),
    status: 200,
    scope: "serverless:read",
    narrowed: "own",
  },
  listEndpointWorkers: {
    method: "GET",
    path: "/v2/serverless/{id}/workers",
    summary: "List an endpoint's workers",
    description:
      "Those that exist or are wanted now, and those started by hand that are connected. While there is none of them, the newest " +
      "one that failed, with its reason.",
    tag,
    out: t.Object({
      workers: t.Array(Worker),
      summary: WorkerSummary,
      endpointVersion: t.Optional(nullable(t.Integer({ description: "The endpoint's newest release." }))),
    }),
    status: 200,
    scope: "serverless:read",
    narrowed: "own",
  },
  getWorkerLogs: {
    method: "GET",
    path: "/v2/serverless/{id}/workers/{workerId}/logs",
    summary: "Follow a worker's log",
    description:
      `${logDescription} The log of a worker that has ended can be read while it is kept. ` +
      "It is 502 while the machine that has it is not reachable.",
    tag,
    query: logQuery,
    events: LogEvent,
    status: 200,
    scope: "serverless:read",
    narrowed: "own",
  },
  getEndpointLogs: {
    method: "GET",
    path: "/v2/serverless/{id}/logs",
    summary: "Follow the logs of all workers of an endpoint",
    description:
      "One stream for all workers that exist or are wanted; each line names its worker. It begins with the last lines of those that have ended too, as far " +
      "as the server that is asked keeps them. Workers join it when they are made and leave it after they have " +
      "ended, on whichever machine they are. The last `tail` lines of all of them come first, by time, then every line as it is written, until the client " +
      "hangs up. The last event of each group that is sent together has an id, `<time>/<worker>.<sequence>,…`: sent back as `Last-Event-ID`, reading goes " +
      "on behind these lines; after a break within a group, its lines come once more. A reader who is slow skips lines, and a `system` line says how many. " +
      "A worker whose machine is not reachable is named by a `system` line and tried again. The stream counts as one of the logs that an account follows " +
      "at once; one more is answered with 429.",
    tag,
    query: logQuery,
    events: EndpointLogEvent,
    status: 200,
    scope: "serverless:read",
    narrowed: "own",
  },
} as const satisfies Operations;
