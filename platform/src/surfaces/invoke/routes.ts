/** Queue-based invocation: every operation under `/v2/{endpoint_id}`, with the aliases that public clients use. */
import { invokeOperations } from "../../contract.ts";
import { deedOf } from "../../guards/deeds.ts";
import type { GuestDoor } from "../../guards/guest-door.ts";
import { type InvokeLimiter, limitedAs } from "../../guards/invoke-limits.ts";
import { requireScope } from "../../guards/scopes.ts";
import type { Engine, Waiting } from "../../jobs/engine.ts";
import { type Range, RESULT_TTL, WAIT } from "../../jobs/model.ts";
import type { openAiOperations } from "../../jobs/openai-operations.ts";
import type { jobOperations } from "../../jobs/operations.ts";
import type { Outputs } from "../../jobs/outputs.ts";
import { forGuests, isGuests, jobRecord, type Shown, shownWait } from "../../jobs/record.ts";
import type { Streams } from "../../jobs/stream.ts";
import { type WaitFactParts, type WaitFacts, waitFacts } from "../../jobs/wait-facts.ts";
import { waitReason } from "../../jobs/wait-reason.ts";
import type { Ended } from "../../jobs/waiters.ts";
import type { Caller } from "../../kernel/caller.ts";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { JsonText } from "../../kernel/json-text.ts";
import { isProblem, problem } from "../../kernel/problem.ts";
import { methodsOf, type RawOperation, type RawOperations } from "../../kernel/raw-operation.ts";
import type { Job } from "../../ports/queue/job.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import type { BatchService } from "../../resources/batches/service.ts";
import type { EndpointItem, EndpointService } from "../../resources/endpoints/service.ts";
import type { Called, Guest, PublicEndpointService } from "../../resources/public-endpoints/service.ts";
import { healthOf, workerCounts } from "../../resources/workers/health.ts";
import type { WorkerService } from "../../resources/workers/service.ts";
import { readyWorkers } from "../../resources/workers/standing.ts";
import { ClientGone } from "../http/gone.ts";
import { writeHead } from "../http/head.ts";
import { JSON_TYPE, type Pipeline, searchOf } from "../http/pipeline.ts";
import { plainly } from "../http/plain-door.ts";
import type { Answering, Reply, Request } from "../http/reply.ts";
import { countedIn, type RequestMemory } from "../http/request-memory.ts";
import type { Router } from "../http/router.ts";
import type { Surface } from "../http/surface.ts";
import { batchWorks } from "./batches.ts";
import { openAi } from "./openai.ts";
import { linkSurface, output } from "./output.ts";
import { jobDetails, listRequests } from "./requests.ts";
import type { Asked, Works } from "./route.ts";
import { stream } from "./stream.ts";
import type { StreamStandard } from "./stream-form.ts";
import type { SubmissionReader } from "./submission.ts";
import { submissionOf } from "./submitting.ts";

export interface InvokeParts extends Pick<WaitFactParts, "overruns" | "fleet" | "isApart"> {
  pipeline: Pipeline;
  surface: Surface;
  engine: Engine;
  queue: Queue;
  endpoints: EndpointService;
  publicEndpoints: PublicEndpointService;
  guestDoor: GuestDoor;
  workers: WorkerService;
  batches: BatchService;
  reader: SubmissionReader;
  streams: Streams;
  outputs: Outputs;
  streamStandard: StreamStandard;
  /** How many results came from workers that did not hold the job, since this server started. */
  staleReports: (endpoint: string) => number;
  clock: Clock;
  /** Undefined if invocation is not limited. */
  limiter: InvokeLimiter | undefined;
}

/** If the wait is longer than this, the client gets the job's id in early headers, in case it gives up later. */
const EARLY_HEADERS_MS = 100;

export function mountInvoke(router: Router, parts: InvokeParts): void {
  const { pipeline, surface } = parts;
  const works: Works<typeof invokeOperations> = { ...jobWorks(parts), ...batchWorks(parts) };
  for (const [name, operation] of Object.entries(invokeOperations as RawOperations)) {
    const work: Works<RawOperations>[string] = works[name as keyof typeof works];
    const toCallers = answerToCallers(
      parts,
      { ...operation, isForOwnJobs: FOR_OWN_JOBS.has(name) },
      operation.audited ? onRecord(parts, name, operation, work) : work,
    );
    const answer = operation.key === "caller or link" ? answerToLinks(parts, toCallers) : toCallers;
    router.add(methodsOf(operation), operation.path, STREAMED.has(name) ? answer : plainly(answer));
  }
  pipeline.refuseOthers(router, surface, Object.values<RawOperation>(invokeOperations).map(pathAndMethods));
  mountRefusals(router, parts);
}

