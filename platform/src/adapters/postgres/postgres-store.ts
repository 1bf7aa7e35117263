/** The store in PostgreSQL: one transaction per commit, for any number of nodes. */
import { isStorable, storableJson } from "../../kernel/storable.ts";
import {
  type Counting,
  type Lease,
  type Listing,
  type ListKey,
  type NewRecord,
  type Store,
  type StoredRecord,
  type UniqueKey,
  type Write,
  WriteRefused,
} from "../../ports/store/store.ts";
import { Batcher } from "./batcher.ts";
import type { Patience } from "./connection.ts";
import { type Migrating, migrate } from "./migrate.ts";
import { endPool, openPool, type Pool, query, type Sql, type Statement, transaction } from "./pool.ts";
import { counted, refusePast, selected, takeTurns } from "./postgres-counting.ts";
import { notAhead } from "./time.ts";

// Text is compared by its bytes, whatever the database's own collation is, so that listings equal those of other stores.
const migrations = [
  `CREATE TABLE records (
     kind text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, account text COLLATE "C" NOT NULL,
     created_at bigint NOT NULL, version bigint NOT NULL, doc jsonb NOT NULL,
     PRIMARY KEY (kind, id)
   );
   CREATE INDEX records_by_account ON records (kind, account, created_at, id);
   CREATE INDEX records_by_age ON records (kind, created_at, id);
   CREATE TABLE unique_keys (
     kind text COLLATE "C" NOT NULL, scope text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL,
     value text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
     PRIMARY KEY (kind, scope, name, value),
     -- A record removed by one node while another gives it a key must not leave that key behind, taken for ever.
     FOREIGN KEY (kind, id) REFERENCES records ON DELETE CASCADE
   );
   CREATE INDEX unique_keys_by_record ON unique_keys (kind, id);
   CREATE TABLE leases (name text COLLATE "C" PRIMARY KEY, holder text NOT NULL, until bigint NOT NULL, fence bigint NOT NULL);`,
  `CREATE TABLE list_keys (
     kind text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, value text COLLATE "C" NOT NULL,
     created_at bigint NOT NULL, id text COLLATE "C" NOT NULL,
     PRIMARY KEY (kind, name, value, created_at, id),
     FOREIGN KEY (kind, id) REFERENCES records ON DELETE CASCADE
   );
   CREATE INDEX list_keys_by_record ON list_keys (kind, id);`,
];

const COLUMNS = `records.kind, records.id, records.account, records.created_at AS "createdAt", records.version, records.doc`;

export class PostgresStore implements Store {
  readonly #pool: Pool;
  /** A read is always sent after it was asked for and never joins one under way: a caller that has just written must see its write. */
  readonly #single: Batcher<Single, StoredRecord | undefined>;

  private constructor(pool: Pool) {
    this.#pool = pool;
    this.#single = new Batcher((asked) => readOnce(pool, asked));
  }

  static async open(url: string, { say, ...patience }: Patience & Migrating = {}): Promise<PostgresStore> {
    const pool = openPool(url, patience);
    try {
      await migrate(pool, "store", migrations, say && { say });
      return new PostgresStore(pool);
    } catch (error) {
      await endPool(pool);
      throw error;
    }
  }

