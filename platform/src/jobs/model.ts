/** The shapes of jobs as clients send and read them, and the bounds on requests. */
import { dateTime, oneOf, type TProperties, t } from "../kernel/schema.ts";
import { jobLifecycle } from "../ports/queue/job.ts";

const DAY_MS = 86_400_000;

export interface Range {
  least: number;
  most: number;
}

/** How long a client may wait for a job's end. */
export const WAIT = { least: 1000, most: 300_000, standard: 90_000 };
/** How long a client may wait for the next part of a stream. */
export const STREAM_WAIT = { ...WAIT, standard: 10_000 };
/** How long a result is kept when its reader shortens that time. */
export const RESULT_TTL = { least: 1, most: 7 * DAY_MS };
export const TTL_RANGE = { least: 10_000, most: 7 * DAY_MS };
export const DEFAULT_TTL_MS = DAY_MS;
export const EXECUTION_TIMEOUT_RANGE = { least: 5000, most: 7 * DAY_MS };
export const RETRIES_RANGE = { least: 0, most: 10 };
/** Every supported database can index values of this length. */
export const WEBHOOK_BYTES = 2000;
export const IDEMPOTENCY_KEY_LENGTH = 255;
export const PAGE_LIMIT = { least: 1, most: 1000, standard: 100 };
export const PAGE_OFFSET = { least: 0, most: 1_000_000_000, standard: 0 };

export const integerIn = (range: Range & { standard?: number }, description: string) =>
  t.Integer({
    minimum: range.least,
    maximum: range.most,
    ...(range.standard === undefined ? {} : { default: range.standard }),
    description,
  });

export const text = (description: string, maxLength = 512) => t.String({ maxLength, description });

const count = (description: string) => t.Integer({ minimum: 0, description });

/** Objects of this kind may get more fields later, which clients must ignore. */
export const open = <P extends TProperties>(properties: P, options: object = {}) =>
  t.Object(properties, { additionalProperties: true, ...options });

export const jobStates = jobLifecycle.states;

const status = oneOf(jobStates, { description: "Where the job is in its life." });

const webhook = t.String({
  format: "uri",
  "x-max-bytes": WEBHOOK_BYTES,
  description: "An http or https URL that is posted the record at the job's end.",
});

const Policy = open({
  executionTimeout: t.Optional(
    integerIn(EXECUTION_TIMEOUT_RANGE, "Milliseconds that one run may take; by default the endpoint's."),
  ),
  ttl: t.Optional(
    integerIn({ ...TTL_RANGE, standard: DEFAULT_TTL_MS }, "Milliseconds of the whole life, counted from submission."),
  ),
  retries: t.Optional(
    integerIn(
      { ...RETRIES_RANGE, standard: 0 },
      "How often a run that ended with the handler's own error is repeated.",
    ),
  ),
  lowPriority: t.Optional(t.Boolean({ default: false, description: "Such a job starts no further worker." })),
});

const S3Config = open(
  {
    accessId: t.Optional(text("Id of the access key.")),
    accessSecret: t.Optional(text("The key itself, which is sealed where the job is stored.", 65_536)),
    bucketName: t.Optional(text("Where to put files.")),
    endpointUrl: t.Optional(text("Address of the object store.", 2000)),
    objectPath: t.Optional(text("What the names of files begin with.", 2000)),
  },
  { description: "For a handler that uploads its results; passed on unchanged." },
);

/** Other keys are passed to the worker unchanged. */
export const JobRequest = open(
  {
    input: open({}, { description: "What the handler is given." }),
    webhook: t.Optional(webhook),
    webhookV2: t.Optional(t.String({ ...webhook, description: "A second one, posted the same." })),
    policy: t.Optional(Policy),
    s3Config: t.Optional(S3Config),
  },
  { $id: "JobRequest", description: "What to do. Other keys are passed to the worker unchanged." },
);

const WebhookDelivery = open({
  url: text("The target.", WEBHOOK_BYTES),
  at: dateTime("When it was told."),
  status: t.Optional(t.Integer({ description: "HTTP status of its answer." })),
  error: t.Optional(text("Why there was none.", 2000)),
});