/** Operations that send their answers piece by piece, or read bodies of any length. */
const STREAMED: ReadonlySet<string> = new Set<keyof typeof invokeOperations>([
  "streamJob",
  "getJobOutput",
  "callOpenAi",
]);

/** What callers may do with their jobs when the endpoint is no longer shared with them. */
const FOR_OWN_JOBS: ReadonlySet<string> = new Set<keyof typeof invokeOperations>([
  "getJob",
  "waitForJob",
  "cancelJob",
  "streamJob",
  "getJobOutput",
  "getJobDetails",
]);

const pathAndMethods = (operation: RawOperation) => ({ path: operation.path, methods: methodsOf(operation) });

function answerToCallers(
  parts: InvokeParts,
  { path, scope, guests, isForOwnJobs }: RawOperation & { isForOwnJobs: boolean },
  work: Works<RawOperations>[string],
): Answering {
  const { pipeline, surface, publicEndpoints, limiter } = parts;
  const limited = limitedAs(path);
  return (request, reply, params) =>
    // This is no async function: nearly always the endpoint is cached, and there is nothing to wait for.
    pipeline.answer(surface, request, reply, (caller, memory) => {
      const { endpoint_id: address = "", job_id: job = "" } = params;
      const answered = ({ id, doc }: EndpointItem, guest?: Guest) => {
        // A key that may submit jobs may also read their results.
        requireScope(caller, scope!, "serverless:invoke");
        const isShared = doc.sharedAs !== undefined;
        const endpoint = { id, release: doc.release, executionTimeoutMs: doc.timeout, isShared };
        const asked = { caller, endpoint, guest, job, request, reply, params, memory };
        const worked = guest ? () => asGuest(parts, asked, guests, work) : () => work(asked);
        if (!limiter) return worked();
        return limiter.within(caller, { id, workersMax: doc.workers.max }, limited, worked);
      };
      const called = publicEndpoints.called(caller, address);
      if (!(called instanceof Promise)) return answered(called);
      const found = isForOwnJobs ? called.catch((error) => calledBefore(parts, caller, address, job, error)) : called;
      return found.then(({ item, guest }) => answered(item, guest));
    });
}

/** Whoever may no longer call a shared endpoint still reaches the jobs that it submitted, since it pays for them. */
async function calledBefore(
  { engine, publicEndpoints }: InvokeParts,
  caller: Caller,
  address: string,
  job: string,
  error: unknown,
): Promise<Called> {
  const before = isProblem(error, "not-found") ? await publicEndpoints.formerly(caller, address) : undefined;
  if (!before) throw error;
  // Anyone else learns the same as about a name that never was.
  await engine.assertSubmittedBy(before.item.id, job, caller.account).catch(() => Promise.reject(error));
  return before;
}

/** A guest may do what concerns its own jobs. Jobs of others do not exist for it. */
async function asGuest(
  { engine }: InvokeParts,
  asked: Asked,
  isOpen: true | undefined,
  work: Works<RawOperations>[string],
): Promise<unknown> {
  const { caller, endpoint, job, params } = asked;
  if (!isOpen)
    throw problem("not-allowed", "only the account that shares this endpoint may do this", {
      reason: "shared-endpoint",
    });
  if (params.job_id !== undefined) await engine.assertSubmittedBy(endpoint.id, job, caller.account);
  return work(asked);
}

/** Jobs are not in the store, so the audit log records their removal before it happens. */
function onRecord(
  { pipeline }: InvokeParts,
  name: string,
  operation: RawOperation,
  work: Works<RawOperations>[string],
): Works<RawOperations>[string] {
  return async (asked) => {
    const { caller, request, params } = asked;
    const auditing = pipeline.auditing(name, request);
    const deed = deedOf(operation, caller, params, auditing);
    return auditing.audit.record(deed, async () => work(asked), { first: true });
  };
}

/** A client with a link to an output needs no key. */
function answerToLinks({ pipeline, surface, outputs }: InvokeParts, toOthers: Answering): Answering {
  return (request, reply, params) => {
    const ofLink = linkSurface(surface, outputs, request, params);
    const { endpoint_id: id = "", job_id: job = "" } = params;
    if (!ofLink) return toOthers(request, reply, params);
    return pipeline.answer(ofLink, request, reply, () => output(outputs, { endpoint: { id }, job, request, reply }));
  };
}

