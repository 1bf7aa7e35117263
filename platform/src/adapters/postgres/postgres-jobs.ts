/** The queue's tables in PostgreSQL, and jobs as their rows. */
import { storableJson } from "../../kernel/storable.ts";
import type { Job, JobPolicy } from "../../ports/queue/job.ts";
import type { JobFields } from "../../ports/queue/queue.ts";

/**
 * A row of `jobs` is small, because it is written three times in its life. PostgreSQL itself stores texts beyond 2 KB apart and does not
 * rewrite them. Vacuuming starts after a fixed number of changes, not after a share of the table, because every claim must pass the dead
 * rows at the front of the queue.
 */
export const migrations = [
  `CREATE TABLE jobs (
     id text COLLATE "C" PRIMARY KEY, endpoint text COLLATE "C" NOT NULL, state text COLLATE "C" NOT NULL,
     low boolean NOT NULL, position bigint NOT NULL,
     created_at bigint NOT NULL, ttl_at bigint NOT NULL, queued_at bigint NOT NULL,
     attempt integer NOT NULL DEFAULT 0, spent integer NOT NULL DEFAULT 0,
     errors_retried integer NOT NULL DEFAULT 0, retried integer NOT NULL DEFAULT 0,
     ttl_ms bigint NOT NULL, execution_ms bigint NOT NULL, retention_ms bigint NOT NULL, error_retries integer NOT NULL,
     holder text COLLATE "C", barred text COLLATE "C", started_at bigint, deadline bigint, ended_at bigint, expires_at bigint,
     reason text, webhooks text[], sealed boolean, cursor jsonb, deliveries jsonb,
     -- Texts; an empty one stands in job_payloads.
     body text NOT NULL, result text, progress text
   ) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
           autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
           autovacuum_vacuum_cost_delay = 0);
   ALTER TABLE jobs ALTER body SET STORAGE EXTERNAL, ALTER result SET STORAGE EXTERNAL, ALTER progress SET STORAGE EXTERNAL;
   CREATE INDEX jobs_waiting ON jobs (endpoint, low, position) WHERE state = 'IN_QUEUE';
   CREATE INDEX jobs_running ON jobs (holder) WHERE state = 'IN_PROGRESS';
   CREATE INDEX jobs_due ON jobs ((CASE WHEN state = 'IN_PROGRESS' THEN LEAST(ttl_at, deadline) ELSE ttl_at END))
     WHERE state IN ('IN_QUEUE', 'IN_PROGRESS');
   CREATE INDEX jobs_expiring ON jobs (expires_at) WHERE expires_at IS NOT NULL;
   CREATE INDEX jobs_of_endpoint ON jobs (endpoint, created_at);
   -- The back of the queue, and its front: a job that returns there gets the negative of the next number.
   CREATE SEQUENCE job_positions;
   CREATE SEQUENCE job_returns;

   CREATE TABLE job_payloads (
     job text COLLATE "C", part text COLLATE "C", piece integer, bytes bytea NOT NULL, PRIMARY KEY (job, part, piece)
   );
   ALTER TABLE job_payloads ALTER bytes SET STORAGE EXTERNAL;
   CREATE TABLE job_chunks (
     job text COLLATE "C", attempt integer, sequence bigint, text text NOT NULL, PRIMARY KEY (job, attempt, sequence)
   );
   CREATE TABLE job_keys (
     endpoint text COLLATE "C", key text COLLATE "C", job text COLLATE "C" NOT NULL, digest text NOT NULL,
     PRIMARY KEY (endpoint, key)
   );
   CREATE INDEX job_keys_of_job ON job_keys (job);
   CREATE TABLE purged_jobs (id text COLLATE "C" PRIMARY KEY, until bigint NOT NULL);
   CREATE INDEX purged_jobs_until ON purged_jobs (until);
   -- An endpoint's counts are the sum of its rows: each writer has a slot, so that none waits for another's commit.
   CREATE TABLE job_counters (
     endpoint text COLLATE "C", slot integer,
     in_queue bigint NOT NULL, low_in_queue bigint NOT NULL, in_progress bigint NOT NULL,
     completed bigint NOT NULL, failed bigint NOT NULL, retried bigint NOT NULL,
     PRIMARY KEY (endpoint, slot)
   ) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
   CREATE TABLE holders (holder text COLLATE "C" PRIMARY KEY, endpoint text COLLATE "C" NOT NULL, until bigint NOT NULL)
     WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
   CREATE INDEX holders_of_endpoint ON holders (endpoint);
   CREATE TABLE outbox (
     job text COLLATE "C", url text COLLATE "C", endpoint text COLLATE "C" NOT NULL, tries integer NOT NULL, due_at bigint NOT NULL,
     PRIMARY KEY (job, url)
   ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
   CREATE INDEX outbox_due ON outbox (due_at);`,
  `ALTER TABLE job_chunks ADD COLUMN key text COLLATE "C";
   CREATE UNIQUE INDEX job_chunk_keys ON job_chunks (job, attempt, key) WHERE key IS NOT NULL;`,
  // The check for lost holders reads all running jobs, and few run at once. Only the waiting ones need an order.
  `DROP INDEX jobs_due;
   CREATE INDEX jobs_due ON jobs (ttl_at) WHERE state = 'IN_QUEUE';`,
  `ALTER TABLE jobs ADD COLUMN error text;`,
  `ALTER TABLE jobs ADD COLUMN large jsonb;`,
  // Old messages, and those of a node of an earlier release, share one target. They wait for each other, as before.
  `ALTER TABLE outbox ADD COLUMN target text COLLATE "C" NOT NULL DEFAULT '-';
   DROP INDEX outbox_due;
   CREATE INDEX outbox_of_endpoint ON outbox (endpoint, due_at);
   CREATE INDEX outbox_of_target ON outbox (endpoint, target, due_at);`,
  `ALTER TABLE jobs ADD COLUMN reason_code text;`,
  // Jobs of shared endpoints. Others have no caller, and cost these indexes nothing.
  `ALTER TABLE jobs ADD COLUMN caller text COLLATE "C", ADD COLUMN fare jsonb;
   CREATE INDEX jobs_of_caller ON jobs (endpoint, low, caller, position) WHERE state = 'IN_QUEUE' AND caller IS NOT NULL;
   CREATE INDEX running_of_caller ON jobs (endpoint, caller) WHERE state = 'IN_PROGRESS' AND caller IS NOT NULL;
   -- The caller whose turn was last.
   CREATE TABLE job_turns (endpoint text COLLATE "C" PRIMARY KEY, last text COLLATE "C" NOT NULL)
     WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
   -- What callers owe, as the sum over the writers' slots. It outlives the jobs and the endpoint.
   CREATE TABLE job_charges (
     caller text COLLATE "C", hour bigint, endpoint text COLLATE "C", share text COLLATE "C", slot integer,
     requests bigint NOT NULL, execution_ms bigint NOT NULL, input_tokens bigint NOT NULL, output_tokens bigint NOT NULL,
     amount bigint NOT NULL, PRIMARY KEY (caller, hour, endpoint, share, slot)
   ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
   CREATE INDEX job_charges_of_endpoint ON job_charges (endpoint, hour);`,
  `ALTER TABLE jobs ADD COLUMN trace text;`,
  // Workers that serve one caller only.
  `CREATE TABLE job_bindings (
     holder text COLLATE "C" PRIMARY KEY, endpoint text COLLATE "C" NOT NULL, caller text COLLATE "C" NOT NULL
   );
   CREATE INDEX job_bindings_of_endpoint ON job_bindings (endpoint);`,
  // What API keys with a spend limit have caused of the charges, as the sum over the writers' slots.
  `CREATE TABLE job_key_charges (
     key text COLLATE "C", hour bigint, slot integer, amount bigint NOT NULL, PRIMARY KEY (key, hour, slot)
   ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);`,
  // Callers of one endpoint do not wait for each other's messages. Jobs without a caller have an empty one, and so have messages that a
  // node of an earlier release writes: they are sent in the turns of the endpoint's own account, as before.
  `ALTER TABLE outbox ADD COLUMN caller text COLLATE "C" NOT NULL DEFAULT '';
   UPDATE outbox SET caller = jobs.caller FROM jobs WHERE jobs.id = outbox.job AND jobs.caller IS NOT NULL;
   DROP INDEX outbox_of_endpoint;
   DROP INDEX outbox_of_target;
   CREATE INDEX outbox_of_caller ON outbox (endpoint, caller, due_at);
   CREATE INDEX outbox_of_target ON outbox (endpoint, caller, target, due_at);`,
];

