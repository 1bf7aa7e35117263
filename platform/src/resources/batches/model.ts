/** Batches: requests to one endpoint that are gathered first, and then become jobs together and are counted together. */
import { lifecycle } from "../../kernel/lifecycle.ts";
import { oneOf, type Static, t } from "../../kernel/schema.ts";
import { jobLifecycle } from "../../ports/queue/job.ts";

export type BatchStatus = "DRAFT" | "FINALIZED" | "FAILED" | "CANCELLED";

export type BatchMove = "finalize" | "cancel" | "fail";

export const batchLifecycle = lifecycle<BatchStatus, BatchMove>({
  of: "batch",
  states: {
    DRAFT: "Its requests are being gathered.",
    FINALIZED: "Its requests are jobs. This stays its state when all have ended, unless none of them succeeded.",
    CANCELLED: "It was cancelled. Requests that had not begun are cancelled too.",
    FAILED: "All of its requests have ended, and none of them succeeded.",
  },
  begins: ["DRAFT"],
  moves: {
    finalize: { from: ["DRAFT"], to: "FINALIZED", asked: "serverless:invoke" },
    cancel: { from: ["DRAFT", "FINALIZED"], to: "CANCELLED", asked: "serverless:invoke" },
    fail: { from: ["FINALIZED"], to: "FAILED" },
  },
});

/** An endpoint keeps this many batches if the settings do not say otherwise. */
export const BATCHES_KEPT = 100;

export const BATCH_LIMITS = {
  /** The most batches of an endpoint that have not ended, including drafts. */
  active: 10,
  /** The most requests of one batch. */
  requests: 5000,
  /** The most jobs that may wait at an endpoint, including those of a batch that is being finalized. */
  queued: 50_000,
  /** The most batches of an endpoint that a setting may keep, including ended ones. */
  kept: 1000,
  displayName: 255,
};

/** The ways in which a request of a batch can end. */
export type RequestEnd = "COMPLETED" | "FAILED" | "CANCELLED" | "TIMED_OUT";

export interface RequestCounts {
  inQueue: number;
  inProgress: number;
  completed: number;
  failed: number;
  cancelled: number;
}

export const BATCH_PAGE_LIMIT = { least: 1, most: 1000, standard: 100 };
export const BATCH_PAGE_OFFSET = { least: 0, most: 1_000_000, standard: 0 };

const count = (description: string) => t.Integer({ minimum: 0, description });
const moment = (description: string) => t.Integer({ description: `${description}, in milliseconds since 1970.` });
const id = (what: string) => t.String({ description: `Id of the ${what}.` });
const status = oneOf(batchLifecycle.states);
const requestIds = t.Array(id("request"), { description: "In the order in which they were sent." });

/** A batch as callers read it. */
export const BatchRecord = t.Object(
  {
    id: id("batch"),
    endpointId: id("endpoint"),
    status,
    displayName: t.Optional(t.String()),
    requestTotal: count("Requests in all."),
    requestInQueue: count("Those that wait."),
    requestInProgress: count("Those that run."),
    requestCompleted: count("Those that were completed."),
    requestFailed: count("Those that failed or timed out."),
    requestCancelled: count("Those that were cancelled."),
    createdAt: moment("When it was made"),
    finalizedAt: t.Optional(moment("When its requests became jobs")),
    completedAt: t.Optional(moment("When all of them had ended")),
    actions: t.Array(oneOf(batchLifecycle.asked), { description: "What can be done with it now." }),
  },
  { $id: "Batch" },
);
export type Batch = Static<typeof BatchRecord>;

export const CreatedBatch = t.Object(
  { id: id("batch"), status: oneOf(["DRAFT"]), requestIds },
  { $id: "CreatedBatch" },
);

export const AddedRequests = t.Object(
  { id: id("batch"), status, requestIds, requestTotal: count("Requests in all.") },
  { $id: "AddedBatchRequests" },
);

export const RemovedRequest = t.Object({ id: id("request"), batchId: id("batch") }, { $id: "RemovedBatchRequest" });

export const BatchAttributes = t.Object(
  { displayName: t.String({ maxLength: BATCH_LIMITS.displayName }) },
  { $id: "BatchAttributes", additionalProperties: false },
);

const page = { total: count("How many there are."), offset: count("As asked for."), limit: count("As asked for.") };

export const BatchList = t.Object(
  { batches: t.Array(BatchRecord), ...page, hasMore: t.Boolean() },
  { $id: "BatchList" },
);

const BatchRequestRecord = t.Object(
  {
    id: id("request"),
    status: oneOf(["DRAFT", "IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"]),
    output: t.Optional(t.Unknown({ description: "What the handler returned." })),
    error: t.Optional(t.String({ description: "Why it failed." })),
    startedAt: t.Optional(moment("When its run began")),
    completedAt: t.Optional(moment("When it ended")),
    actions: t.Array(oneOf(jobLifecycle.asked), { description: "What can be done with its job now." }),
  },
  { $id: "BatchRequest", additionalProperties: true },
);

export const BatchRequestList = t.Object(
  { requests: t.Array(BatchRequestRecord), ...page, hasMore: t.Boolean() },
  { $id: "BatchRequestList" },
);

const requests = t.Array(
  t.Object(
    { input: t.Object({}, { additionalProperties: true, description: "What the handler is given." }) },
    { additionalProperties: true, description: "What a body of `/run` may have." },
  ),
  { maxItems: BATCH_LIMITS.requests },
);

/** Either a list of requests, or an object with the list. */
export const BatchRequests = t.Union([requests, t.Object({ requests }, { additionalProperties: true })], {
  $id: "BatchRequests",
});
