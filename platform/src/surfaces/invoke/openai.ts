/** The OpenAI-compatible route: a request becomes a job, and the job's stream becomes the answer. */
import type { GuestDoor } from "../../guards/guest-door.ts";
import type { Engine, Waiting } from "../../jobs/engine.ts";
import type { Outputs } from "../../jobs/outputs.ts";
import { BEGINNING, errorOf, type StreamPosition, type Streams, type StreamView } from "../../jobs/stream.ts";
import type { Clock } from "../../kernel/clock.ts";
import { parseKeptJson } from "../../kernel/json.ts";
import { JsonText } from "../../kernel/json-text.ts";
import { type Job, jobLifecycle } from "../../ports/queue/job.ts";
import type { PublicEndpointService } from "../../resources/public-endpoints/service.ts";
import { readBody, refuseTooLarge } from "../http/body.ts";
import { drained } from "../http/events.ts";
import { ClientGone } from "../http/gone.ts";
import { writeHead } from "../http/head.ts";
import type { Reply, Request } from "../http/reply.ts";
import { countedIn } from "../http/request-memory.ts";
import { LARGE_BYTES } from "./large-json.ts";
import { type OpenAiInput, openAiBody, wantsStream } from "./openai-input.ts";
import { type Asked, submitterOf } from "./route.ts";
import type { SubmissionReader } from "./submission.ts";
import { admitted } from "./submitting.ts";

export interface OpenAiParts {
  engine: Engine;
  streams: Streams;
  outputs: Outputs;
  reader: Pick<SubmissionReader, "limits" | "large">;
  clock: Clock;
  guestDoor: GuestDoor;
  publicEndpoints: PublicEndpointService;
}

const KEEP_ALIVE_MS = 15_000;
const DONE = "data: [DONE]";
const ENDING = "the server is shutting down; the job continues";

export async function openAi(parts: OpenAiParts, asked: Asked): Promise<unknown> {
  const { engine } = parts;
  const { endpoint, reply } = asked;
  const { job, wantsStream } = await submitted(parts, asked);
  reply.header("X-Job-Id", job.id);
  const gone = new ClientGone(reply);
  try {
    return wantsStream ? await streamed(parts, asked, job.id, gone) : await whole(parts, asked, job.id, gone);
  } finally {
    // The client hung up, so the job is cancelled. A job that has already ended is not changed by this.
    if (gone.aborted && !reply.raw.writableFinished)
      await engine.cancel(endpoint.id, job.id, true).catch(() => undefined);
  }
}

/** Stores the job and frees the memory of its body, since the job may take minutes. */
async function submitted(parts: OpenAiParts, called: Asked): Promise<{ job: Job; wantsStream: boolean }> {
  const { endpoint, request, params, memory } = called;
  const input = request.method === "POST" ? await readInput(parts, called) : undefined;
  const asked = called.guest ? await admitted(parts, called) : called;
  const body = openAiBody(routeOf(request, params["*"]!), input?.text);
  const terms = { errorRetries: 0, lowPriority: false, webhooks: [], hasCredential: false };
  const by = asked.endpoint.isShared ? { by: submitterOf(asked) } : {};
  const job = await parts.engine.submit({ endpoint, terms, body, mode: "runsync", ...by });
  memory.release();
  return { job, wantsStream: input?.wantsStream ?? false };
}

async function readInput(
  { clock, reader }: OpenAiParts,
  { caller, request, reply, memory }: Asked,
): Promise<OpenAiInput> {
  const limit = reader.limits.runsync;
  refuseTooLarge(request, limit);
  const bytes = await readBody(request, reply.raw, { limit, clock, memory });
  if (bytes.length === 0) return { text: "{}", wantsStream: false };
  if (bytes.length > LARGE_BYTES) {
    const { bytes: text, ...asked } = await reader.large.openAi(bytes, caller.account);
    return { text, ...asked };
  }
  const { text, value } = parseKeptJson(bytes);
  return { text, wantsStream: wantsStream(value) };
}

/** `/v2/{id}/openai/v1/models?limit=2` becomes `/v1/models?limit=2`. */
function routeOf(request: Request, path: string): string {
  const mark = request.url.indexOf("?");
  return `/${path}${mark < 0 ? "" : request.url.slice(mark)}`;
}

