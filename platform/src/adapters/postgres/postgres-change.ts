/** Builds one statement per shape of change: a compare-and-set of many jobs, with their counts, messages and removals. */
import { storableJson } from "../../kernel/storable.ts";
import type { JobState } from "../../ports/queue/job.ts";
import type { Counter, JobChange } from "../../ports/queue/queue.ts";
import { bigintArray, textArray } from "./arrays.ts";
import type { Statement } from "./pool.ts";
import { CHARGE_COLUMNS, chargesOf, keyChargesOf } from "./postgres-charges.ts";
import { ADD_COUNTS, COLUMNS, type Columns, changedColumns, FIELDS, SETTABLE } from "./postgres-jobs.ts";
import { TELL } from "./postgres-outbox.ts";
import { DROP_OUTPUT } from "./postgres-outputs.ts";
import { APART, isApart } from "./postgres-payloads.ts";

/**
 * What a change does, without its values. Changes of one shape share a statement that does no work for other shapes; one statement for all
 * shapes took 1.5 times as long. The engine uses about a dozen shapes.
 */
interface Shape extends Columns {
  from: readonly JobState[];
  to: JobState | undefined;
  fence: { holder: boolean; attempt: boolean; spent: boolean };
  result: "given" | "removed" | undefined;
  progress: "given" | "removed" | undefined;
  count: Partial<Record<Counter, number>>;
  webhook: boolean;
  dropChunks: boolean;
  lower: { retention: boolean; expiry: boolean };
  expiry: boolean;
  charge: boolean;
  place: "front" | "back" | undefined;
}

const fateOf = (text: unknown) => (text === undefined ? undefined : text === null ? "removed" : "given");

function shapeOf({ when, set, clear = [], place, result, progress, lower = {}, also = {} }: JobChange): Shape {
  return {
    ...changedColumns(set, clear),
    from: when.states,
    to: set.state,
    fence: {
      holder: when.holder !== undefined,
      attempt: when.attempt !== undefined,
      spent: when.spent !== undefined,
    },
    result: fateOf(result),
    progress: fateOf(progress),
    count: also.count ?? {},
    webhook: also.webhook ?? false,
    dropChunks: also.dropChunks ?? false,
    lower: { retention: lower.retentionMs !== undefined, expiry: lower.expiresAt !== undefined },
    expiry: also.expiry ?? false,
    charge: also.charge !== undefined,
    place: set.state === "IN_QUEUE" ? (place ?? "front") : undefined,
  };
}

function nameOf(shape: Shape): string {
  const { set, clear, from, to, fence, result, progress, count, webhook, dropChunks, lower, place } = shape;
  const { expiry, charge } = shape;
  const fences = [fence.holder, fence.attempt, fence.spent];
  const flags = [...fences, webhook, dropChunks, lower.retention, lower.expiry, expiry, charge];
  const counts = `${count.completed},${count.failed},${count.retried}`;
  return `${from} ${to} ${Object.keys(set)} -${clear} ${flags.map(Number).join("")} ${counts} ${result} ${progress} ${place}`;
}

/** A value that each change brings: an element of an array, with a name in the statement. */
interface Given {
  name: string;
  type: string;
  value(change: JobChange, set: Columns["set"]): unknown;
}

function givenIn({ set, fence, result, progress, lower, charge }: Shape): Given[] {
  const columns = (Object.keys(set) as (keyof typeof SETTABLE)[]).filter((name) => name !== "state");
  const ifSo = (isGiven: boolean, name: string, type: string, value: Given["value"]): Given[] =>
    isGiven ? [{ name, type, value }] : [];
  return [
    { name: "id", type: "text", value: ({ id }) => id },
    ...ifSo(fence.holder, "its_holder", "text", ({ when }) => when.holder),
    ...ifSo(fence.attempt, "its_attempt", "bigint", ({ when }) => when.attempt),
    ...ifSo(fence.spent, "its_spent", "bigint", ({ when }) => when.spent),
    ...columns.map((name): Given => ({ name: `new_${name}`, type: SETTABLE[name], value: (_, its) => its[name] })),
    ...ifSo(result === "given", "new_result", "text", (change) => (isApart(change.result) ? APART : change.result)),
    ...ifSo(progress === "given", "new_progress", "text", (change) => change.progress),
    ...ifSo(lower.retention, "less_retention_ms", "bigint", (change) => change.lower?.retentionMs),
    ...ifSo(lower.expiry, "less_expires_at", "bigint", (change) => change.lower?.expiresAt),
    ...(charge ? CHARGED : []),
  ];
}

const CHARGED = CHARGE_COLUMNS.map(
  ([column, field]): Given => ({
    name: `charged_${column}`,
    type: "bigint",
    value: ({ also }) => also?.charge?.[field],
  }),
);

