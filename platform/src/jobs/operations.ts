/** The operations that clients of a queue-based endpoint can call. */
import { EVENT_MEDIA, inJson, type RawAnswer, type RawOperations } from "../kernel/raw-operation.ts";
import { t } from "../kernel/schema.ts";
import {
  Health,
  IDEMPOTENCY_KEY_LENGTH,
  integerIn,
  JobDetails,
  JobList,
  JobRecord,
  JobRequest,
  JobStanding,
  JobStream,
  jobStates,
  Metrics,
  PAGE_LIMIT,
  PAGE_OFFSET,
  Purged,
  RESULT_TTL,
  STREAM_WAIT,
  StreamChunk,
  text,
  WAIT,
} from "./model.ts";

const tag = "Jobs";
const at = (rest: string) => `/v2/{endpoint_id}${rest}`;

const JOB = "0199f3a2-7c1e-7b40-9d51-3f6c2a8be0d4-u1";
const REQUEST = { input: { prompt: "hello" } };
const DONE = {
  delayTime: 12,
  executionTime: 340,
  id: JOB,
  output: { prompt: "hello" },
  status: "COMPLETED",
  workerId: "s9r7nncgz75spn",
};
const WAITING = {
  id: JOB,
  status: "IN_QUEUE",
  waitReason: "all 3 workers busy (max 3)",
  waitReasonCode: "workers-busy",
};
const CHUNKS = [{ output: "hel", metrics: { stream_index: 1 } }];

const idempotent = t.Object({
  "Idempotency-Key": t.Optional(
    t.String({
      minLength: 1,
      maxLength: IDEMPOTENCY_KEY_LENGTH,
      description: "The same request under the same key gives the same job, for as long as that is kept.",
    }),
  ),
});
const waitQuery = t.Object({
  wait: t.Optional(integerIn(WAIT, "Milliseconds to wait for the job's end.")),
});
const submission = { content: inJson(JobRequest, REQUEST), required: true };
const jobId = { "X-Job-Id": "The job's id." };
const jobStatus = { "X-Job-Status": "The job's state; final only when nothing is left to read." };

const record = (description: string, example: unknown = DONE): RawAnswer => ({
  description,
  content: inJson(JobRecord, example),
});
const standing = (state: string): RawAnswer => ({
  description: "The job and its state.",
  content: inJson(JobStanding, { id: JOB, status: state }),
});

const outputHeaders = {
  "Accept-Ranges": "Always `bytes`.",
  ...jobStatus,
};

