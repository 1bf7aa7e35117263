/** Operations on batches of an endpoint. */
import { inJson, type RawAnswer, type RawOperations } from "../../kernel/raw-operation.ts";
import { t } from "../../kernel/schema.ts";
import {
  AddedRequests,
  BATCH_PAGE_LIMIT,
  BATCH_PAGE_OFFSET,
  BatchAttributes,
  BatchList,
  BatchRecord,
  BatchRequestList,
  BatchRequests,
  CreatedBatch,
  RemovedRequest,
} from "./model.ts";

const tag = "Batches";
const at = (rest = "") => `/v2/{endpoint_id}/batch${rest}`;
const one = (rest = "") => at(`/{batch_id}${rest}`);

const BATCH = "batch_x1y2z3a4b5c6d7";
const REQUEST = "0199f3a2-7c1e-7b40-9d51-3f6c2a8be0d4-u1";
const AT = 1_767_225_600_000;
const SHOWN = {
  ...{ id: BATCH, endpointId: "ab12cd34ef56gh", status: "FINALIZED", requestTotal: 2, requestInQueue: 1 },
  ...{
    requestInProgress: 1,
    requestCompleted: 0,
    requestFailed: 0,
    requestCancelled: 0,
    createdAt: AT,
    finalizedAt: AT,
    actions: ["cancel"],
  },
};
const PAGE = { total: 1, offset: 0, limit: 100, hasMore: false };
const REQUESTS = [{ input: { n: 1 } }, { input: { n: 2 } }];

const key = "caller" as const;
const scope = "serverless:invoke" as const;

const pageQuery = t.Object({
  limit: t.Optional(
    t.Integer({ minimum: BATCH_PAGE_LIMIT.least, maximum: BATCH_PAGE_LIMIT.most, default: BATCH_PAGE_LIMIT.standard }),
  ),
  offset: t.Optional(
    t.Integer({
      minimum: BATCH_PAGE_OFFSET.least,
      maximum: BATCH_PAGE_OFFSET.most,
      default: BATCH_PAGE_OFFSET.standard,
    }),
  ),
});

const shown = (description: string): { 200: RawAnswer } => ({
  200: { description, content: inJson(BatchRecord, SHOWN) },
});

export const batchOperations = {
  listBatches: {
    method: "GET",
    path: at(),
    summary: "List an endpoint's batches",
    description: "The newest first.",
    tag,
    query: pageQuery,
    answers: { 200: { description: "A page of batches.", content: inJson(BatchList, { batches: [SHOWN], ...PAGE }) } },
    refuses: [400, 404],
    key,
    scope,
  },
  createBatch: {
    method: "POST",
    path: at(),
    summary: "Gather requests in a new batch",
    description:
      "They are on the disk when this is answered, and become jobs when the batch is finalized. A body may have 10 MB.",
    tag,
    body: { content: inJson(BatchRequests, REQUESTS), required: true },
    answers: {
      200: {
        description: "The batch, and the ids that its requests have and their jobs will have.",
        content: inJson(CreatedBatch, { id: BATCH, status: "DRAFT", requestIds: [REQUEST] }),
      },
    },
    refuses: [400, 404, 413],
    key,
    scope,
  },
  getBatch: {
    method: "GET",
    path: one(),
    summary: "Read a batch",
    tag,
    answers: shown("The batch, and how many of its requests are in which state."),
    refuses: [404],
    key,
    scope,
  },
  updateBatch: {
    method: "PUT",
    path: one(),
    summary: "Name a batch",
    tag,
    body: { content: inJson(BatchAttributes, { displayName: "night run" }), required: true },
    answers: shown("The batch as it is now."),
    refuses: [400, 404, 413],
    key,
    scope,
  },
  listBatchRequests: {
    method: "GET",
    path: one("/requests"),
    summary: "List a batch's requests",
    description:
      "Each with its output or error for as long as its result is kept. A page ends early when its results are longer than 20 MiB together.",
    tag,
    query: pageQuery,
    answers: {
      200: {
        description: "A page of requests.",
        content: inJson(BatchRequestList, {
          requests: [{ id: REQUEST, status: "IN_QUEUE", actions: ["cancel"] }],
          ...PAGE,
        }),
      },
    },
    refuses: [400, 404],
    key,
    scope,
  },
  addBatchRequests: {
    method: "POST",
    path: one("/requests"),
    summary: "Add requests to a draft",
    tag,
    body: { content: inJson(BatchRequests, { requests: REQUESTS }), required: true },
    answers: {
      200: {
        description: "The ids of what was added, and how many there are now.",
        content: inJson(AddedRequests, { id: BATCH, status: "DRAFT", requestIds: [REQUEST], requestTotal: 3 }),
      },
    },
    refuses: [400, 404, 413],
    key,
    scope,
  },
  removeBatchRequest: {
    method: "DELETE",
    path: one("/requests/{request_id}"),
    summary: "Remove a request from a draft",
    tag,
    answers: {
      200: { description: "What was removed.", content: inJson(RemovedRequest, { id: REQUEST, batchId: BATCH }) },
    },
    refuses: [400, 404],
    key,
    scope,
  },
  finalizeBatch: {
    method: "POST",
    path: one("/finalize"),
    summary: "Make a batch's requests jobs",
    description: "In their order, each once. It can be repeated.",
    tag,
    answers: shown("The batch, FINALIZED."),
    refuses: [400, 404],
    key,
    scope,
  },
  cancelBatch: {
    method: "POST",
    path: one("/cancel"),
    summary: "Cancel what waits of a batch",
    description: "What runs ends.",
    tag,
    answers: shown("The batch, CANCELLED unless it had ended."),
    refuses: [404],
    key,
    scope,
    audited: true,
  },
} as const satisfies RawOperations;