/** Refuses unknown paths in the form of this surface, but only to callers who may know that much. */
function mountRefusals(router: Router, { pipeline, surface }: InvokeParts): void {
  const notFound: Answering = (request, reply) =>
    pipeline.refuse(surface, problem("not-found", "not found"), request, reply);
  router.addRefusal("/v2/{endpoint_id}/{path*}", notFound);
  router.addRefusal("/v2/{endpoint_id}", notFound);
}

function jobWorks(parts: InvokeParts): Works<typeof jobOperations & typeof openAiOperations> {
  const { engine } = parts;
  return {
    runJob: (asked) => run(parts, asked),
    runJobAndWait: (asked) => runSync(parts, asked),
    getJob: (asked) => status(parts, asked),
    waitForJob: (asked) => statusSync(parts, asked),
    cancelJob: async ({ endpoint, job, guest }) => stateOf(await engine.cancel(endpoint.id, job, guest !== undefined)),
    async retryJob({ caller, endpoint, guest, job }) {
      if (guest) await parts.guestDoor.admit(caller, endpoint.id, guest);
      return stateOf(await engine.retry(endpoint.id, job));
    },
    purgeQueue: async ({ endpoint }) => ({ removed: await engine.purge(endpoint.id), status: "completed" }),
    streamJob: (asked) => stream({ ...parts, large: parts.reader.large }, asked),
    getJobOutput: (asked) => output(parts.outputs, asked),
    callOpenAi: (asked) => openAi(parts, asked),
    listJobs: (asked) => listRequests({ ...parts, explained: explainer(parts, asked.endpoint.id) }, asked),
    getJobDetails: (asked) =>
      jobDetails({ engine, large: parts.reader.large, explained: explainer(parts, asked.endpoint.id) }, asked),
    getEndpointMetrics: (asked) => metrics(parts, asked),
    getEndpointHealth: (asked) => health(parts, asked),
  };
}

async function run(parts: InvokeParts, asked: Asked): Promise<JsonText> {
  const submission = submissionOf(parts, asked, "run");
  const { id, state } = await parts.engine.submit(submission instanceof Promise ? await submission : submission);
  return new JsonText(`{"id":"${id}","status":"${state}"}`);
}

async function runSync(parts: InvokeParts, asked: Asked): Promise<unknown> {
  const { engine } = parts;
  const given = queryValue(asked.request, "wait");
  const waitMs = integerIn("wait", given, WAIT) ?? WAIT.standard;
  const mode = given === null ? "runsync" : "runsyncWithWait";
  const read = submissionOf(parts, asked, mode);
  const submission = read instanceof Promise ? await read : read;
  const id = engine.newId(mode);
  return held(parts, asked, waitMs, (waiting) => engine.submitAndWait(submission, waiting, id));
}

async function statusSync(parts: InvokeParts, asked: Asked): Promise<unknown> {
  const { endpoint, job, request } = asked;
  const waitMs = integerIn("wait", queryValue(request, "wait"), WAIT) ?? WAIT.standard;
  return held(parts, asked, waitMs, (waiting) => parts.engine.waitFor(endpoint.id, job, waiting));
}

async function status(parts: InvokeParts, { endpoint, job, request, memory }: Asked): Promise<JsonText> {
  const ttlMs = integerIn("ttl", queryValue(request, "ttl"), RESULT_TTL);
  const reading = await parts.engine.read(endpoint.id, job, ["result", "progress"], countedIn(memory).admit);
  if (ttlMs !== undefined) await parts.engine.shorten(endpoint.id, job, ttlMs);
  return new JsonText(await recordOf(parts, reading));
}

async function recordOf(parts: InvokeParts, shown: Shown): Promise<string | Uint8Array> {
  const { job, result, progress, waitReason } = shown.job.state === "IN_QUEUE" ? await explained(parts, shown) : shown;
  return jobRecord({ job, result, progress, waitReason, link: parts.outputs.link(job) });
}

async function health(parts: InvokeParts, { endpoint, guest, caller }: Asked) {
  if (guest) return guestHealth(parts, endpoint.id, caller.account);
  return healthOf(parts, endpoint);
}