export const jobOperations = {
  runJob: {
    method: "POST",
    path: at("/run"),
    summary: "Submit a job",
    description:
      "Answered as soon as the job is on the disk. Its result is kept for 30 minutes after its end. A body may have 10 MB by default.",
    tag,
    headers: idempotent,
    body: submission,
    answers: { 200: standing("IN_QUEUE") },
    refuses: [400, 404, 409, 413],
    key: "caller",
    scope: "serverless:invoke",
    guests: true,
  },
  runJobAndWait: {
    method: "POST",
    path: at("/runsync"),
    summary: "Submit a job and wait for its end",
    description:
      "If the wait ends first, the record shows the job's state, and the job continues. Its result is kept for 1 minute after its end, 5 minutes " +
      "with `wait`. A body may have 20 MB by default.",
    tag,
    query: waitQuery,
    headers: idempotent,
    body: submission,
    answers: { 200: { ...record("The job at its end, or when the wait was over."), headers: jobId } },
    refuses: [400, 404, 409, 413],
    key: "caller",
    scope: "serverless:invoke",
    guests: true,
  },
  getJob: {
    method: "GET",
    alsoBy: ["POST"],
    path: at("/status/{job_id}"),
    summary: "Read a job",
    tag,
    query: t.Object({
      ttl: t.Optional(integerIn(RESULT_TTL, "Milliseconds after which the result may go; it can only shorten that.")),
    }),
    answers: { 200: record("The job as it is now.", WAITING) },
    refuses: [400, 404],
    key: "caller",
    scope: "serverless:read",
    guests: true,
  },
  waitForJob: {
    method: "GET",
    alsoBy: ["POST"],
    path: at("/status-sync/{job_id}"),
    summary: "Wait for a job's end",
    tag,
    query: waitQuery,
    answers: { 200: { ...record("The job at its end, or when the wait was over."), headers: jobId } },
    refuses: [400, 404],
    key: "caller",
    scope: "serverless:read",
    guests: true,
  },
  cancelJob: {
    method: "POST",
    path: at("/cancel/{job_id}"),
    summary: "Cancel a job",
    description: "A job that has already ended is unchanged, and the answer has its real state.",
    tag,
    answers: { 200: standing("CANCELLED") },
    refuses: [404],
    key: "caller",
    scope: "serverless:invoke",
    guests: true,
  },
  retryJob: {
    method: "POST",
    path: at("/retry/{job_id}"),
    summary: "Run a job again that failed or timed out",
    description: "It keeps its id and its input; every budget begins anew. A job in another state is 400.",
    tag,
    answers: { 200: standing("IN_QUEUE") },
    refuses: [400, 404],
    key: "caller",
    scope: "serverless:invoke",
    guests: true,
  },
  purgeQueue: {
    method: "POST",
    path: at("/purge-queue"),
    summary: "Remove all jobs that wait",
    tag,
    answers: {
      200: { description: "How many they were.", content: inJson(Purged, { removed: 3, status: "completed" }) },
    },
    refuses: [404],
    key: "caller",
    scope: "serverless:invoke",
    audited: true,
  },
  streamJob: {
    method: "GET",
    alsoBy: ["POST"],
    path: at("/stream/{job_id}"),
    summary: "Read what a job streams",
    description:
      "What no answer has given yet, in one of three forms. The first of these that says something decides: `format`; POST or `wait`, for the " +
      "object; `Accept: text/event-stream`; the server's setting; how the key is sent: `Bearer` for the object, a bare key for the array. An answer " +
      "has up to 200 chunks and 4 MiB of them. Events continue until the job ends: `end` carries the record. `reset` marks the start of a new attempt.",
    tag,
    query: t.Object({
      wait: t.Optional(integerIn(STREAM_WAIT, "Milliseconds to wait for something to read.")),
      format: t.Optional(t.Unsafe<string>({ type: "string", enum: ["array", "object", "events"] })),
      from: t.Optional(
        t.String({
          maxLength: 25,
          pattern: "^\\d{1,9}\\.\\d{1,15}$",
          description: "Where to read from: `<attempt>.<sequence>`, the chunks after it are sent again.",
        }),
      ),
    }),
    headers: t.Object({
      "Last-Event-ID": t.Optional(text("The id of the last event that was seen.", 25)),
    }),
    answers: {
      200: {
        description: "Chunks that were not read yet.",
        content: {
          ...inJson(t.Union([JobStream, t.Array(StreamChunk)]), { status: "IN_PROGRESS", stream: CHUNKS }),
          [EVENT_MEDIA]: { schema: StreamChunk },
        },
        headers: jobStatus,
      },
    },
    refuses: [400, 404],
    key: "caller",
    scope: "serverless:read",
    guests: true,
  },
  getJobOutput: {
    method: "GET",
    path: at("/output/{job_id}"),
    summary: "Read an output that is too long for its record",
    description:
      "JSON text, byte for byte as the worker wrote it. A record shows where it is by a URL that is signed and needs no key; one that has " +
      "expired, or whose job was retried, is 404.",
    tag,
    query: t.Object({
      attempt: t.Optional(t.Integer({ minimum: 1, maximum: 999_999_999, description: "Of which run of the job." })),
      signature: t.Optional(text("The signature from the URL in the record.")),
    }),
    headers: t.Object({
      Range: t.Optional(text("One range of bytes, such as `bytes=1000-`, to resume a broken download.", 64)),
    }),
    answers: {
      200: { description: "All of it.", content: inJson(t.Unknown()), headers: outputHeaders },
      206: {
        description: "The stretch that was asked for.",
        content: inJson(t.Unknown()),
        headers: { ...outputHeaders, "Content-Range": "Which stretch it is, and of how much." },
      },
    },
    refuses: [404, 416],
    key: "caller or link",
    scope: "serverless:read",
    guests: true,
  },
  listJobs: {
    method: "GET",
    path: at("/requests"),
    summary: "List an endpoint's jobs",
    description: "The newest first, without their outputs.",
    tag,
    query: t.Object({
      limit: t.Optional(integerIn(PAGE_LIMIT, "How many to list.")),
      offset: t.Optional(integerIn(PAGE_OFFSET, "How many to pass over.")),
      status: t.Optional(
        t.String({ maxLength: 200, description: `States with commas between, of ${jobStates.join(", ")}.` }),
      ),
      worker: t.Optional(t.String({ maxLength: 200, description: "Only jobs that this worker has, or had last." })),
    }),
    answers: {
      200: {
        description: "A page of jobs.",
        content: inJson(JobList, {
          requests: [{ ...WAITING, createdAt: "2026-01-01T00:00:00.000Z", actions: ["cancel"] }],
          total: 1,
          offset: 0,
          limit: 100,
          hasMore: false,
        }),
      },
    },
    refuses: [400, 404],
    key: "caller",
    scope: "serverless:read",
    guests: true,
  },
  getJobDetails: {
    method: "GET",
    path: at("/requests/{job_id}"),
    summary: "Read what was asked of a job",
    description:
      "Its input, its terms and its times. Other parts of the body that was sent, such as credentials, are not shown.",
    tag,
    answers: {
      200: {
        description: "The job with its input.",
        content: inJson(JobDetails, {
          ...WAITING,
          createdAt: "2026-01-01T00:00:00.000Z",
          actions: ["cancel"],
          queuedAt: "2026-01-01T00:00:00.000Z",
          attempts: 0,
          endsBy: "2026-01-02T00:00:00.000Z",
          policy: { executionTimeout: 300_000, ttl: 86_400_000, retries: 0, lowPriority: false },
          input: REQUEST.input,
        }),
      },
    },
    refuses: [404],
    key: "caller",
    scope: "serverless:read",
    guests: true,
  },
  getEndpointHealth: {
    method: "GET",
    path: at("/health"),
    summary: "Count an endpoint's jobs and workers",
    tag,
    answers: {
      200: {
        description: "How many are in which state.",
        content: inJson(Health, {
          jobs: { completed: 41, failed: 1, inProgress: 2, inQueue: 0, retried: 0 },
          workers: { idle: 1, initializing: 0, ready: 1, running: 2, throttled: 0, unhealthy: 0 },
        }),
      },
    },
    refuses: [404],
    key: "caller",
    scope: "serverless:read",
    guests: true,
  },
  getEndpointMetrics: {
    method: "GET",
    path: at("/metrics"),
    summary: "Name an endpoint's ready workers",
    tag,
    answers: {
      200: {
        description: "Its workers, and what came from those that had lost their jobs.",
        content: inJson(Metrics, {
          workers: { idle: 1, initializing: 0, ready: 1, running: 2, throttled: 0, unhealthy: 0 },
          readyWorkers: ["s9r7nncgz75spn"],
          staleReports: 0,
        }),
      },
    },
    refuses: [404],
    key: "caller",
    scope: "serverless:read",
  },
} as const satisfies RawOperations;