/**
 * The statements are few, and each has one good plan along an index, whatever the tables hold. Without these settings PostgreSQL could make
 * a plan while the queue is empty that reads the whole table, and keep it when the queue has grown.
 */
export const planSettings = {
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  plan_cache_mode: "force_generic_plan",
  jit: "off",
};

/** Columns that a change may set, with their types. */
export const SETTABLE = {
  state: "text",
  low: "boolean",
  ttl_at: "bigint",
  queued_at: "bigint",
  attempt: "integer",
  spent: "integer",
  errors_retried: "integer",
  retried: "integer",
  ttl_ms: "bigint",
  execution_ms: "bigint",
  retention_ms: "bigint",
  error_retries: "integer",
  holder: "text",
  barred: "text",
  started_at: "bigint",
  deadline: "bigint",
  ended_at: "bigint",
  expires_at: "bigint",
  reason: "text",
  reason_code: "text",
  error: "text",
  large: "jsonb",
  webhooks: "text[]",
  sealed: "boolean",
  cursor: "jsonb",
  deliveries: "jsonb",
} as const;

type Column = keyof typeof SETTABLE;

/** The columns of the job's fields. `policy` has several columns and is not listed. */
const COLUMN_OF = {
  state: "state",
  ttlAt: "ttl_at",
  queuedAt: "queued_at",
  attempt: "attempt",
  spent: "spent",
  errorsRetried: "errors_retried",
  retried: "retried",
  holder: "holder",
  barred: "barred",
  startedAt: "started_at",
  deadline: "deadline",
  endedAt: "ended_at",
  expiresAt: "expires_at",
  reason: "reason",
  reasonCode: "reason_code",
  error: "error",
  large: "large",
  webhooks: "webhooks",
  sealed: "sealed",
  cursor: "cursor",
  deliveries: "deliveries",
} as const satisfies Record<Exclude<keyof JobFields, "policy">, Column>;

