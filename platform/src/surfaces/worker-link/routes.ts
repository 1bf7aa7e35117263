/** The worker link: the public worker protocol, and a batched form of it for our own worker library. */
import { chunksOf } from "../../jobs/chunks.ts";
import { holderName, workerOf } from "../../jobs/holder.ts";
import { KEPT_OF_TOO_LONG, type Report, readReport, tooLong } from "../../jobs/report.ts";
import { warmUpId } from "../../jobs/warm-up.ts";
import type { Reported, WorkerCall, WorkerDesk } from "../../jobs/worker-desk.ts";
import {
  HOLD_STOP_MS,
  HOLD_TAKE_MS,
  LONGEST_HOLD_MS,
  MOST_TAKEN,
  workerLinkOperations,
} from "../../jobs/worker-link-operations.ts";
import type { BodyMemory } from "../../kernel/body-memory.ts";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { jobIdParts } from "../../kernel/ids.ts";
import type { Log } from "../../kernel/log.ts";
import { isProblem, problem } from "../../kernel/problem.ts";
import { because } from "../../kernel/reason.ts";
import { storable } from "../../kernel/storable.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import type { Vault } from "../../ports/vault/vault.ts";
import type { WorkerKeys } from "../../resources/endpoints/worker-keys.ts";
import { announcedLength, readBody } from "../http/body.ts";
import { bodyPieces } from "../http/body-pieces.ts";
import type { Doorkeeper } from "../http/doorkeeper.ts";
import { ClientGone } from "../http/gone.ts";
import { JSON_TYPE, searchOf } from "../http/pipeline.ts";
import { plainly } from "../http/plain-door.ts";
import { sendRefusal } from "../http/refusal.ts";
import type { Answering, Params, Reply, Request } from "../http/reply.ts";
import { RequestMemory } from "../http/request-memory.ts";
import type { Router } from "../http/router.ts";
import { LARGE_BYTES, type LargeJson } from "../invoke/large-json.ts";
import { flatError, keyOf } from "../invoke/surface.ts";
import { Admission } from "./admission.ts";
import { batchSize, countIn, numberIn } from "./counts.ts";
import { type Handed, handOut } from "./handing.ts";
import { HeldCalls } from "./held-calls.ts";
import { type JobText, joined } from "./job-text.ts";
import { longReport, takeLarge } from "./large-result.ts";
import { BATCH_LIMIT, readLines } from "./lines.ts";
import { linkStatuses } from "./statuses.ts";

export interface WorkerLinkGiven {
  desk: WorkerDesk;
  keys: WorkerKeys;
  vault: Vault;
  queue: Pick<Queue, "outputs" | "read">;
  large: LargeJson;
  doorkeeper: Doorkeeper;
  memory: BodyMemory;
  /** The most bytes of a result that is read as a whole. */
  outputLimit: number;
  /** The most bytes of any result. */
  largeLimit: number;
  clock: Clock;
  log: Log;
}

interface WorkerLinkParts extends WorkerLinkGiven {
  holding: HeldCalls;
}

/** A wrong key is answered late: the public worker package would otherwise ask 800 times a second. */
const WRONG_KEY_HOLD_MS = 5000;
const NDJSON_TYPE = "application/x-ndjson; charset=utf-8";

class Asked {
  readonly call: WorkerCall;
  readonly job: string;
  readonly request: Request;
  readonly reply: Reply;
  /** The account that the worker belongs to. */
  account = "";
  memory!: RequestMemory;
  readonly #pathQuery: string;

  constructor(request: Request, reply: Reply, params: Params) {
    const { endpoint_id: endpoint = "", worker_id: worker = "", job_id: job = "" } = params;
    this.call = { endpoint, worker: holderName(endpoint, storable(nameIn(worker))) };
    this.job = storable(nameIn(job));
    this.request = request;
    this.reply = reply;
    this.#pathQuery = `${queryIn(worker)}${queryIn(job)}`;
  }

