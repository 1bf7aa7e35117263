/** `/stream`: returns what a job has streamed since the last answer, or all of it as server-sent events. */
import { withMetrics } from "../../jobs/chunks.ts";
import type { Engine, Waiting } from "../../jobs/engine.ts";
import { STREAM_WAIT } from "../../jobs/model.ts";
import type { Outputs } from "../../jobs/outputs.ts";
import { jobRecord } from "../../jobs/record.ts";
import { BEGINNING, type StreamPosition, type Streams, type StreamView } from "../../jobs/stream.ts";
import { eventText } from "../../kernel/event-block.ts";
import { JsonText } from "../../kernel/json-text.ts";
import { problem } from "../../kernel/problem.ts";
import { type Job, type JobState, jobLifecycle } from "../../ports/queue/job.ts";
import { drained, eventHeaders, KEEP_ALIVE_MS } from "../http/events.ts";
import { ClientGone } from "../http/gone.ts";
import { writeHead } from "../http/head.ts";
import { searchOf } from "../http/pipeline.ts";
import type { Reply, Request } from "../http/reply.ts";
import { countedIn, type RequestMemory } from "../http/request-memory.ts";
import type { LargeJson } from "./large-json.ts";
import { type StreamStandard, streamForm } from "./stream-form.ts";

export interface StreamParts {
  engine: Engine;
  streams: Streams;
  outputs: Outputs;
  streamStandard: StreamStandard;
  large: Pick<LargeJson, "shown">;
}

interface Asked {
  endpoint: { id: string };
  job: string;
  request: Request;
  reply: Reply;
  memory: RequestMemory;
}

export async function stream(parts: StreamParts, asked: Asked): Promise<unknown> {
  const { request } = asked;
  const form = streamForm(request.method, searchOf(request), request.headers, parts.streamStandard);
  return form === "events" ? events(parts, asked) : poll(parts, asked, form);
}

/** Each job has one cursor. It moves only after the answer is written, so a client that vanished earlier has lost nothing. */
async function poll(
  parts: StreamParts,
  { endpoint, job: id, request, reply, memory }: Asked,
  form: "array" | "object",
) {
  const search = searchOf(request);
  const from = search.get("from");
  const waiting = { waitMs: holdMs(search.get("wait")), gone: new ClientGone(reply), ...countedIn(memory) };
  const view =
    from === null
      ? await nextUnread(parts, { endpoint: endpoint.id, id, waiting }, reply)
      : await parts.streams.next(endpoint.id, id, parsePosition(from), waiting);
  reply.header("X-Job-Status", shownState(view));
  const items = await parts.large.shown("items", view.chunks, endpoint.id);
  return new JsonText(form === "array" ? arrayForm(view, items) : objectForm(view, items));
}

interface Ask {
  endpoint: string;
  id: string;
  waiting: Waiting;
}

async function nextUnread(
  { engine, streams }: StreamParts,
  { endpoint, id, waiting }: Ask,
  reply: Reply,
): Promise<StreamView> {
  for (;;) {
    await streams.answering.get(id);
    const after = cursorOf((await engine.read(endpoint, id)).job);
    const view = await streams.next(endpoint, id, after, waiting);
    const last = view.errorAt ?? view.chunks.at(-1);
    if (!last) return view;
    // Another answer may have returned these chunks meanwhile.
    const { sequence, attempt } = cursorOf((await engine.read(endpoint, id)).job);
    if (streams.answering.has(id) || sequence !== after.sequence || attempt !== after.attempt) continue;
    const settled = cursorMoved(engine, view.job, last, reply).finally(() => streams.answering.delete(id));
    streams.answering.set(id, settled);
    return view;
  }
}

async function cursorMoved(engine: Engine, job: Job, last: StreamPosition, { raw }: Reply): Promise<void> {
  if (!raw.destroyed) await new Promise((resolve) => raw.once("close", resolve));
  // If the move fails, these chunks are sent again, which is better than not at all.
  if (raw.writableFinished) await engine.moveCursor(job, last).catch(() => undefined);
}

