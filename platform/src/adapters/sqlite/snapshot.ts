/** Copies store and queue as they were at one moment, while a server writes to both. Payload files of that moment are kept too. */
import { copyFileSync, linkSync } from "node:fs";
import { copyFile, link, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { eachOf } from "../../kernel/bounded.ts";
import { program as queueProgram } from "./queue-program.ts";
import { program as storeProgram } from "./store-program.ts";
import { openForReading, schemaOf } from "./writer.ts";

/** The newest format of each database that this release knows. */
const knownFormats: Record<string, number> = {
  "store.db": storeProgram.migrations.length,
  "queue.db": queueProgram.migrations.length,
};

/** Pages that are copied in one step of another thread. */
const PAGES_A_STEP = 1000;
const LINKS_AT_ONCE = 8;
const LOCK_WAIT_MS = 10_000;

export interface Snapshot {
  /** Everything that was acknowledged before this time is in it. */
  at: number;
  formats: Record<string, number>;
  /** The names of the payload files that the queue refers to. They are in the folder `kept`. */
  payloads: string[];
}

interface Places {
  data: string;
  /** Receives the copies of the databases. */
  copies: string;
  /** Receives the payload files, by a second name for each. It is on the data folder's file system. */
  kept: string;
}

/**
 * For a moment both databases are locked against writers, and a reader of each begins: so they show the same moment. A server waits about a
 * millisecond. Payload files get a second name, so that the server can remove its own.
 */
export async function takeSnapshot({ data, copies, kept }: Places, now: () => number): Promise<Snapshot> {
  await mkdir(kept, { mode: 0o700 });
  const [storeFile, queueFile] = [join(data, "store.db"), join(data, "queue.db")];
  const early = await keepEarly(data, kept);
  using store = openForReading(storeFile);
  using queue = openForReading(queueFile);
  const { at, payloads } = await atOneMoment([storeFile, queueFile], () => {
    for (const db of [store, queue]) beginReading(db);
    const named = payloadsIn(queue);
    const isKept = (name: string) => early.has(name) || keepNow(join(data, "payloads", name), join(kept, name));
    return { at: now(), payloads: named.filter(isKept) };
  });
  const formats: Record<string, number> = {};
  for (const [name, db] of Object.entries({ "store.db": store, "queue.db": queue })) {
    formats[name] = schemaOf(db);
    refuseNewer(name, formats[name]);
    const copy = join(copies, name);
    await (await open(copy, "wx", 0o600)).close();
    await backup(db, copy, { rate: PAGES_A_STEP });
    db.exec("ROLLBACK");
    refuseDamaged(copy, join(data, name));
  }
  return { at, formats, payloads };
}

/** Says why this release cannot use a database of that format. */
export function refuseNewer(name: string, format: number): void {
  const known = knownFormats[name] ?? 0;
  if (format > known)
    throw new Error(
      `${name} has format ${format}, but this release of Millrace knows formats up to ${known}: it was written by a newer release, use that one`,
    );
}

/** Says what is wrong inside a database, or nothing. It reads the whole file. */
export function damageOf(file: string): string | undefined {
  using db = openForReading(file);
  const [first] = db.prepare("PRAGMA quick_check(1)").all() as { quick_check: string }[];
  return first?.quick_check === "ok" ? undefined : (first?.quick_check ?? "it could not be checked");
}

function refuseDamaged(copy: string, original: string): void {
  const damage = damageOf(copy);
  if (damage !== undefined)
    throw new Error(
      `${original} is damaged (${damage}): no backup was made. Rescue what can be read with 'sqlite3 ${original} .recover', or restore an older backup`,
    );
}

/** The payload files that the queue's rows name. */
const payloadsIn = (queue: DatabaseSync): string[] =>
  (queue.prepare("SELECT file FROM payloads WHERE file IS NOT NULL").all() as { file: string }[]).map(
    ({ file }) => file,
  );

/** The format of a database and the payload files that it names. */
export function lookInto(file: string): { format: number; payloads: string[] } {
  using db = openForReading(file);
  const hasPayloads = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'payloads'").get() !== undefined;
  return { format: schemaOf(db), payloads: hasPayloads ? payloadsIn(db) : [] };
}

/** A transaction reads from the moment of its first read on. */
function beginReading(db: DatabaseSync): void {
  db.exec("BEGIN");
  db.prepare("SELECT count(*) FROM sqlite_schema").get();
}

/** Nobody writes to any of the files while `work` runs. */
async function atOneMoment<T>(files: readonly string[], work: () => T): Promise<T> {
  using opened = new DisposableStack();
  const locks = files.map((file) => opened.use(new DatabaseSync(file, { timeout: LOCK_WAIT_MS })));
  for (const lock of locks) lock.exec("BEGIN IMMEDIATE");
  try {
    return work();
  } finally {
    for (const lock of locks) lock.exec("ROLLBACK");
  }
}

/** Keeps what there is before the moment, so that there is little left to do in it. */
async function keepEarly(data: string, kept: string): Promise<Set<string>> {
  const names = lookInto(join(data, "queue.db")).payloads;
  const early = new Set<string>();
  await eachOf(names, LINKS_AT_ONCE, async (name) => {
    const [from, to] = [join(data, "payloads", name), join(kept, name)];
    const isKept = await link(from, to).then(
      () => true,
      (error) => (isGone(error) ? false : copied(from, to)),
    );
    if (isKept) early.add(name);
  });
  return early;
}

/** A payload that is gone belonged to a job that has ended meanwhile. */
const isGone = (error: NodeJS.ErrnoException) => error.code === "ENOENT";

/** Some file systems have no second names. A half copy of a file that was removed meanwhile does not count. */
async function copied(from: string, to: string): Promise<boolean> {
  try {
    await copyFile(from, to);
    return true;
  } catch (error) {
    if (!isGone(error as NodeJS.ErrnoException)) throw error;
    await rm(to, { force: true });
    return false;
  }
}

/** In the moment itself no row is removed. A file that is missing was lost before, and its job says so when it is read. */
function keepNow(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (isGone(error as NodeJS.ErrnoException)) return false;
    copyFileSync(from, to);
    return true;
  }
}