const isNumber = (type: string) => type === "bigint" || type === "integer";

/** Values that are neither numbers nor texts are sent as JSON. */
function arrayOf({ type, value }: Given, changes: readonly JobChange[], sets: readonly Columns["set"][]): Buffer {
  const values = changes.map((change, n) => value(change, sets[n]!));
  if (isNumber(type)) return bigintArray(values as number[]);
  return textArray(type === "text" ? (values as string[]) : values.map((one) => storableJson(one)));
}

const NEW_VALUE: Record<string, (name: string) => string> = {
  boolean: (name) => `${name}::boolean`,
  jsonb: (name) => `${name}::jsonb`,
  "text[]": (name) => `ARRAY (SELECT json_array_elements_text(${name}::json))`,
};
const newValue = ({ name, type }: Given) => NEW_VALUE[type]?.(name) ?? name;

/** The first parameter holds the states. The arrays of values follow, and then the counters' slot. */
const FIRST_GIVEN = 2;
const POSITIONS = { front: "-nextval('job_returns')", back: "nextval('job_positions')" };

function textOf(shape: Shape, given: readonly Given[]): string {
  const { fence, webhook, dropChunks, result, place, clear, charge } = shape;
  const arrays = given.map(({ type }, i) => `$${FIRST_GIVEN + i}::${isNumber(type) ? "bigint" : "text"}[]`);
  const names = given.map(({ name }) => name);
  // Sorted by id, so that no two writers wait for each other.
  const rows = `(SELECT * FROM unnest(${arrays}) WITH ORDINALITY AS given (${names}, n) ORDER BY id) AS given`;
  // The states are a parameter even where there is only one. With a constant the planner could choose an index over all jobs in that state.
  const fits = [
    "jobs.id = given.id AND jobs.state = ANY ($1::text[])",
    ...(fence.holder ? ["jobs.holder IS NOT DISTINCT FROM its_holder"] : []),
    ...(fence.attempt ? ["jobs.attempt = its_attempt"] : []),
    ...(fence.spent ? ["jobs.spent = its_spent"] : []),
  ].join(" AND ");
  const slot = `$${FIRST_GIVEN + given.length}::integer`;
  const counted = countsOf(shape, slot);
  const charged = charge ? `, jobs.caller, jobs.fare, ${CHARGED.map(({ name }) => name).join(", ")}` : "";
  const returned = `${COLUMNS}, jobs.low${webhook ? ", jobs.webhooks, jobs.ended_at, jobs.caller AS teller" : ""}${charged}`;
  const update = `UPDATE jobs SET ${assignments(shape, given).join(", ")} FROM`;
  return `
    WITH ${
      // The row lock waits for a concurrent change of the job and then sees its result.
      mustLookFirst(shape)
        ? `fitting AS MATERIALIZED (
      SELECT * FROM ${rows} CROSS JOIN LATERAL (SELECT jobs.state AS was, jobs.low AS was_low FROM jobs WHERE ${fits} FOR UPDATE) AS held
    ), change AS MATERIALIZED (
      SELECT *, ${place ? `CASE WHEN was <> 'IN_QUEUE' THEN ${POSITIONS[place]} END` : "NULL"} AS new_position
      FROM (SELECT * FROM fitting ORDER BY n) AS fitting
    ),
    done AS (${update} change WHERE jobs.id = change.id RETURNING n, was, was_low, ${returned})`
        : `done AS (${update} ${rows} WHERE ${fits} RETURNING n, ${returned})`
    }
    ${counted ? `, counted AS (${counted} ${ADD_COUNTS})` : ""}
    ${charge ? `, charged AS (${chargesOf(slot)}), charged_keys AS (${keyChargesOf(slot)})` : ""}
    ${webhook ? `, told AS (${TELL})` : ""}
    ${dropChunks ? ", chunks AS (DELETE FROM job_chunks USING done WHERE job_chunks.job = done.id)" : ""}
    ${result === "removed" ? ", pieces AS (DELETE FROM job_payloads USING done WHERE job_payloads.job = done.id AND part = 'result')" : ""}
    ${clear.includes("large") ? `, output AS (${DROP_OUTPUT})` : ""}
    SELECT n, ${FIELDS} FROM done`;
}

/** Whether the counts or the place in the queue depend on the job's earlier state, which an UPDATE does not return. */
const mustLookFirst = ({ from, to, set, place }: Shape) =>
  place !== undefined || set.low !== undefined || (to !== undefined && from.length !== 1);

