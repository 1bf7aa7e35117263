/** Operations on the workers of an endpoint. */
import type { Operations } from "../../kernel/operation.ts";
import { nullable, t } from "../../kernel/schema.ts";
import { LogEvent, logDescription, logQuery } from "../logs/model.ts";
import { Worker, WorkerSummary } from "./model.ts";

const tag = "Serverless";

export const workerOperations = {
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
} as const satisfies Operations;
