/** The OpenAI-compatible route: a request becomes a job, and the job's stream becomes the answer. */
import type { EndpointTerms, Engine } from "../../jobs/engine.ts";
import type { Outputs } from "../../jobs/outputs.ts";
import { BEGINNING, type Position, type Streams, type StreamView } from "../../jobs/stream.ts";
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Gone } from "../../kernel/gone.ts";
import { parseKeptJson } from "../../kernel/json.ts";
import { problem } from "../../kernel/problem.ts";
import { type Job, jobLifecycle, type Payload } from "../../ports/queue/job.ts";
import { readBody, refuseTooLarge } from "../http/body.ts";
import { ClientGone } from "../http/gone.ts";
import { writeHead } from "../http/head.ts";
import { JsonText } from "../http/pipeline.ts";
import type { Params, Reply, Request } from "../http/reply.ts";
import { LARGE_BYTES } from "./large-json.ts";
import { type OpenAiInput, openAiBody, wantsStream } from "./openai-input.ts";
import type { SubmissionReader } from "./submission.ts";

export interface OpenAiParts {
  engine: Engine;
  streams: Streams;
  outputs: Outputs;
  reader: Pick<SubmissionReader, "limits" | "large">;
  clock: Clock;
}

interface Asked {
  caller: Pick<Caller, "account">;
  endpoint: EndpointTerms;
  request: Request;
  reply: Reply;
  params: Params;
}

const KEEP_ALIVE_MS = 15_000;
const DONE = "data: [DONE]";
const ENDING = "the server is being ended; the job goes on";

export async function openAi(parts: OpenAiParts, asked: Asked): Promise<unknown> {
  const { engine } = parts;
  const { endpoint, request, reply, params } = asked;
  const input = request.method === "POST" ? await readInput(parts, asked) : undefined;
  const body = openAiBody(routeOf(request, params["*"]!), input?.text);
  const terms = { errorRetries: 0, lowPriority: false, webhooks: [], hasCredential: false };
  const job = await engine.submit({ endpoint, terms, body, mode: "runsync" });
  reply.header("X-Job-Id", job.id);
  const gone = new ClientGone(reply);
  try {
    return input?.wantsStream ? await streamed(parts, asked, job.id, gone) : await whole(parts, asked, job.id, gone);
  } finally {
    // Nobody reads what a client that hung up was waiting for; a job that has ended is not changed by this.
    if (gone.aborted && !reply.raw.writableFinished) await engine.cancel(endpoint.id, job.id).catch(() => undefined);
  }
}

async function readInput({ clock, reader }: OpenAiParts, { caller, request, reply }: Asked): Promise<OpenAiInput> {
  const limit = reader.limits.runsync;
  refuseTooLarge(request, limit);
  const bytes = await readBody(request, reply.raw, { limit, clock });
  if (bytes.length === 0) return { text: "{}", wantsStream: false };
  if (bytes.length > LARGE_BYTES) {
    const { bytes: text, ...asked } = await reader.large.openAi(bytes, caller.account);
    return { text, ...asked };
  }
  const { text, value } = parseKeptJson(bytes);
  return { text, wantsStream: wantsStream(value) };
}

/** `/v2/{id}/openai/v1/models?limit=2` asks for `/v1/models?limit=2`. */
function routeOf(request: Request, path: string): string {
  const mark = request.url.indexOf("?");
  return `/${path}${mark < 0 ? "" : request.url.slice(mark)}`;
}