  async commit(writes: Write[]): Promise<StoredRecord[]> {
    if (writes.length === 0) return [];
    return transaction(this.#pool, async (sql) => {
      await takeTurns(sql, writes);
      const changed = writes.filter((write) => write.do !== "insert");
      if (changed.length > 1) await lockInOrder(sql, changed);
      const written: StoredRecord[] = [];
      for (const [index, write] of writes.entries()) {
        written.push(await apply(sql, write, index));
        await refusePast(sql, write, index);
      }
      return written;
    });
  }

  async get(kind: string, id: string): Promise<StoredRecord | undefined> {
    return isStorable(id) ? this.#single.ask({ ...GET, values: [kind, id] }) : undefined;
  }

  async find(kind: string, { scope, name, value }: UniqueKey): Promise<StoredRecord | undefined> {
    return isStorable(value) ? this.#single.ask({ ...FIND, values: [kind, scope, name, value] }) : undefined;
  }

  async list({ after, limit, ...selection }: Listing): Promise<StoredRecord[]> {
    const { tables, order, where, values } = selected(selection);
    if (!values.every(isStorable)) return [];
    const given: unknown[] = [...values, limit];
    // The columns name the table that gives the order. The other table's columns are equal but have no index for it.
    const place = `${order}.created_at, ${order}.id`;
    const beyond = after ? ` AND (${place}) < ($${given.push(after.createdAt)}, $${given.push(after.id)})` : "";
    return query<StoredRecord>(
      this.#pool,
      `SELECT ${COLUMNS} FROM ${tables} WHERE ${where}${beyond}
       ORDER BY ${order}.created_at DESC, ${order}.id DESC LIMIT $${values.length + 1}`,
      given,
    );
  }

  count(counting: Counting): Promise<number> {
    return counted((statement, values) => query(this.#pool, statement, values), counting);
  }

  /** The text leaves the files when PostgreSQL vacuums the tables and recycles its write-ahead log, not at once. */
  async scrub(): Promise<boolean> {
    return true;
  }

  /** A counter would make all commits of a kind wait for each other. */
  stamp(): undefined {
    return undefined;
  }

  async removeAccount(account: string): Promise<void> {
    await transaction(this.#pool, (sql) => sql("DELETE FROM records WHERE account = $1", [account]));
  }

  async lease({ name, holder, now, until }: Lease): Promise<number | undefined> {
    const [row] = await query<{ fence: number }>(
      this.#pool,
      `INSERT INTO leases (name, holder, until, fence) VALUES ($1, $2, ${NOW} + $4, 1)
       ON CONFLICT (name) DO UPDATE SET
         fence = CASE WHEN leases.holder = $2 AND leases.until > ${NOW} THEN leases.fence ELSE leases.fence + 1 END,
         holder = $2, until = excluded.until
       WHERE leases.holder = $2 OR leases.until <= ${NOW}
       RETURNING fence`,
      [name, holder, now, until - now],
    );
    return row?.fence;
  }

  async release(name: string, holder: string): Promise<void> {
    // The row stays, so that the fence never decreases.
    const long = Number.MIN_SAFE_INTEGER;
    await query(this.#pool, "UPDATE leases SET until = $3 WHERE name = $1 AND holder = $2", [name, holder, long]);
  }

  async removeLease(name: string, now: number): Promise<void> {
    await query(this.#pool, "DELETE FROM leases WHERE name = $1 AND until <= $2", [name, now]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endPool(this.#pool);
  }
}

/** When a lease is asked for. A node that is ahead neither takes the leases of others nor holds its own for longer. */
const NOW = notAhead("$3");

/** Named statements, since planning them takes longer than running them. */
const GET: Statement = { name: "get_record", text: `SELECT ${COLUMNS} FROM records WHERE kind = $1 AND id = $2` };
const FIND: Statement = {
  name: "find_record",
  text: `SELECT ${COLUMNS} FROM unique_keys JOIN records USING (kind, id)
         WHERE kind = $1 AND scope = $2 AND name = $3 AND value = $4`,
};

interface Single extends Statement {
  values: string[];
}

/**
 * When a record that many requests need drops out of the cache, all of them ask for it at once. Only one query runs, and each gets its own
 * copy.
 */
async function readOnce(pool: Pool, asked: readonly Single[]): Promise<(StoredRecord | undefined)[]> {
  const reads = new Map<string, Promise<StoredRecord | undefined>>();
  return Promise.all(
    asked.map(async ({ name, text, values }) => {
      const key = JSON.stringify([name, values]);
      const known = reads.get(key);
      if (known) return structuredClone(await known);
      const read = query<StoredRecord>(pool, { name, text }, values).then(([record]) => record);
      reads.set(key, read);
      return read;
    }),
  );
}

/**
 * Locks the records in one order. Two commits that change the same records in different orders would wait for each other until PostgreSQL
 * aborts one a second later.
 */
async function lockInOrder(sql: Sql, changed: Exclude<Write, { do: "insert" }>[]): Promise<void> {
  await sql(
    `SELECT FROM records WHERE (kind, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
     ORDER BY kind, id FOR UPDATE`,
    [changed.map(({ kind }) => kind), changed.map(({ id }) => id)],
  );
}

function apply(sql: Sql, write: Write, index: number): Promise<StoredRecord> {
  switch (write.do) {
    case "insert":
      return insert(sql, write.record, index);
    case "patch":
      return patch(sql, write, index);
    case "remove":
      return remove(sql, write, index);
  }
}

async function insert(sql: Sql, record: NewRecord, index: number): Promise<StoredRecord> {
  const { kind, id, account, createdAt, unique } = record;
  const doc = storableJson(record.doc);
  const inserted = await sql(
    `INSERT INTO records (kind, id, account, created_at, version, doc) VALUES ($1, $2, $3, $4, 1, $5)
     ON CONFLICT DO NOTHING RETURNING 1`,
    [kind, id, account, createdAt, doc],
  );
  if (inserted.length === 0) throw new WriteRefused("id-taken", index);
  await claimKeys(sql, { kind, id }, unique, index);
  await listUnder(sql, record, record.listed ?? []);
  return { kind, id, account, createdAt, version: 1, doc: JSON.parse(doc) };
}

async function patch(sql: Sql, write: Extract<Write, { do: "patch" }>, index: number): Promise<StoredRecord> {
  const { kind, id, ifVersion, set, unique } = write;
  const cleared = Object.keys(set).filter((name) => set[name] === undefined);
  const [record] = await sql<StoredRecord>(
    `UPDATE records SET doc = (doc || $4) - $5::text[], version = version + 1
     WHERE kind = $1 AND id = $2 AND version = coalesce($3, version) RETURNING ${COLUMNS}`,
    [kind, id, ifVersion, storableJson(set), [...cleared, ...(write.unset ?? [])]],
  );
  if (!record) throw await refusal(sql, write, index);
  if (unique) await replaceKeys(sql, record, unique, index);
  if (write.listed) await listAnew(sql, record, write.listed);
  return record;
}

async function remove(sql: Sql, write: Extract<Write, { do: "remove" }>, index: number): Promise<StoredRecord> {
  const { kind, id, ifVersion } = write;
  const [record] = await sql<StoredRecord>(
    `DELETE FROM records WHERE kind = $1 AND id = $2 AND version = coalesce($3, version) RETURNING ${COLUMNS}`,
    [kind, id, ifVersion],
  );
  if (!record) throw await refusal(sql, write, index);
  return record;
}

/** Why a patch or removal found no record to change. */
async function refusal(sql: Sql, write: Exclude<Write, { do: "insert" }>, index: number): Promise<WriteRefused> {
  const { kind, id, ifVersion } = write;
  const found = await sql("SELECT FROM records WHERE kind = $1 AND id = $2", [kind, id]);
  return new WriteRefused(found.length > 0 && ifVersion !== undefined ? "changed" : "missing", index);
}

/** Most patches change no key, so unchanged keys are left alone. PostgreSQL would keep a dead row for each rewritten one. */
async function replaceKeys(sql: Sql, record: StoredRecord, wanted: UniqueKey[], index: number): Promise<void> {
  const held = await sql<UniqueKey>("SELECT scope, name, value FROM unique_keys WHERE kind = $1 AND id = $2", [
    record.kind,
    record.id,
  ]);
  await freeKeys(sql, record, without(held, wanted));
  await claimKeys(sql, record, without(wanted, held), index);
}

function without(keys: UniqueKey[], others: UniqueKey[]): UniqueKey[] {
  return keys.filter((key) => !others.some((other) => isSameKey(key, other)));
}

function isSameKey(a: UniqueKey, b: UniqueKey): boolean {
  return a.scope === b.scope && a.name === b.name && a.value === b.value;
}

async function claimKeys(
  sql: Sql,
  owner: { kind: string; id: string },
  keys: UniqueKey[],
  index: number,
): Promise<void> {
  if (keys.length === 0) return;
  const claimed = await sql(
    `INSERT INTO unique_keys (kind, id, scope, name, value)
     SELECT $1, $2, scope, name, value FROM unnest($3::text[], $4::text[], $5::text[]) AS given (scope, name, value)
     ORDER BY scope, name, value
     ON CONFLICT DO NOTHING RETURNING 1`,
    [owner.kind, owner.id, ...columnsOf(keys)],
  );
  if (claimed.length < keys.length) throw new WriteRefused("key-taken", index);
}

async function freeKeys(sql: Sql, owner: { kind: string; id: string }, keys: UniqueKey[]): Promise<void> {
  if (keys.length === 0) return;
  await sql(
    `DELETE FROM unique_keys
     WHERE kind = $1 AND id = $2 AND (scope, name, value) IN (SELECT * FROM unnest($3::text[], $4::text[], $5::text[]))`,
    [owner.kind, owner.id, ...columnsOf(keys)],
  );
}

/** As with unique keys, unchanged ones are left alone. */
async function listAnew(sql: Sql, record: StoredRecord, wanted: ListKey[]): Promise<void> {
  const columns = [wanted.map(({ name }) => name), wanted.map(({ value }) => value)];
  await sql(
    `DELETE FROM list_keys WHERE kind = $1 AND id = $2
     AND (name, value) NOT IN (SELECT * FROM unnest($3::text[], $4::text[]))`,
    [record.kind, record.id, ...columns],
  );
  await listUnder(sql, record, wanted);
}

async function listUnder(
  sql: Sql,
  { kind, id, createdAt }: Pick<StoredRecord, "kind" | "id" | "createdAt">,
  keys: ListKey[],
): Promise<void> {
  if (keys.length === 0) return;
  await sql(
    `INSERT INTO list_keys (kind, id, created_at, name, value)
     SELECT $1, $2, $3, name, value FROM unnest($4::text[], $5::text[]) AS given (name, value)
     ON CONFLICT DO NOTHING`,
    [kind, id, createdAt, keys.map(({ name }) => name), keys.map(({ value }) => value)],
  );
}

const columnsOf = (keys: UniqueKey[]) => [
  keys.map(({ scope }) => scope),
  keys.map(({ name }) => name),
  keys.map(({ value }) => value),
];