/** A job's numbers in the order in which they are sent. One array is read several times faster than a column for each. */
const NUMBERS = [
  ...["created_at", "ttl_at", "queued_at", "attempt", "spent", "errors_retried", "retried"],
  ...["ttl_ms", "execution_ms", "retention_ms", "error_retries", "low::integer"],
  ...["started_at", "deadline", "ended_at", "expires_at"],
];

type Numbers = [
  ...[createdAt: number, ttlAt: number, queuedAt: number],
  ...[attempt: number, spent: number, errorsRetried: number, retried: number],
  ...[ttlMs: number, executionMs: number, retentionMs: number, errorRetries: number, low: number],
  ...[startedAt: number | null, deadline: number | null, endedAt: number | null, expiresAt: number | null],
];

/** The columns of fields that no change sets. */
const FIXED = { caller: "caller", fare: "fare", trace: "trace" } as const;
const COLUMN_OF_ANY = { ...COLUMN_OF, ...FIXED };

/** Fields that only few jobs have. */
const RARE = [
  "barred",
  "reason",
  "reasonCode",
  "error",
  "large",
  "webhooks",
  "sealed",
  "cursor",
  "deliveries",
  "caller",
  "fare",
  "trace",
] as const satisfies (keyof typeof COLUMN_OF_ANY)[];

const listOf = (columns: readonly string[]) => columns.map((name) => `jobs.${name}`).join(", ");
const rareColumns = listOf(RARE.map((name) => COLUMN_OF_ANY[name]));
const rareObject = RARE.map((name) => `'${name}', jobs.${COLUMN_OF_ANY[name]}`).join(", ");

