/** The operations that workers of an endpoint can call: the public worker protocol and a batched form of it. */
import { inJson, type RawOperations } from "../kernel/raw-operation.ts";
import { t } from "../kernel/schema.ts";
import { open, text } from "./model.ts";

/** A worker may take at most this many jobs at once. */
export const MOST_TAKEN = 1000;
/** A worker may wait at most this long for the first job. */
export const LONGEST_HOLD_MS = 60_000;
export const HOLD_TAKE_MS = 20_000;
export const HOLD_STOP_MS = 25_000;

const tag = "Worker link";
const key = "worker" as const;
const at = (rest: string) => `/v2/{endpoint_id}${rest}`;

const JOB = "0199f3a2-7c1e-7b40-9d51-3f6c2a8be0d4-u1";
const TAKEN = { input: { prompt: "hello" }, id: JOB };

const TakenJob = open(
  {
    id: text("The job's id."),
    input: open({}, { description: "What the handler is given." }),
    batchId: t.Optional(text("The batch that it belongs to.")),
  },
  { $id: "TakenJob", description: "The body that was submitted, with the job's id." },
);

const JobReport = open(
  {
    output: t.Optional(t.Unknown({ description: "What the handler returned." })),
    error: t.Optional(t.Unknown({ description: "Why it failed: whatever is not empty makes the job FAILED." })),
    status: t.Optional(text("`IN_PROGRESS` makes it progress, and no end.", 64)),
    stopPod: t.Optional(t.Boolean({ description: "The worker wants to be replaced after this job." })),
  },
  { $id: "JobReport" },
);

const JobChunk = open({ output: t.Unknown({ description: "What the handler yielded." }) }, { $id: "JobChunk" });

const nothing = { description: "Nothing to do; ask again." };
const understood = { 200: { description: "Understood.", content: inJson(t.Object({}), {}) } };

/** The public worker package declares a form and sends JSON. */
const posted = (schema: typeof JobReport | typeof JobChunk, example: unknown) => ({
  content: { ...inJson(schema, example), "application/x-www-form-urlencoded": { schema: t.String() } },
  required: false,
});

const number = (description: string) => t.Integer({ minimum: 1, maximum: 999_999_999, description });
const attempt = t.Optional(number("Which run of the job it is about; our own worker library says it."));

export const workerLinkOperations = {
  takeJob: {
    method: "GET",
    path: at("/job-take/{worker_id}"),
    summary: "Take a job",
    description: `Held for up to ${HOLD_TAKE_MS / 1000} s until there is one.`,
    tag,
    answers: { 200: { description: "The job.", content: inJson(TakenJob, TAKEN) }, 204: nothing },
    refuses: [404],
    key,
  },
  takeJobs: {
    method: "GET",
    path: at("/job-take-batch/{worker_id}"),
    summary: "Take several jobs",
    description: `Held for up to ${HOLD_TAKE_MS / 1000} s until there is one.`,
    tag,
    query: t.Object({
      batch_size: t.Optional(
        t.Integer({ minimum: 1, maximum: MOST_TAKEN, default: 1, description: "How many at most." }),
      ),
    }),
    answers: { 200: { description: "The jobs.", content: inJson(t.Array(TakenJob), [TAKEN]) }, 204: nothing },
    refuses: [404],
    key,
  },
  reportJob: {
    method: "POST",
    path: at("/job-done/{worker_id}/{job_id}"),
    summary: "Report a job's result or progress",
    description:
      "JSON text, whatever the content type says. A result is never refused for what it is: one that cannot be read makes the job FAILED, with the reason. " +
      "503 asks to send it again.",
    tag,
    query: t.Object({ attempt }),
    body: posted(JobReport, { output: { prompt: "hello" } }),
    answers: understood,
    refuses: [400],
    key,
  },
  reportChunk: {
    method: "POST",
    path: at("/job-stream/{worker_id}/{job_id}"),
    summary: "Report something that a job streams",
    description: "A chunk over 1 MB is split.",
    tag,
    query: t.Object({ attempt, sequence: t.Optional(number("Which post of the run it is, counted from 1.")) }),
    body: posted(JobChunk, { output: "hel" }),
    answers: understood,
    refuses: [400],
    key,
  },
  awaitStops: {
    method: "GET",
    path: at("/job-stop/{worker_id}"),
    summary: "Learn which jobs to stop",
    description: `Held for up to ${HOLD_STOP_MS / 1000} s until there is one.`,
    tag,
    answers: {
      200: {
        description: "Jobs of the worker that are no longer wanted.",
        content: inJson(t.Object({ jobsToStop: t.Array(text("A job's id.")) }, { $id: "JobsToStop" }), {
          jobsToStop: [JOB],
        }),
      },
      204: nothing,
    },
    refuses: [404],
    key,
  },
  pingWorker: {
    method: "GET",
    path: at("/ping/{worker_id}"),
    summary: "Say that a worker is alive",
    description: "Or, with `status=unhealthy`, that it is not fit to work.",
    tag,
    query: t.Object({
      job_id: t.Optional(text("Ids of the jobs that it has, with commas between.", 32_768)),
      runpod_version: t.Optional(text("Release of the worker package.")),
      status: t.Optional(text("`unhealthy` for a worker that is not fit.")),
      check: t.Optional(text("Which check failed.", 2000)),
      reason: t.Optional(text("How it failed.", 2000)),
    }),
    answers: understood,
    refuses: [404],
    key,
  },
  exchangeJobs: {
    method: "POST",
    path: at("/job-exchange/{worker_id}"),
    summary: "Report results and take the next jobs in one request",
    description:
      "Lines of `<job id> <attempt> <result object>`, up to 10,000 and 32 MiB of them, as our own worker library sends them. The answer has a job in each line, with its `attempt`.",
    tag,
    query: t.Object({
      take: t.Optional(t.Integer({ minimum: 0, maximum: MOST_TAKEN, default: 1, description: "How many at most." })),
      wait: t.Optional(
        t.Integer({
          minimum: 0,
          maximum: LONGEST_HOLD_MS,
          default: HOLD_TAKE_MS,
          description: "Milliseconds to wait for the first.",
        }),
      ),
    }),
    body: {
      content: { "application/x-ndjson": { schema: t.String(), example: `${JOB} 1 {"output":{"prompt":"hello"}}\n` } },
      required: false,
    },
    answers: {
      200: { description: "The jobs.", content: { "application/x-ndjson": { schema: t.String() } } },
      204: nothing,
    },
    refuses: [400, 404, 413],
    key,
  },
} as const satisfies RawOperations;