/** Workers yield, and their only item is the answer. */
async function whole(
  { engine, outputs }: OpenAiParts,
  { endpoint, reply }: Asked,
  id: string,
  gone: Gone,
): Promise<unknown> {
  const { job, result } = await engine.waitFor(endpoint.id, id, endpoint.executionTimeoutMs, gone);
  if (gone.aborted) return reply;
  if (!jobLifecycle.isFinal(job.state)) {
    return failed(reply, 504, `the worker did not answer within ${endpoint.executionTimeoutMs} ms`);
  }
  const elsewhere = leadsElsewhere(outputs, job);
  if (elsewhere !== undefined) return failed(reply, 500, elsewhere);
  const { output, error } = parsed(result);
  if (job.state !== "COMPLETED") return failed(reply, 500, error ?? job.reason ?? `the job was ${job.state}`);
  const answer = Array.isArray(output) && output.length === 1 ? output[0] : output;
  const inner = (answer as { error?: unknown } | undefined)?.error;
  return inner ? failed(reply, statusOf(inner), messageOf(inner)) : new JsonText(JSON.stringify(answer ?? null));
}

/** Text goes out as it comes in; the status stays open until the first of it, so that an early failure can still be told by it. */
async function streamed(
  { streams, outputs }: OpenAiParts,
  { endpoint, reply }: Asked,
  id: string,
  gone: Gone,
): Promise<unknown> {
  let position: Position = BEGINNING;
  let closing = "";
  while (!gone.aborted) {
    const view = await streams.next(endpoint.id, id, position, KEEP_ALIVE_MS, gone);
    if (gone.aborted) break;
    const elsewhere = view.isWhole ? leadsElsewhere(outputs, view.job) : undefined;
    const isOver = elsewhere !== undefined || (view.chunks.length === 0 && jobLifecycle.isFinal(view.job.state));
    const isLetGo = streams.closed && view.chunks.length === 0 && !isOver;
    const failure = elsewhere ?? (isOver || isLetGo ? failureOf(view) : undefined);
    if (elsewhere !== undefined) view.chunks = [];
    if (failure !== undefined && !reply.raw.headersSent) return failed(reply, isLetGo ? 503 : 500, failure);
    startEvents(reply, id);
    if (failure !== undefined) reply.raw.write(`data: ${JSON.stringify(errorObject(failure))}\n\n`);
    for (const chunk of view.chunks) {
      const text = eventText((JSON.parse(chunk.text) as { output?: unknown }).output);
      closing = text.trimEnd() || closing;
      reply.raw.write(text);
    }
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

/** Newer workers yield finished event text, older ones objects or lists of them. */
function eventText(output: unknown): string {
  if (typeof output === "string") return output;
  const items = Array.isArray(output) ? output : [output];
  return items.map((item) => (typeof item === "string" ? item : `data: ${JSON.stringify(item)}\n\n`)).join("");
}

function failed(reply: Reply, status: number, message: string): JsonText {
  reply.code(status);
  return new JsonText(JSON.stringify(errorObject(message)));
}

const errorObject = (message: string) => ({ error: { message, type: "worker_error", code: null } });

/** Clients of this route read no links: one says where to look. */
function leadsElsewhere(outputs: Outputs, job: Job): string | undefined {
  const link = job.state === "COMPLETED" ? outputs.link(job) : undefined;
  return link && `the output has ${link.bytes} bytes, which is too long for this route: it is at ${link.url}`;
}

/** Undefined when the job was completed. One that has not ended is let go because the server ends. */
function failureOf({ job, result }: StreamView): string | undefined {
  if (job.state === "COMPLETED") return undefined;
  if (!jobLifecycle.isFinal(job.state)) return ENDING;
  return parsed(result).error ?? job.reason ?? `the job was ${job.state}`;
}

function statusOf(error: unknown): number {
  const { code } = error as { code?: unknown };
  return typeof code === "number" && code >= 400 && code < 600 ? code : 500;
}

function messageOf(error: unknown): string {
  const { message } = error as { message?: unknown };
  return typeof message === "string" ? message : JSON.stringify(error);
}

function parsed(result: Payload | undefined): { output?: unknown; error?: string } {
  if (result === undefined) return {};
  try {
    return JSON.parse(Buffer.from(result).toString());
  } catch (cause) {
    throw problem("internal", "a stored result could not be read", { cause });
  }
}
