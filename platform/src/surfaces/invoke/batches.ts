/** `/batch`: gathers many requests, sends them to the queue together, and shows them together. */

import { sealFound } from "../../jobs/credential.ts";
import type { Outputs } from "../../jobs/outputs.ts";
import { splice } from "../../jobs/record.ts";
import type { Admit } from "../../kernel/body-memory.ts";
import type { Clock } from "../../kernel/clock.ts";
import { parseJson } from "../../kernel/json.ts";
import { JsonText } from "../../kernel/json-text.ts";
import { MIB } from "../../kernel/operation.ts";
import { isProblem, problem } from "../../kernel/problem.ts";
import { Slices } from "../../kernel/slices.ts";
import { type Job, jobLifecycle } from "../../ports/queue/job.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import type { Vault } from "../../ports/vault/vault.ts";
import { BATCH_LIMITS, BATCH_PAGE_LIMIT, BATCH_PAGE_OFFSET } from "../../resources/batches/model.ts";
import type { batchOperations } from "../../resources/batches/operations.ts";
import type { RequestState } from "../../resources/batches/progress.ts";
import type { RequestText } from "../../resources/batches/records.ts";
import type { BatchService } from "../../resources/batches/service.ts";
import type { EndpointService } from "../../resources/endpoints/service.ts";
import { readBody, refuseTooLarge, tooLarge } from "../http/body.ts";
import { searchOf } from "../http/pipeline.ts";
import type { Request } from "../http/reply.ts";
import { type BatchRequest, readBatchBody } from "./batch-body.ts";
import { LARGE_BYTES } from "./large-json.ts";
import { numberOf } from "./requests.ts";
import type { Asked, Works } from "./route.ts";
import type { SubmissionReader } from "./submission.ts";

const BODY_LIMIT = 10 * MIB;
const ATTRIBUTES_LIMIT = 64 * 1024;
const SEALED_AT_ONCE = 500_000;
/** Sealing a credential takes as long as copying this many characters. */
const SEALING = 5000;
/** A page of requests ends early when their results are longer than this together. */
const RESULTS_LENGTH = 20 * MIB;

export interface BatchRouteParts {
  batches: BatchService;
  endpoints: EndpointService;
  queue: Queue;
  reader: SubmissionReader;
  clock: Clock;
  outputs: Outputs;
}

type Work = (parts: BatchRouteParts, asked: Asked) => Promise<unknown>;

/** What each operation does. */
const works: Record<keyof typeof batchOperations, Work> = {
  listBatches: list,
  createBatch: create,
  getBatch: ({ batches }, { endpoint, params }) => batches.get(endpoint, params.batch_id!),
  updateBatch: rename,
  listBatchRequests: listRequests,
  addBatchRequests: add,
  removeBatchRequest: removeRequest,
  finalizeBatch: ({ batches }, { endpoint, params }) => batches.finalize(endpoint, params.batch_id!),
  cancelBatch: ({ batches }, { endpoint, params }) => batches.cancel(endpoint, params.batch_id!),
};

export function batchWorks(parts: BatchRouteParts): Works<typeof batchOperations> {
  const bound = Object.entries(works).map(([name, work]) => [name, (asked: Asked) => work(parts, asked)]);
  return Object.fromEntries(bound);
}

async function create(parts: BatchRouteParts, asked: Asked) {
  const { caller, endpoint } = asked;
  const requests = await readRequests(parts, asked);
  await parts.endpoints.ownForInvocation(caller, endpoint.id);
  const { id, requestIds } = await parts.batches.create(endpoint, requests);
  // Reads the endpoint from the store and not from the cache. If it was deleted meanwhile, its batch must not be left behind.
  await parts.endpoints.own(caller, endpoint.id).catch(async (error) => {
    await parts.batches.removeEndpoint(endpoint.id);
    throw error;
  });
  return { id, status: "DRAFT", requestIds };
}

async function add(parts: BatchRouteParts, asked: Asked) {
  // An unknown batch is refused before its body is read.
  await parts.batches.own(asked.endpoint, asked.params.batch_id!);
  return parts.batches.add(asked.endpoint, asked.params.batch_id!, await readRequests(parts, asked));
}

async function removeRequest({ batches }: BatchRouteParts, { endpoint, params }: Asked) {
  await batches.removeRequest(endpoint, params.batch_id!, params.request_id!);
  return { id: params.request_id!, batchId: params.batch_id! };
}

async function rename({ batches, clock }: BatchRouteParts, { endpoint, params, request, reply, memory }: Asked) {
  await batches.own(endpoint, params.batch_id!);
  refuseTooLarge(request, ATTRIBUTES_LIMIT);
  const bytes = await readBody(request, reply.raw, { limit: ATTRIBUTES_LIMIT, clock, memory });
  const { displayName, ...others } = (bytes.length === 0 ? {} : (parseJson(bytes) ?? {})) as Record<string, unknown>;
  const isName = typeof displayName === "string" && displayName.length <= BATCH_LIMITS.displayName;
  if (!isName || Object.keys(others).length > 0)
    throw problem(
      "invalid",
      `the request body must be a JSON object with 'displayName', a text of at most ${BATCH_LIMITS.displayName} characters, and nothing else`,
    );
  return batches.rename(endpoint, params.batch_id!, displayName);
}