function assignments(shape: Shape, given: readonly Given[]): string[] {
  const { to, clear, result, progress, lower, expiry, place } = shape;
  const isKept = ({ name }: Given) => name.startsWith("new_") && !clear.some((column) => name === `new_${column}`);
  const all = [
    ...(to ? [`state = '${to}'`] : []),
    ...given.filter(isKept).map((one) => `${one.name.slice("new_".length)} = ${newValue(one)}`),
    ...clear.map((name) => `${name} = NULL`),
    ...(result === "removed" ? ["result = NULL"] : []),
    ...(progress === "removed" ? ["progress = NULL"] : []),
    ...(lower.retention ? [lowered("retention_ms")] : []),
    ...(lower.expiry ? [lowered("expires_at")] : []),
    ...(expiry ? ["expires_at = new_ended_at + jobs.retention_ms"] : []),
    ...(place ? ["position = coalesce(new_position, position)"] : []),
  ];
  return all.length > 0 ? all : ["state = jobs.state"];
}

/** LEAST ignores NULL, so it would set a value that the job does not have. This keeps it absent. */
const lowered = (column: string) =>
  `${column} = CASE WHEN jobs.${column} > less_${column} THEN less_${column} ELSE jobs.${column} END`;

/** What the changes add to the counts of their endpoints; undefined where that is nothing. */
function countsOf(shape: Shape, slot: string): string | undefined {
  const { count } = shape;
  const counters = [count.completed, count.failed, count.retried].map((each) => each ?? 0);
  const [queued, low, running] = mustLookFirst(shape) ? MOVED : movesOf(shape);
  const added = [queued!, low!, running!, ...counters.map((each) => `${each} * count(*)`)];
  if (added.every((each) => each.startsWith("0 "))) return undefined;
  return `INSERT INTO job_counters SELECT endpoint, ${slot}, ${added.join(", ")} FROM done GROUP BY endpoint ORDER BY endpoint`;
}

function movesOf({ from, to }: Shape): string[] {
  const moved = (state: JobState) => (to === undefined ? 0 : Number(to === state) - Number(from[0] === state));
  const queued = moved("IN_QUEUE");
  return [`${queued} * count(*)`, `${queued} * count(*) FILTER (WHERE low)`, `${moved("IN_PROGRESS")} * count(*)`];
}

const MOVED = [
  "sum((state = 'IN_QUEUE')::integer - (was = 'IN_QUEUE')::integer)",
  "sum((state = 'IN_QUEUE' AND low)::integer - (was = 'IN_QUEUE' AND was_low)::integer)",
  "sum((state = 'IN_PROGRESS')::integer - (was = 'IN_PROGRESS')::integer)",
];

interface Plan {
  statement: Statement;
  given: Given[];
  counts: boolean;
}

const plans = new Map<string, Plan>();

function planFor(name: string, shape: Shape): Plan {
  let plan = plans.get(name);
  if (!plan) {
    const given = givenIn(shape);
    // Names in PostgreSQL have at most 63 bytes.
    const statement = { name: `apply_${plans.size}`, text: textOf(shape, given) };
    plan = { statement, given, counts: shape.charge || countsOf(shape, "") !== undefined };
    plans.set(name, plan);
  }
  return plan;
}

/** Changes of one shape and of different jobs, which one statement can apply. */
export class Round {
  /** The positions of these changes in the caller's list. */
  readonly numbers: number[] = [];
  readonly #plan: Plan;
  readonly #changes: JobChange[] = [];
  readonly #sets: Columns["set"][] = [];

  private constructor(plan: Plan) {
    this.#plan = plan;
  }

  get statement(): Statement {
    return this.#plan.statement;
  }

  parameters(slot: number): unknown[] {
    const { given, counts } = this.#plan;
    const arrays = given.map((one) => arrayOf(one, this.#changes, this.#sets));
    return [this.#changes[0]!.when.states, ...arrays, ...(counts ? [slot] : [])];
  }

  static all(changes: readonly JobChange[]): Round[] {
    const rounds: Round[] = [];
    const byShape = new Map<string, number>();
    const lastOf = new Map<string, number>();
    for (const [n, change] of changes.entries()) {
      const shape = shapeOf(change);
      const name = nameOf(shape);
      // Changes of one job must see each other in order, and a statement changes a job only once.
      const known = byShape.get(name);
      const last = lastOf.get(change.id) ?? -1;
      const at = known !== undefined && last < known ? known : rounds.length;
      rounds[at] ??= new Round(planFor(name, shape));
      rounds[at].#add(n, change, shape.set);
      byShape.set(name, at);
      lastOf.set(change.id, at);
    }
    return rounds;
  }

  #add(n: number, change: JobChange, set: Columns["set"]): void {
    this.numbers.push(n);
    this.#changes.push(change);
    this.#sets.push(set);
  }
}