  /** Parsed only on demand: taking one job never needs it. */
  get search(): URLSearchParams {
    const search = searchOf(this.request);
    if (this.#pathQuery !== "")
      for (const [name, text] of new URLSearchParams(this.#pathQuery)) search.append(name, text);
    return search;
  }
}

/** Some releases append `&name=value` to a URL without a query, so what follows an `&` in the path is read as the query. */
const nameIn = (segment: string) => (segment.includes("&") ? segment.slice(0, segment.indexOf("&")) : segment);
const queryIn = (segment: string) => (segment.includes("&") ? segment.slice(segment.indexOf("&")) : "");

type Work = (parts: WorkerLinkParts, asked: Asked) => Promise<Reply>;
const works: Record<keyof typeof workerLinkOperations, Work> = {
  takeJob: (parts, asked) => take(parts, asked, 1),
  takeJobs: (parts, asked) => take(parts, asked, batchSize(asked.search)),
  reportJob: done,
  reportChunk: stream,
  awaitStops: stop,
  pingWorker: ping,
  exchangeJobs: exchange,
};

export function mountWorkerLink(router: Router, given: WorkerLinkGiven): void {
  const parts = { ...given, holding: new HeldCalls() };
  for (const [name, { method, path }] of Object.entries(workerLinkOperations)) {
    const work = works[name as keyof typeof works];
    // HEAD would take a job and give it to no one.
    const own: Answering = (request, reply, params) => answer(parts, work, request, reply, params);
    router.addExactly([method], path, plainly(own));
  }
}

/** Errors have the same form as in invocation. */
async function answer(
  parts: WorkerLinkParts,
  work: Work,
  request: Request,
  reply: Reply,
  params: Params,
): Promise<Reply> {
  let memory: RequestMemory | undefined;
  try {
    const asked = new Asked(request, reply, params);
    const account = accountOf(parts, asked);
    asked.account = (account instanceof Promise ? await account : account) ?? (await refuseStranger(parts, asked));
    memory = new RequestMemory(parts.memory, asked.account, reply.raw);
    asked.memory = memory;
    return await work(parts, asked);
  } catch (error) {
    if (!isProblem(error))
      parts.log.error({ err: error, path: request.url.split("?", 1)[0] }, "unforeseen fault on the worker link");
    const refusal = isProblem(error) ? error : problem("fault", "the server had a fault; try again");
    return sendRefusal(reply, refusal, flatError(refusal, linkStatuses));
  } finally {
    memory?.[Symbol.dispose]();
  }
}

/** The account of the worker that asks, or undefined for a stranger. */
function accountOf(
  { keys }: WorkerLinkParts,
  { call, request }: Asked,
): string | undefined | Promise<string | undefined> {
  const header = request.headers.authorization;
  return header === undefined ? undefined : keys.opens(keyOf(header), call.endpoint, workerOf(call.worker));
}

async function refuseStranger({ clock, log, holding }: WorkerLinkParts, { call }: Asked): Promise<never> {
  log.warn({ ...call }, "a worker came with a key that does not open its routes of this endpoint");
  await holding.holdStranger(() => sleep(clock, WRONG_KEY_HOLD_MS));
  throw problem("unauthenticated", "this key does not open the routes of this worker");
}

/** Only held requests are refused. Results never are, since the public worker package gives them up after any 4xx. */
async function held<T>(
  { doorkeeper, holding }: WorkerLinkParts,
  { call, account, request }: Asked,
  work: () => Promise<T>,
): Promise<T> {
  doorkeeper.admit(request.socket, account);
  using _held = holding.hold(call.worker);
  return await work();
}

async function take(parts: WorkerLinkParts, asked: Asked, limit: number): Promise<Reply> {
  const { call, reply } = asked;
  const handed = await claim(parts, asked, { limit, waitMs: HOLD_TAKE_MS });
  if (handed.length === 0) return sendNothing(parts, call, reply);
  const texts = handed.map(({ text }) => text);
  const single = limit === 1 && !asked.request.url.includes("/job-take-batch/");
  return sendJobs(parts, call, handed, reply.type(JSON_TYPE), single ? texts[0]! : joined(texts, ["[", ",", "]"]));
}

/** Finishes N jobs and takes up to N new ones in a single request. Lines of text: `<job id> <attempt> <result object>`. */
async function exchange(parts: WorkerLinkParts, asked: Asked): Promise<Reply> {
  const { call, search, reply } = asked;
  await reportLines(parts, asked);
  const limit = numberIn(search.get("take"), { least: 0, most: MOST_TAKEN, standard: 1 });
  const waitMs = numberIn(search.get("wait"), { least: 0, most: LONGEST_HOLD_MS, standard: HOLD_TAKE_MS });
  const handed = limit === 0 ? [] : await claim(parts, asked, { limit, waitMs, withAttempt: true });
  if (handed.length === 0) return reply.code(204).send();
  const texts = handed.map(({ text }) => text);
  return sendJobs(parts, call, handed, reply.type(NDJSON_TYPE), joined(texts, ["", "\n", "\n"]));
}

/** The lines are freed from memory before the worker waits for jobs. */
async function reportLines(parts: WorkerLinkParts, { call, request, reply, memory }: Asked): Promise<void> {
  const bytes = await sentAgain(readBody(request, reply.raw, { limit: BATCH_LIMIT, clock: parts.clock, memory }));
  for await (const reports of readLines({ ...parts, whose: call.endpoint }, bytes)) await report(parts, call, reports);
  memory.release();
}

/** Releases staged outputs that no job took, because no one waits for their results any more. */
async function report({ desk, queue, log }: WorkerLinkParts, call: WorkerCall, reports: Reported[]): Promise<void> {
  try {
    await desk.report(call, reports);
  } finally {
    for (const { report } of reports) {
      if (report.kind !== "end" || !report.large) continue;
      const failed = (error: unknown) => log.warn({ err: error }, "a staged output could not be let go of");
      await queue.outputs.unstage(report.large.key).catch(failed);
    }
  }
}

async function claim(
  parts: WorkerLinkParts,
  asked: Asked,
  { limit, waitMs, withAttempt = false }: { limit: number; waitMs: number; withAttempt?: boolean },
): Promise<Handed[]> {
  const { call, reply, memory } = asked;
  const admission = new Admission(memory);
  const gone = new ClientGone(reply);
  const taking = () => parts.desk.take(call, { limit, waitMs, gone, admit: (bytes) => admission.ask(bytes) });
  const claimed = await held(parts, asked, taking);
  if (!admission.refusal || claimed.length === 0) return handOut(parts, call, claimed, withAttempt);
  await parts.desk.handBack(
    call,
    claimed.map(({ job }) => job),
  );
  throw admission.refusal;
}

/**
 * A job is never written to a socket that is closed, or that is closing because the worker dropped it. It goes back as if it had not been
 * taken.
 */
async function sendJobs(
  { desk }: WorkerLinkParts,
  call: WorkerCall,
  handed: Handed[],
  reply: Reply,
  text: JobText,
): Promise<Reply> {
  if (reply.raw.destroyed || reply.raw.socket?.destroyed || reply.raw.socket?.writableEnded) {
    await desk.handBack(
      call,
      handed.map(({ job }) => job),
    );
    return reply.code(204).send();
  }
  return reply.send(text);
}

/** A frozen worker reads this after its thaw and must ask again on another connection. Our library's exchanges keep theirs. */
function sendNothing({ desk }: WorkerLinkParts, call: WorkerCall, reply: Reply): Reply {
  if (desk.withheld.isFrozen(call)) reply.header("Connection", "close");
  return reply.code(204).send();
}

/** Results are never refused. A result that cannot be read or is too long fails its job with the reason. */
async function done(parts: WorkerLinkParts, asked: Asked): Promise<Reply> {
  const { call, job, search, reply } = asked;
  const reported = { id: job, report: await reportOf(parts, asked), attempt: countIn(search, "attempt") };
  await report(parts, call, [reported]);
  return reply.type(JSON_TYPE).send("{}");
}

async function reportOf(parts: WorkerLinkParts, asked: Asked): Promise<Report> {
  const { call, request, reply } = asked;
  const { clock, outputLimit: limit, largeLimit } = parts;
  const rest = () => bodyPieces(request, reply.raw, clock);
  if (largeLimit > limit && announcedLength(request) > limit) return sentAgain(takeLarge(parts, rest()));
  const bytes = await bodyOrOverflow(parts, asked);
  if (bytes instanceof Overflow) {
    return sentAgain(longReport(parts, followedBy(bytes.came, rest()), bytes.came));
  }
  return bytes.length > LARGE_BYTES ? parts.large.report(bytes, call.endpoint) : readReport(bytes.toString());
}

async function* followedBy(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}

/** The part of a body that arrived before it was found to be too long. More may follow. */
class Overflow {
  readonly came: Buffer;

  constructor(came: Buffer) {
    this.came = came;
  }
}

async function bodyOrOverflow(
  { clock, outputLimit: limit }: WorkerLinkParts,
  { request, reply, memory }: Asked,
): Promise<Buffer | Overflow> {
  let came: Buffer = Buffer.alloc(0);
  const overflow = (bytes: Buffer) => {
    came = bytes;
    request.pause();
  };
  try {
    return await sentAgain(readBody(request, reply.raw, { limit, clock, memory, overflow }));
  } catch (error) {
    if (isProblem(error, "too-large")) return new Overflow(came);
    throw error;
  }
}

/** The public worker package retries after 503, but gives a result up after any 4xx. */
async function sentAgain<T>(reading: Promise<T> | T): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (isProblem(error, "too-much")) {
      const { detail, retryAfterS, reason } = error;
      throw problem("unavailable", detail, { retryAfterS, reason });
    }
    if (isProblem(error, "too-slow"))
      throw problem("unavailable", `${error.detail} Send it again.`, { reason: error.reason });
    throw error;
  }
}

async function stream(parts: WorkerLinkParts, asked: Asked): Promise<Reply> {
  const { call, job, search, reply } = asked;
  const bytes = await bodyOrOverflow(parts, asked);
  const attempt = countIn(search, "attempt");
  const sequence = countIn(search, "sequence");
  const numbered = attempt !== undefined && sequence !== undefined ? { attempt, sequence } : undefined;
  // A stream with a gap would look complete, so the job fails.
  if (bytes instanceof Overflow) {
    const report = tooLong(parts.outputLimit, bytes.came.toString("utf8", 0, KEPT_OF_TOO_LONG));
    await parts.desk.report(call, [{ id: job, report, attempt }]);
  } else {
    const chunks =
      bytes.length > LARGE_BYTES ? await parts.large.chunks(bytes, call.endpoint) : chunksOf(bytes.toString());
    await parts.desk.stream(call, { id: job, chunks, numbered });
  }
  return reply.type(JSON_TYPE).send("{}");
}

async function stop(parts: WorkerLinkParts, asked: Asked): Promise<Reply> {
  const { call, reply } = asked;
  const stopping = () => parts.desk.stops(call, { waitMs: HOLD_STOP_MS, gone: new ClientGone(reply) });
  const jobsToStop = await held(parts, asked, stopping);
  return jobsToStop.length === 0
    ? sendNothing(parts, call, reply)
    : reply.type(JSON_TYPE).send(JSON.stringify({ jobsToStop }));
}

async function ping({ desk, log }: WorkerLinkParts, { call, search, reply }: Asked): Promise<Reply> {
  if (search.get("status") === "unhealthy") {
    const [check, reason] = [search.get("check"), search.get("reason")];
    // The worker's own words belong to its account, which finds them in the reasons of jobs and workers. So they are not logged.
    log.warn({ ...call }, "a worker says that it is not fit to work");
    const words = `${check ?? "a check"} failed: ${reason ?? "no reason given"}`;
    await desk.unfit(call, because("not-fit", {}, words));
  } else {
    await desk.ping(call, listedIn(call, search), search.get("runpod_version") ?? undefined);
  }
  return reply.type(JSON_TYPE).send("{}");
}

/** Ids that no job can have are dropped, since looking up ten thousand of them would take a while. */
function listedIn(call: WorkerCall, search: URLSearchParams): Set<string> {
  const ids = (search.get("job_id") ?? "").split(",");
  return new Set(ids.filter((id) => jobIdParts(id) !== undefined || id === warmUpId(call)));
}