async function list({ batches }: BatchRouteParts, { endpoint, request }: Asked) {
  const asked = pageAsked(request);
  const { batches: shown, total } = await batches.list(endpoint, asked);
  return { batches: shown, total, ...asked, hasMore: asked.offset + shown.length < total };
}

async function listRequests(parts: BatchRouteParts, { endpoint, params, request, memory }: Asked): Promise<JsonText> {
  const asked = pageAsked(request);
  const { states, status, total } = await parts.batches.requests(endpoint, params.batch_id!, asked);
  const shown: Buffer[] = [];
  let length = 0;
  for (const state of states) {
    if (length > RESULTS_LENGTH) break;
    // A page that already has results does not wait for memory. It ends here.
    const admit: Admit = (bytes) => (length === 0 ? memory.take(bytes) : memory.takeAtOnce(bytes));
    const read = await shownRequest(parts, state, status === "DRAFT", admit).catch(isFullAfter(length));
    if (read === undefined) break;
    const text = Buffer.from(read);
    length += text.length;
    shown.push(text);
  }
  const rest = { total, ...asked, hasMore: asked.offset + shown.length < total };
  const between = Buffer.from(",");
  const parted = shown.flatMap((text, i) => (i === 0 ? [text] : [between, text]));
  const end = Buffer.from(`],${JSON.stringify(rest).slice(1)}`);
  return new JsonText(Buffer.concat([Buffer.from('{"requests":['), ...parted, end]));
}

/** An empty page would make no progress, so without any result the error is thrown. */
const isFullAfter = (length: number) => (error: unknown) => {
  if (length > 0 && (isProblem(error, "too-much") || isProblem(error, "unavailable"))) return undefined;
  throw error;
};

/** Shows a request with its output or error, for as long as its result is kept. */
async function shownRequest(
  { queue, clock, outputs }: BatchRouteParts,
  { id, job, end }: RequestState,
  isDraft: boolean,
  admit: Admit,
): Promise<string | Uint8Array> {
  const isEnded = job !== undefined && jobLifecycle.isFinal(job.state);
  const reading = isEnded ? await queue.read(id, clock.now(), ["result"], admit) : undefined;
  const result = typeof reading === "object" ? reading.result : undefined;
  // A result that is kept behind a URL is shown as that URL, as everywhere else.
  const link = isEnded ? outputs.link(job) : undefined;
  const own = JSON.stringify({
    id,
    ...standing({ id, job, end }, isDraft),
    actions: job ? jobLifecycle.actions(job.state) : [],
    ...(result ? {} : errorOf(job, isEnded)),
    ...(link ? { output: link } : {}),
  });
  return result ? splice(result, own.slice(1)) : own;
}

function standing({ job, end }: RequestState, isDraft: boolean) {
  if (!job) return end ?? { status: isDraft ? "DRAFT" : "IN_QUEUE" };
  const { state, startedAt, endedAt } = job;
  return {
    status: state,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(endedAt === undefined ? {} : { completedAt: endedAt }),
  };
}

const errorOf = (job: Job | undefined, isEnded: boolean) =>
  isEnded && job?.reason !== undefined
    ? { error: job.reason, ...(job.reasonCode !== undefined && { errorCode: job.reasonCode }) }
    : {};

async function readRequests(
  { reader }: BatchRouteParts,
  { caller, request, reply, memory }: Asked,
): Promise<RequestText[]> {
  refuseTooLarge(request, BODY_LIMIT);
  const bytes = await readBody(request, reply.raw, { limit: BODY_LIMIT, clock: reader.clock, memory });
  if (bytes.length === 0)
    throw problem("unreadable", "the request body is empty; a JSON array of requests is required");
  const requests =
    bytes.length > LARGE_BYTES ? await reader.large.requests(bytes, caller.account) : readBatchBody(bytes);
  if (requests.some(({ body }) => Buffer.byteLength(body) > reader.limits.run)) throw tooLarge(reader.limits.run);
  return sealEach(reader.vault, requests);
}

/** Lets other work run in between, since a batch may have thousands of credentials. */
async function sealEach(vault: Vault, requests: readonly BatchRequest[]): Promise<RequestText[]> {
  const texts: RequestText[] = [];
  const slices = new Slices(SEALED_AT_ONCE);
  for (const { body, terms, credentials } of requests) {
    const sealed = await sealFound(vault, body, credentials);
    texts.push(sealed === undefined ? { body, terms } : { body: sealed, terms, sealed: true });
    await slices.did(SEALING + body.length);
  }
  return texts;
}

function pageAsked(request: Request): { offset: number; limit: number } {
  const search = searchOf(request);
  return { offset: numberOf(search, "offset", BATCH_PAGE_OFFSET), limit: numberOf(search, "limit", BATCH_PAGE_LIMIT) };
}