/** Chunks of an earlier attempt are gone, so reading starts over. */
function cursorOf({ cursor, attempt }: Job): StreamPosition {
  return cursor && cursor.attempt === attempt ? cursor : BEGINNING;
}

/** Clients stop at the first final state, so the end is shown only with the last chunks. */
const shownState = ({ job, isLast }: StreamView): JobState =>
  isLast || !jobLifecycle.isFinal(job.state) ? job.state : "IN_PROGRESS";

/** Adds a failure as the last item, so that readers of plain arrays see it. It has the keys that they look for. */
function arrayForm({ job, error, errorAt }: StreamView, items: readonly string[]): string {
  if (!errorAt) return `[${items.join(",")}]`;
  const failure = JSON.stringify({ output: null, error, status: job.state });
  return `[${[...items, JSON.stringify(withMetrics(failure, errorAt.sequence))].join(",")}]`;
}

function objectForm(view: StreamView, items: readonly string[]): string {
  const { error } = view;
  const failure = error === undefined ? "" : `,"error":${JSON.stringify(error)}`;
  return `{"status":"${shownState(view)}","stream":[${items.join(",")}]${failure}}`;
}

/**
 * Sends every chunk once and in order, starting after `Last-Event-ID`. It sends `reset` when a new attempt begins, and `end` with the
 * record.
 */
async function events(
  { engine, streams, outputs, large }: StreamParts,
  { endpoint, job: id, request, reply, memory }: Asked,
): Promise<Reply> {
  const resumed = request.headers["last-event-id"];
  let position = typeof resumed === "string" ? parsePosition(resumed) : BEGINNING;
  const { job } = await engine.read(endpoint.id, id);
  const gone = new ClientGone(reply);
  const { raw } = reply;
  const waiting = { waitMs: KEEP_ALIVE_MS, gone, ...countedIn(memory) };
  writeHead(raw, 200, { ...reply.headers, ...eventHeaders, "x-job-status": job.state });
  raw.flushHeaders();
  while (!gone.aborted && !streams.closed) {
    const view = await streams.next(endpoint.id, id, position, waiting).catch(() => undefined);
    if (!view) break;
    if (position.attempt > 0 && view.job.attempt > position.attempt) {
      position = { attempt: view.job.attempt, sequence: 0 };
      raw.write(eventText({ name: "reset", data: { attempt: view.job.attempt } }));
      continue;
    }
    const items = await large.shown("items", view.chunks, endpoint.id);
    for (const [i, { attempt, sequence }] of view.chunks.entries())
      raw.write(`id: ${attempt}.${sequence}\ndata: ${items[i]}\n\n`);
    position = view.chunks.at(-1) ?? position;
    if (view.chunks.length > 0) await drained(raw, gone);
    else if (jobLifecycle.isFinal(view.job.state)) {
      raw.write("event: end\ndata: ");
      raw.write(jobRecord({ ...view, link: outputs.link(view.job) }));
      raw.write("\n\n");
      break;
    } else raw.write(": waiting\n\n");
    memory.release();
  }
  raw.end();
  return reply;
}

function parsePosition(text: string): StreamPosition {
  const match = /^(\d{1,9})\.(\d{1,15})$/.exec(text);
  if (!match)
    throw problem(
      "invalid",
      `a position in a stream is '<attempt>.<sequence>', such as 1.12, not '${text.slice(0, 40)}'`,
    );
  return { attempt: Number(match[1]), sequence: Number(match[2]) };
}

function holdMs(text: string | null): number {
  if (text === null) return STREAM_WAIT.standard;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= STREAM_WAIT.least && value <= STREAM_WAIT.most)) {
    throw problem(
      "invalid",
      `'wait' must be an integer from ${STREAM_WAIT.least} to ${STREAM_WAIT.most} (milliseconds)`,
    );
  }
  return value;
}