/** A guest sees its own jobs, and why they wait, but nothing about the workers. */
async function guestHealth(parts: InvokeParts, endpoint: string, account: string) {
  const its = (await parts.queue.callers(endpoint)).find(({ caller }) => caller === account);
  const jobs = { inProgress: its?.inProgress ?? 0, inQueue: its?.inQueue ?? 0 };
  if (jobs.inQueue === 0) return { jobs };
  const { ofWorkers } = await waitFacts(parts, endpoint);
  return { jobs, ...(ofWorkers && shownWait(forGuests(ofWorkers))) };
}

async function metrics({ workers, staleReports }: InvokeParts, { endpoint }: Asked) {
  const standing = await workers.standing(endpoint.id, endpoint.release);
  return {
    workers: workerCounts(standing),
    readyWorkers: readyWorkers(standing),
    staleReports: staleReports(endpoint.id),
  };
}

/** Holds a request while a job runs. If the client goes away, the wait ends at once and the job goes on. */
async function held(
  parts: InvokeParts,
  { reply, memory }: Asked,
  waitMs: number,
  wait: (waiting: Waiting) => Promise<Ended>,
): Promise<unknown> {
  const holding = new Holding(parts.clock, reply, memory, waitMs);
  try {
    const record = await recordOf(parts, await wait(holding));
    if (!reply.raw.headersSent) return new JsonText(record);
    return endEarlyReply(reply, record);
  } finally {
    holding.early?.cancel();
  }
}

/** What the engine needs of a held request. A class, since four closures for each would cost more. */
class Holding implements Waiting {
  readonly waitMs: number;
  readonly gone: ClientGone;
  readonly #clock: Clock;
  readonly #reply: Reply;
  readonly #memory: RequestMemory;
  early: Timer | undefined;

  constructor(clock: Clock, reply: Reply, memory: RequestMemory, waitMs: number) {
    this.waitMs = waitMs;
    this.gone = new ClientGone(reply);
    this.#clock = clock;
    this.#reply = reply;
    this.#memory = memory;
  }

  /** Called once the job exists. Headers cannot go out before that, since a 200 cannot be taken back. */
  known(id: string): void {
    // The job's body is stored by now.
    this.#memory.release();
    this.#reply.header("X-Job-Id", id);
    this.early = this.#clock.after(EARLY_HEADERS_MS, () => sendHeadersEarly(this.#reply));
  }

  get admit(): Waiting["admit"] {
    return countedIn(this.#memory).admit;
  }

  note(bytes: number): void {
    this.#memory.note(bytes);
  }
}

function sendHeadersEarly(reply: Reply): void {
  if (reply.raw.headersSent || reply.raw.destroyed) return;
  writeHead(reply.raw, 200, reply.type(JSON_TYPE).headers);
  reply.raw.flushHeaders();
}

function endEarlyReply(reply: Reply, record: string | Uint8Array): Reply {
  reply.raw.end(record);
  return reply;
}

async function explained(parts: InvokeParts, shown: Shown): Promise<Shown> {
  if (shown.job.state !== "IN_QUEUE") return shown;
  return withReason(parts, shown, await waitFacts(parts, shown.job.endpoint));
}

/** Explains many jobs of one endpoint. The facts behind their reasons are read once, and only if a job waits. */
function explainer(parts: InvokeParts, endpoint: string): (shown: Shown) => Promise<Shown> {
  let facts: Promise<WaitFacts> | undefined;
  return async (shown) => {
    if (shown.job.state !== "IN_QUEUE") return shown;
    facts ??= waitFacts(parts, endpoint);
    return withReason(parts, shown, await facts);
  };
}

function withReason({ clock }: InvokeParts, shown: Shown, facts: WaitFacts): Shown {
  const { counts, workforce, ofWorkers } = facts;
  const reason = waitReason(shown.job, counts, workforce, ofWorkers, clock.now());
  return { ...shown, waitReason: isGuests(shown.job) ? forGuests(reason) : reason };
}

function integerIn(name: string, text: string | null, { least, most }: Range): number | undefined {
  if (text === null) return undefined;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most)) {
    throw problem("invalid", `'${name}' must be an integer from ${least} to ${most} (milliseconds)`);
  }
  return value;
}

/** Most requests have no query, so none is parsed for them. */
const queryValue = (request: Request, name: string) => (request.url.includes("?") ? searchOf(request).get(name) : null);

const stateOf = ({ id, state }: Job) => ({ id, status: state });
