/** The queue in PostgreSQL, for any number of nodes. Every decision is one statement, and simultaneous calls share one. */

import { type Admit, UNCOUNTED_BYTES } from "../../kernel/body-memory.ts";
import { realClock } from "../../kernel/clock.ts";
import { isProblem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { isStorable } from "../../kernel/storable.ts";
import { isAdmitted } from "../../ports/queue/fitting.ts";
import { isKept, type Job, type NewJob } from "../../ports/queue/job.ts";
import type {
  Ask,
  CallerCounts,
  ChargeFilter,
  Charges,
  Chunk,
  ChunkPlace,
  Claimed,
  Counts,
  Demand,
  Due,
  Enqueued,
  HolderState,
  JobChange,
  JobFilter,
  LargeOutputs,
  NewCharges,
  Outcome,
  OutgoingAsk,
  OutgoingPage,
  Part,
  Queue,
  Reading,
  StandbyAsk,
  TellersAsk,
  TellersPage,
} from "../../ports/queue/queue.ts";
import { Batcher, Lane, regroup } from "./batcher.ts";
import type { Patience } from "./connection.ts";
import { type Migrating, migrate } from "./migrate.ts";
import { endPool, openPool, type Pool, query, type Sql, type Statement, transaction } from "./pool.ts";
import { applyInRounds, FIND, lockJobs } from "./postgres-apply.ts";
import { Asks } from "./postgres-asks.ts";
import { addCharges, chargedByKey, readCharges } from "./postgres-charges.ts";
import { type Begun, claimJobs } from "./postgres-claim.ts";
import { demand } from "./postgres-demand.ts";
import { aliveHolders, dueJobs, giveGrace, type Renewal, renewHolders, ToldRenewals } from "./postgres-holders.ts";
import { Inserts } from "./postgres-inserts.ts";
import { COLUMNS, type JobRow, migrations, planSettings, toJob } from "./postgres-jobs.ts";
import { outgoing, settle, tellers } from "./postgres-outbox.ts";
import { PostgresOutputs } from "./postgres-outputs.ts";
import {
  APART,
  appendChunks,
  bytesOf,
  isApart,
  readChunks,
  readJob,
  readPieces,
  resealSlice,
} from "./postgres-payloads.ts";
import { expireSlice, purgeSlice, removeSlice, SLICE } from "./postgres-removal.ts";
import { countCallers } from "./postgres-turns.ts";

/** Counters are kept in this many sets, and each node picks one. Two nodes with the same set sometimes wait for each other. */
const COUNTER_SETS = 8;
/** Each set has a slot for every kind of writer, since the writers of one node work at the same time. */
const WRITERS = ["enqueue", "claim", "apply", "alone"] as const;

export class PostgresQueue implements Queue {
  readonly outputs: LargeOutputs;
  readonly #pool: Pool;
  readonly #sql: Sql;
  readonly #set: number;
  readonly #inserts: Inserts;
  readonly #enqueues: Batcher<NewJob[], Enqueued[]>;
  readonly #claims: Asks;
  readonly #changes: Batcher<JobChange[], Outcome[]>;
  readonly #chunks: Batcher<{ holder: string; chunks: Chunk[] }, void>;
  readonly #renewals: Batcher<Renewal, void>;
  readonly #told = new ToldRenewals();
  /** Whether the database was unreachable at some time since holders last got a grace period. */
  #wasAway = false;

  private constructor(pool: Pool, random: Random) {
    this.#pool = pool;
    this.#sql = (statement, values) => this.#watched(query(pool, statement, values));
    this.outputs = new PostgresOutputs(this.#sql, random);
    this.#set = random.bytes(1)[0]! % COUNTER_SETS;
    // The batchers take turns, so that each gathers calls while the others are under way. Fewer and larger statements take a tenth less CPU
    // per job.
    const lane = new Lane();
    this.#inserts = new Inserts({
      sql: this.#sql,
      transaction: (work) => this.#transaction(work),
      slots: { shared: this.#slot("enqueue"), alone: this.#slot("alone") },
    });
    this.#enqueues = new Batcher(
      async (calls) => regroup(calls, await this.#inserts.all(calls.flat())),
      lane,
      () => this.#inserts.ready(),
    );
    this.#claims = new Asks(
      this.#inserts.standbys,
      (asks) => claimJobs(this.#sql, asks, this.#slot("claim"), (work) => this.#transaction(work)),
      lane,
    );
    this.#changes = new Batcher((calls) => this.#apply(calls), lane);
    this.#chunks = new Batcher(async (calls) => {
      await appendChunks(this.#sql, calls);
      return calls.map(() => undefined);
    });
    this.#renewals = new Batcher(async (renewals) => {
      await renewHolders(this.#sql, renewals);
      return renewals.map(() => undefined);
    });
  }

  static async open(url: string, options: Patience & Migrating & { random: Random }): Promise<PostgresQueue> {
    const { random, say, ...patience } = options;
    const pool = openPool(url, { settings: planSettings, ...patience });
    try {
      await migrate(pool, "queue", migrations, say && { say });
      const queue = new PostgresQueue(pool, random);
      await giveGrace(queue.#sql);
      return queue;
    } catch (error) {
      await endPool(pool);
      throw error;
    }
  }

  async enqueue(jobs: NewJob[]): Promise<Enqueued[]> {
    if (jobs.length === 0) return [];
    return jobs.some(({ body }) => isApart(body)) ? this.#inserts.large(jobs) : this.#enqueues.ask(jobs);
  }

  standBy(ask: StandbyAsk): () => void {
    return this.#inserts.standbys.add(ask);
  }

  async claim(ask: Ask): Promise<Claimed[]> {
    const claimed = await this.#claims.ask(ask);
    const read = async ({ job, body }: Begun) => ({
      job,
      body: body === APART ? await readPieces(this.#sql, job.id, "body") : body,
    });
    const bytes = claimed.reduce((sum, { bytes }) => sum + bytes, 0);
    if (await isAdmitted(bytes, ask.admit)) return Promise.all(claimed.map(read));
    return claimed.map(({ job }) => ({ job, body: undefined }));
  }

  async apply(changes: JobChange[]): Promise<Outcome[]> {
    if (changes.length === 0) return [];
    if (!changes.some(({ result, set }) => isApart(result) || set.large)) return this.#changes.ask(changes);
    return this.#applyWhole(changes, this.#slot("alone"));
  }

  async append(holder: string, chunks: Chunk[]): Promise<void> {
    if (chunks.length > 0) await this.#chunks.ask({ holder, chunks });
  }

  async read(id: string, now: number, parts: readonly Part[] = [], admit?: Admit): ReturnType<Queue["read"]> {
    if (!isStorable(id)) return undefined;
    const reading = await this.#read(id, parts, admit);
    if (reading && isKept(reading.job, now)) return reading;
    const purged = await this.#sql("SELECT FROM purged_jobs WHERE id = $1 AND until > $2", [id, now]);
    return purged.length > 0 ? "purged" : undefined;
  }

  async find(ids: readonly string[], now: number): Promise<(Job | undefined)[]> {
    const rows = await this.#sql<JobRow>(FIND, [ids]);
    const jobs = new Map(rows.map((row) => [row.id, toJob(row)]));
    return ids.map((id) => jobs.get(id)).map((job) => (job && isKept(job, now) ? job : undefined));
  }

  chunks(id: string, after: ChunkPlace, limit: number, bytes?: number): Promise<Chunk[]> {
    return readChunks(this.#sql, id, after, limit, bytes);
  }

  async list(filter: JobFilter): Promise<{ jobs: Job[]; total: number }> {
    const { endpoint, states, holder, caller, offset, limit, now } = filter;
    const where = `endpoint = $1 AND (expires_at IS NULL OR expires_at > $2) AND ($3::text[] IS NULL OR state = ANY ($3))
       AND ($4::text IS NULL OR holder = $4) AND ($5::text IS NULL OR caller = $5)`;
    const values = [endpoint, now, states ?? null, holder ?? null, caller ?? null];
    const [rows, [count]] = await Promise.all([
      this.#sql<JobRow>(
        `SELECT ${COLUMNS} FROM jobs WHERE ${where} ORDER BY created_at DESC, id DESC LIMIT $6 OFFSET $7`,
        [...values, limit, offset],
      ),
      this.#sql<{ total: number }>(`SELECT count(*) AS total FROM jobs WHERE ${where}`, values),
    ]);
    return { jobs: rows.map(toJob), total: count!.total };
  }

  async purge(endpoint: string, now: number): Promise<string[]> {
    const [sequence] = await this.#sql<{ last: number }>("SELECT last_value AS last FROM job_positions");
    const terms = { upTo: sequence!.last, now, slot: this.#slot("alone") };
    const purged: string[] = [];
    for (;;) {
      const slice = await this.#transaction((sql) => purgeSlice(sql, endpoint, terms));
      purged.push(...slice);
      if (slice.length < SLICE) return purged;
    }
  }

  /** The text leaves the files when PostgreSQL vacuums the tables and recycles its write-ahead log, not at once. */
  async removeEndpoint(endpoint: string): Promise<void> {
    this.#told.clear();
    while ((await this.#transaction((sql) => removeSlice(sql, endpoint))) === SLICE);
    await this.#transaction(async (sql) => {
      await sql("DELETE FROM job_counters WHERE endpoint = $1", [endpoint]);
      await sql("DELETE FROM job_turns WHERE endpoint = $1", [endpoint]);
      await sql("DELETE FROM holders WHERE endpoint = $1", [endpoint]);
      await sql("DELETE FROM job_bindings WHERE endpoint = $1", [endpoint]);
    });
  }

  async reseal(change: Parameters<Queue["reseal"]>[0]): Promise<number> {
    let changed = 0;
    for (let after = "", more = true; more; ) {
      const slice = await this.#transaction((sql) => resealSlice(sql, after, change));
      changed += slice.changed;
      after = slice.last ?? after;
      more = slice.last !== undefined;
    }
    return changed;
  }

  async renew(holder: string, endpoint: string, forMs: number): Promise<void> {
    const news = this.#told.next({ holder, endpoint, forMs }, realClock.monotonic());
    if (!news) return;
    try {
      await this.#renewals.ask(news);
    } catch (error) {
      this.#told.forget(holder);
      throw error;
    }
  }

  async retire(holder: string): Promise<void> {
    this.#told.forget(holder);
    // A renewal that was sent earlier must not arrive after the removal.
    await this.#renewals.idle();
    await this.#sql("DELETE FROM holders WHERE holder = $1", [holder]);
  }

  async unbind(holder: string): Promise<void> {
    await this.#sql("DELETE FROM job_bindings WHERE holder = $1", [holder]);
  }

  holders(endpoint?: string): Promise<HolderState[]> {
    return aliveHolders(this.#sql, endpoint);
  }

  async held(holder: string): Promise<Job[]> {
    const rows = await this.#sql<JobRow>(`SELECT ${COLUMNS} FROM jobs WHERE holder = $1 AND state = 'IN_PROGRESS'`, [
      holder,
    ]);
    return rows.map(toJob);
  }

  async due(now: number, limit: number): Promise<Due[]> {
    // While the database was away, no worker could report.
    if (this.#wasAway) {
      await giveGrace(this.#sql);
      this.#wasAway = false;
    }
    return dueJobs(this.#sql, now, limit);
  }

  async expire(now: number, limit: number): Promise<number> {
    return expireSlice(this.#sql, now, limit);
  }

  async counts(endpoint: string): Promise<Counts> {
    const [counts] = await this.#sql<Counts>(COUNTS, [endpoint]);
    return counts!;
  }

  callers(endpoint: string): Promise<CallerCounts[]> {
    return countCallers(this.#sql, endpoint);
  }

  charge(charges: NewCharges): Promise<void> {
    return this.#transaction((sql) => addCharges(sql, charges, this.#slot("alone")));
  }

  chargedByKey(key: string, fromHour: number): Promise<number> {
    return chargedByKey(this.#sql, key, fromHour);
  }

  charges(filter: ChargeFilter): Promise<Charges[]> {
    return readCharges(this.#sql, filter);
  }

  demand(most: number): Promise<Demand[]> {
    return demand(this.#sql, most);
  }

  tellers(ask: TellersAsk): Promise<TellersPage> {
    return tellers(this.#sql, ask);
  }

  outgoing(ask: OutgoingAsk): Promise<OutgoingPage> {
    return outgoing(this.#sql, ask);
  }

  settle(...asked: Parameters<Queue["settle"]>): Promise<void> {
    return settle(this.#sql, ...asked);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const batchers = [this.#enqueues, this.#claims, this.#changes, this.#chunks, this.#renewals];
    await Promise.all(batchers.map((batcher) => batcher.idle()));
    await endPool(this.#pool);
  }

  async #apply(calls: JobChange[][]): Promise<Outcome[][]> {
    const changes = calls.flat();
    // Rounds are statements that commit by themselves. Several changes of one job must be applied together, and take a transaction.
    const slot = this.#slot("apply");
    const outcomes = await (hasRepeats(changes)
      ? this.#applyWhole(changes, slot)
      : applyInRounds(this.#sql, changes, slot));
    return regroup(calls, outcomes);
  }

  #applyWhole(changes: readonly JobChange[], slot: number): Promise<Outcome[]> {
    return this.#transaction(async (sql) => {
      await lockJobs(sql, changes);
      return applyInRounds(sql, changes, slot);
    });
  }

  async #read(id: string, parts: readonly Part[], admit?: Admit): Promise<Reading | undefined> {
    const reading = await readJob(this.#sql, id, parts);
    if (!reading) return undefined;
    // This is outside of a transaction, because it may have to wait.
    const bytes = admit ? await bytesOf(this.#sql, reading, parts) : 0;
    if (bytes > UNCOUNTED_BYTES) await admit!(bytes);
    if (!parts.some((part) => reading[part] === APART)) return reading;
    // One snapshot gives the job and its pieces from the same moment.
    return this.#transaction(async (sql) => {
      await sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
      const again = await readJob(sql, id, parts);
      for (const part of parts)
        if (again?.[part] === APART) Object.assign(again, { [part]: await readPieces(sql, id, part) });
      return again;
    });
  }

  #transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#watched(transaction(this.#pool, work));
  }

  async #watched<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (isProblem(error, "unavailable")) this.#wasAway = true;
      throw error;
    }
  }

  #slot(writer: (typeof WRITERS)[number]): number {
    return this.#set * WRITERS.length + WRITERS.indexOf(writer);
  }
}

const sum = (column: string) => `coalesce(sum(${column}), 0)::bigint`;

const COUNTS: Statement = {
  name: "counts",
  text: `
    SELECT ${sum("in_queue")} AS "inQueue", ${sum("low_in_queue")} AS "lowPriorityInQueue",
      ${sum("in_progress")} AS "inProgress", ${sum("completed")} AS completed, ${sum("failed")} AS failed,
      ${sum("retried")} AS retried
    FROM job_counters WHERE endpoint = $1`,
};

const hasRepeats = (changes: readonly JobChange[]) => new Set(changes.map(({ id }) => id)).size < changes.length;