const recordFields = {
  id: text("The job's id."),
  status,
  delayTime: t.Optional(count("Milliseconds in the queue before the run.")),
  executionTime: t.Optional(count("Milliseconds of the run, once it has ended.")),
  error: t.Optional(t.String({ description: "Why it failed." })),
  errorCode: t.Optional(
    t.String({ description: "The code of `error`, where Millrace itself ended the job: docs/reasons.md." }),
  ),
  retries: t.Optional(count("Runs beyond the first.")),
  waitReason: t.Optional(t.String({ description: "Why a job that is IN_QUEUE waits." })),
  waitReasonCode: t.Optional(text("The code of `waitReason`, for programs: docs/reasons.md.")),
  webhookDeliveries: t.Optional(t.Array(WebhookDelivery, { description: "Deliveries of the webhook about its end." })),
  workerId: t.Optional(text("The worker that has it or had it.")),
};

export const JobRecord = open(
  {
    ...recordFields,
    output: t.Optional(
      t.Unknown({
        description:
          "What the handler returned; the newest progress while it runs; where it is too long, `url`, which needs no key, and `bytes`.",
      }),
    ),
    rawOutput: t.Optional(t.String({ description: "How a result begins that could not be taken." })),
  },
  { $id: "Job", description: "A job as it is now." },
);

export const JobStanding = t.Object({ id: recordFields.id, status }, { $id: "JobStanding" });

export const Purged = t.Object(
  { removed: count("How many jobs were."), status: oneOf(["completed"]) },
  { $id: "PurgedQueue" },
);

export const StreamChunk = open(
  {
    output: t.Unknown({ description: "What the handler yielded." }),
    error: t.Optional(t.String({ description: "Why the job failed; in the last item of an array." })),
    status: t.Optional(status),
    metrics: t.Optional(t.Unknown({ description: "What the worker measured; else which chunk of the stream it is." })),
  },
  { $id: "StreamChunk" },
);

export const JobStream = t.Object(
  {
    status,
    stream: t.Array(StreamChunk),
    error: t.Optional(t.String({ description: "Why the job failed." })),
  },
  { $id: "JobStream" },
);

/** The fields in which a page describes the whole list. */
const page = {
  total: count("How many there are."),
  offset: count("As asked for."),
  limit: count("As asked for."),
  hasMore: t.Boolean(),
};

const ListedJob = open(
  {
    ...recordFields,
    createdAt: dateTime("When it was submitted."),
    startedAt: t.Optional(dateTime("When its last run began.")),
    completedAt: t.Optional(dateTime("When it ended.")),
    actions: t.Array(oneOf(jobLifecycle.asked), { description: "What can be done with it now." }),
  },
  { $id: "ListedJob", description: "A job without its output." },
);

/** What was asked of a job and how it came to its state, beside what lists show. */
export const JobDetails = open(
  {
    ...ListedJob.properties,
    queuedAt: dateTime("When it last entered the queue."),
    attempts: count("Runs that have begun, also those that were lost."),
    lastLoss: t.Optional(t.String({ description: "Why its last run was lost, while it waits for or has another." })),
    endsBy: t.Optional(dateTime("When it times out, if it has not ended by then.")),
    keptUntil: t.Optional(dateTime("When the record and the result of an ended job go.")),
    policy: t.Object({
      executionTimeout: count("Milliseconds that one run may take."),
      ttl: count("Milliseconds of the whole life."),
      retries: count("How often a run that ended with the handler's own error is repeated."),
      lowPriority: t.Boolean(),
    }),
    webhooks: t.Optional(t.Array(t.String(), { description: "Who is told about its end." })),
    input: t.Unknown({ description: "Input for the handler, as it was sent." }),
  },
  { $id: "JobDetails", description: "A job with its input, and without its output." },
);

export const JobList = t.Object({ requests: t.Array(ListedJob), ...page }, { $id: "JobList" });

const WorkerCounts = t.Object(
  {
    idle: count("Ready and without a job."),
    initializing: count("On their way."),
    ready: count("That could take a job."),
    running: count("With a job."),
    throttled: count("Wanted, without a place."),
    unhealthy: count("That do not come up."),
  },
  { $id: "WorkerCounts" },
);

export const Health = t.Object(
  {
    jobs: t.Object({
      completed: count("Since the endpoint was made."),
      failed: count("Since the endpoint was made."),
      inProgress: count("Now."),
      inQueue: count("Now."),
      retried: count("Runs beyond the first, since the endpoint was made."),
    }),
    workers: WorkerCounts,
    waitReason: t.Optional(t.String({ description: "Why jobs wait, while some do." })),
    waitReasonCode: t.Optional(text("The code of `waitReason`, for programs: docs/reasons.md.")),
  },
  { $id: "Health" },
);

export const Metrics = t.Object(
  {
    workers: WorkerCounts,
    readyWorkers: t.Array(text("A worker's id.")),
    staleReports: count("Results from workers that did not have the job, since the server started."),
  },
  { $id: "Metrics" },
);