async function whole(
  { engine, outputs, reader }: OpenAiParts,
  { endpoint, reply, memory }: Asked,
  id: string,
  gone: ClientGone,
): Promise<unknown> {
  const waiting: Waiting = { waitMs: endpoint.executionTimeoutMs, gone, ...countedIn(memory) };
  const { job, result } = await engine.waitFor(endpoint.id, id, waiting);
  if (gone.aborted) return reply;
  if (!jobLifecycle.isFinal(job.state)) {
    return failed(reply, 504, `the worker did not answer within ${endpoint.executionTimeoutMs} ms`);
  }
  const elsewhere = leadsElsewhere(outputs, job);
  if (elsewhere !== undefined) return failed(reply, 500, elsewhere);
  if (job.state !== "COMPLETED") return failed(reply, 500, errorOf(job, result) ?? `the job was ${job.state}`);
  const answer = await reader.large.openAiAnswer(result ?? "{}", endpoint.id);
  return "text" in answer ? new JsonText(answer.text) : failed(reply, answer.status, answer.message);
}

/** Sends text as it arrives. The status is sent with the first text, so that an early failure can still set it. */
async function streamed(
  { streams, outputs, reader }: OpenAiParts,
  { endpoint, reply, memory }: Asked,
  id: string,
  gone: ClientGone,
): Promise<unknown> {
  const waiting: Waiting = { waitMs: KEEP_ALIVE_MS, gone, ...countedIn(memory) };
  let position: StreamPosition = BEGINNING;
  let closing = "";
  while (!gone.aborted) {
    const view = await streams.next(endpoint.id, id, position, waiting);
    if (gone.aborted) break;
    const elsewhere = view.isWhole ? leadsElsewhere(outputs, view.job) : undefined;
    const isOver = elsewhere !== undefined || (view.chunks.length === 0 && jobLifecycle.isFinal(view.job.state));
    const isLetGo = streams.closed && view.chunks.length === 0 && !isOver;
    const failure = elsewhere ?? (isOver || isLetGo ? failureOf(view) : undefined);
    if (elsewhere !== undefined) view.chunks = [];
    if (failure !== undefined && !reply.raw.headersSent) return failed(reply, isLetGo ? 503 : 500, failure);
    startEvents(reply, id);
    if (failure !== undefined) reply.raw.write(`data: ${JSON.stringify(errorObject(failure))}\n\n`);
    for (const text of await reader.large.shown("openAiEvents", view.chunks, endpoint.id)) {
      closing = text.trimEnd().slice(-DONE.length) || closing;
      reply.raw.write(text);
    }
    await drained(reply.raw, gone);
    memory.release();
    position = view.chunks.at(-1) ?? position;
    if (isOver || isLetGo) break;
    if (view.chunks.length === 0) reply.raw.write(": waiting\n\n");
  }
  if (!gone.aborted) reply.raw.end(closing.endsWith(DONE) ? "" : `${DONE}\n\n`);
  return reply;
}

function startEvents(reply: Reply, id: string): void {
  if (reply.raw.headersSent) return;
  writeHead(reply.raw, 200, {
    ...reply.headers,
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
    "x-job-id": id,
  });
  reply.raw.flushHeaders();
}

function failed(reply: Reply, status: number, message: string): JsonText {
  reply.code(status);
  return new JsonText(JSON.stringify(errorObject(message)));
}

const errorObject = (message: string) => ({ error: { message, type: "worker_error", code: null } });

/** Clients of this route do not follow links, so the error message contains the link. */
function leadsElsewhere(outputs: Outputs, job: Job): string | undefined {
  const link = job.state === "COMPLETED" ? outputs.link(job) : undefined;
  return link && `the output has ${link.bytes} bytes, which is too long for this route: it is at ${link.url}`;
}

/** Undefined if the job completed. If the job has not ended, the server is shutting down and stops waiting for it. */
function failureOf({ job, error }: StreamView): string | undefined {
  if (job.state === "COMPLETED") return undefined;
  if (!jobLifecycle.isFinal(job.state)) return ENDING;
  return error ?? `the job was ${job.state}`;
}