/** The columns of a job without its payloads, as they are read and as they are computed from its row. */
export const FIELDS = "id, endpoint, state, holder, numbers, rare";
export const COLUMNS = `jobs.id, jobs.endpoint, jobs.state, jobs.holder, ARRAY[${listOf(NUMBERS)}]::bigint[] AS numbers,
  CASE WHEN num_nonnulls(${rareColumns}) > 0 THEN json_build_object(${rareObject}) END AS rare`;

export interface JobRow {
  id: string;
  endpoint: string;
  state: Job["state"];
  holder: string | null;
  numbers: Numbers;
  rare: Record<(typeof RARE)[number], unknown> | null;
}

export function toJob({ id, endpoint, state, holder, numbers, rare }: JobRow): Job {
  const n = numbers;
  const policy = {
    ttlMs: n[7],
    executionTimeoutMs: n[8],
    retentionMs: n[9],
    errorRetries: n[10],
    lowPriority: n[11] === 1,
  };
  const job: Job = {
    id,
    endpoint,
    state,
    policy,
    createdAt: n[0],
    ttlAt: n[1],
    queuedAt: n[2],
    attempt: n[3],
    spent: n[4],
    errorsRetried: n[5],
    retried: n[6],
  };
  if (holder !== null) job.holder = holder;
  if (n[12] !== null) job.startedAt = n[12];
  if (n[13] !== null) job.deadline = n[13];
  if (n[14] !== null) job.endedAt = n[14];
  if (n[15] !== null) job.expiresAt = n[15];
  if (rare) for (const name of RARE) if (rare[name] !== null) Object.assign(job, { [name]: rare[name] });
  return job;
}

export function policyColumns({ ttlMs, executionTimeoutMs, retentionMs, errorRetries, lowPriority }: JobPolicy) {
  return {
    low: lowPriority,
    ttl_ms: ttlMs,
    execution_ms: executionTimeoutMs,
    retention_ms: retentionMs,
    error_retries: errorRetries,
  };
}

export interface Columns {
  set: Partial<Record<Column, unknown>>;
  clear: Column[];
}

/** The fields of a change as columns to set, and the columns that it clears. */
export function changedColumns(fields: JobFields, clear: readonly (keyof JobFields)[]): Columns {
  const changed: Columns = {
    set: {},
    clear: clear.filter((field) => field !== "policy").map((field) => COLUMN_OF[field]),
  };
  for (const [field, value] of Object.entries(fields) as [keyof typeof COLUMN_OF | "policy", unknown][]) {
    if (field === "policy") Object.assign(changed.set, policyColumns(value as JobPolicy));
    else if (value === undefined) changed.clear.push(COLUMN_OF[field]);
    else changed.set[COLUMN_OF[field]] = value;
  }
  return changed;
}

/**
 * A batch of rows as one parameter: `FROM ${rowsOf("$1", { … })}`. `n` numbers the rows. The WHERE condition is always true: it only tells
 * the planner to expect few rows, so that it starts from them.
 */
export function rowsOf(parameter: string, types: Record<string, string>): string {
  const list = Object.entries({ n: "integer", ...types }).map(([name, type]) => `${name} ${type}`);
  return `(SELECT * FROM json_to_recordset(${parameter}::json) AS given (${list.join(", ")})
           WHERE n BETWEEN 0 AND 2000000000)`;
}

export function rowsParameter(rows: object[]): string {
  return storableJson(rows.map((row, n) => ({ n, ...row })));
}

/** Adds to an endpoint's counts. Callers sort their rows, so that no two writers wait for each other. */
export const ADD_COUNTS = `ON CONFLICT (endpoint, slot) DO UPDATE SET
  in_queue = job_counters.in_queue + excluded.in_queue, low_in_queue = job_counters.low_in_queue + excluded.low_in_queue,
  in_progress = job_counters.in_progress + excluded.in_progress, completed = job_counters.completed + excluded.completed,
  failed = job_counters.failed + excluded.failed, retried = job_counters.retried + excluded.retried`;

/** Commits this statement without waiting for the disk. After a crash its effect is repeated or not missed. */
export const NOT_AWAITED = "(SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL";
