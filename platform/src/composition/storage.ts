/** Opens the adapters of store, queue, signals, limits and logs that the settings name. Each is loaded when it is opened. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { PostgresPresence as Presence } from "../adapters/postgres/presence.ts";
import { lockFolder, tryLockFolder } from "../adapters/sqlite/folder-lock.ts";
import { SqliteStore } from "../adapters/sqlite/sqlite-store.ts";
import type { Clock } from "../kernel/clock.ts";
import type { ClockDifference } from "../kernel/clock-difference.ts";
import { isProblem } from "../kernel/problem.ts";
import type { Random } from "../kernel/random.ts";
import { anyDisk, type Disk } from "../ports/disk.ts";
import type { Limits } from "../ports/limits/limits.ts";
import type { Logs } from "../ports/logs/logs.ts";
import type { ChargeFilter, Charges, Queue } from "../ports/queue/queue.ts";
import type { Signals } from "../ports/signals/signals.ts";
import type { Store } from "../ports/store/store.ts";
import type { Settings } from "../settings/settings.ts";
import { BACKUP_LOCK, KEPT } from "./backup/places.ts";
import type { ClockWatch } from "./clock-watch.ts";

export type { Presence };

/** Reports what is done to the data before it can be used. */
export type Say = (text: string) => void;

/** How long to wait for PostgreSQL. */
const patienceIn = ({ databaseTimeoutS }: Settings) => ({ answerMs: databaseTimeoutS * 1000 });

/** Opens something, or explains the error. The explanations are only loaded for an error. */
export async function orTrouble<T>(
  opening: () => T | Promise<T>,
  told: (words: typeof import("./start-trouble.ts"), error: unknown) => unknown,
): Promise<T> {
  try {
    return await opening();
  } catch (error) {
    throw told(await import("./start-trouble.ts"), error);
  }
}

const inSqlite = <T>(file: string, open: (file: string) => T | Promise<T>): Promise<T> =>
  orTrouble(
    () => open(file),
    ({ sqliteTrouble }, error) => sqliteTrouble(error, file),
  );

const inPostgres = <T>(url: string, open: (url: string) => Promise<T>): Promise<T> =>
  orTrouble(
    () => open(url),
    ({ postgresTrouble }, error) => postgresTrouble(error, url),
  );

/** PostgreSQL may go away, or have no connection left, at any step of a start. */
export async function explained<T>({ databaseUrl }: Settings, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    if (!databaseUrl || !isProblem(error, "unavailable")) throw error;
    const { postgresTrouble } = await import("./start-trouble.ts");
    throw postgresTrouble(error, databaseUrl);
  }
}

export async function openStore(
  settings: Settings,
  { thread, disk, say }: { thread: boolean; disk?: Disk | undefined; say: Say },
): Promise<Store> {
  const { data, databaseUrl } = settings;
  const upgrading = { say, copies: settings.upgradeCopy === "on" };
  if (!databaseUrl)
    return inSqlite(join(data, "store.db"), (file) => SqliteStore.open(file, { thread, disk, upgrading }));
  const { PostgresStore } = await import("../adapters/postgres/postgres-store.ts");
  return inPostgres(databaseUrl, (url) => PostgresStore.open(url, { ...patienceIn(settings), say }));
}

export async function openLimits(settings: Settings): Promise<Limits> {
  if (!settings.databaseUrl) return new (await import("../ports/limits/memory-limits.ts")).MemoryLimits();
  const { PostgresLimits } = await import("../adapters/postgres/postgres-limits.ts");
  return inPostgres(settings.databaseUrl, (url) => PostgresLimits.open(url, patienceIn(settings)));
}

/** Looks for damage before anything is opened, because opening would erase the traces. The caller must hold the folder's lock. */
export async function findDamage(
  { data, databaseUrl }: Settings,
  now: number,
  say: (text: string) => void,
): Promise<string[]> {
  if (databaseUrl) return [];
  // A server that shut down in order leaves no write-ahead log, and so nothing that could be damaged.
  const databases = [join(data, "store.db"), join(data, "queue.db")].filter((file) => existsSync(`${file}-wal`));
  if (databases.length === 0) return [];
  const { keepDamaged } = await import("../adapters/sqlite/wal-check.ts");
  const { damageText, jobsIn } = await import("../adapters/sqlite/damage-report.ts");
  const suspects: string[] = [];
  for (const database of databases) {
    const damage = await keepDamaged(database, now);
    if (!damage) continue;
    say(damageText(database, damage));
    suspects.push(...jobsIn(damage));
  }
  return suspects;
}

export interface OpenQueue extends AsyncDisposable {
  queue: Queue;
  signals: Signals;
  /** No other process can serve the same store. */
  alone: boolean;
}

/** The queue and its signals: both in this process, or both in PostgreSQL. */
export async function openQueue(
  settings: Settings,
  { clock, random, disk, say }: { clock: Clock; random: Random; disk?: Disk; say: Say },
): Promise<OpenQueue> {
  await using opened = new AsyncDisposableStack();
  if (!settings.databaseUrl) {
    const { SqliteQueue } = await import("../adapters/sqlite/sqlite-queue.ts");
    const { MemorySignals } = await import("../ports/signals/memory-signals.ts");
    const upgrading = { say, copies: settings.upgradeCopy === "on" };
    const around = { clock, random, upgrading, ...(disk && { disk }) };
    const opening = inSqlite(join(settings.data, "queue.db"), () => SqliteQueue.open(settings.data, around));
    const queue = opened.use(await opening);
    const signals = opened.use(new MemorySignals());
    const kept = opened.move();
    return { queue, signals, alone: true, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }
  const { PostgresQueue } = await import("../adapters/postgres/postgres-queue.ts");
  const { PostgresSignals } = await import("../adapters/postgres/postgres-signals.ts");
  const patience = patienceIn(settings);
  const openQueue = (url: string) => PostgresQueue.open(url, { random, say, ...patience });
  const openSignals = (url: string) => PostgresSignals.open(url, { clock, random, ...patience });
  const queue = opened.use(await inPostgres(settings.databaseUrl, openQueue));
  const signals = opened.use(await inPostgres(settings.databaseUrl, openSignals));
  const kept = opened.move();
  return { queue, signals, alone: false, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Reads what callers of public endpoints owe without opening the queue, which a server may have open. */
export async function chargesOf(settings: Settings, filter: ChargeFilter): Promise<Charges[]> {
  if (!settings.databaseUrl)
    return (await import("../adapters/sqlite/sqlite-charges.ts")).chargesInFile(
      join(settings.data, "queue.db"),
      filter,
    );
  const { chargesInDatabase } = await import("../adapters/postgres/postgres-charges.ts");
  return inPostgres(settings.databaseUrl, (url) => chargesInDatabase(url, filter, patienceIn(settings)));
}

/** Logs are on this node's disk even if everything else is in PostgreSQL, because lines are read where they were written. */
export async function openLogs(
  settings: Settings,
  failed: (error: unknown) => void,
  disk: Disk = anyDisk,
): Promise<Logs> {
  const { FileLogs } = await import("../adapters/files/file-logs.ts");
  const { MIB } = await import("../kernel/operation.ts");
  const { data, logFileMb, logFiles, logTotalMb } = settings;
  const limits = { fileBytes: logFileMb * MIB, files: logFiles, total: logTotalMb * MIB };
  return new FileLogs(join(data, "logs"), { failed, limits, disk });
}

/** Registers a server on the data. Other servers may run too if they share a database, but never a rotation of the master key. */
export async function enter(
  settings: Settings,
  { clock, clockWatch }: { clock: Clock; clockWatch: ClockWatch },
  opened: AsyncDisposableStack,
): Promise<Presence | undefined> {
  if (!settings.databaseUrl) refuseNodeFolder(settings.data);
  opened.use(await inSqlite(join(settings.data, "server.lock"), () => lockFolder(settings.data)));
  if (!settings.databaseUrl) {
    await removeKept(settings.data);
    return undefined;
  }
  const { PostgresPresence } = await import("../adapters/postgres/presence.ts");
  const { refusePooling } = await import("../adapters/postgres/pooler.ts");
  const { refuseUnfit } = await import("../adapters/postgres/look.ts");
  const enter = async (url: string) => {
    await refusePooling(url, patienceIn(settings));
    await refuseUnfit(url, clock, patienceIn(settings));
    const compared = (difference: ClockDifference | undefined) => clockWatch.heard(difference);
    return PostgresPresence.open(url, clock, { ...patienceIn(settings), compared });
  };
  return opened.use(await inPostgres(settings.databaseUrl, enter));
}

/** Says that everything in the folder is out of sight, to a person who expects it in PostgreSQL. */
export function unusedText({ data, databaseUrl }: Settings): string | undefined {
  const file = join(data, "store.db");
  if (!databaseUrl || !existsSync(file)) return undefined;
  return (
    `the records in ${file} are not used, since MILLRACE_DATABASE_URL names PostgreSQL, and nothing moves them there: ` +
    "unset it to have them again, or move the file away"
  );
}

/** A start that misses the variables of PostgreSQL would make a new, empty installation in the folder of a node. */
function refuseNodeFolder(data: string): void {
  if (existsSync(join(data, "store.db")) || !existsSync(join(data, "node-id"))) return;
  throw new Error(
    `${data} is the folder of a server whose records are in PostgreSQL, and no database is named: set MILLRACE_DATABASE_URL as before, ` +
      "or name another folder with --data (MILLRACE_DATA)",
  );
}

/** Removes the payload files that a killed backup kept. Nothing is touched while a backup is being made. */
async function removeKept(data: string): Promise<void> {
  if (!existsSync(join(data, KEPT))) return;
  using lock = tryLockFolder(data, BACKUP_LOCK);
  if (lock) await rm(join(data, KEPT), { recursive: true, force: true });
}

/** Locks the whole installation, for a change that no server may see half done. */
export async function lockAlone({ data, databaseUrl }: Settings): Promise<Disposable | AsyncDisposable> {
  const lock = databaseUrl
    ? await (await import("../adapters/postgres/presence.ts")).enterAlone(databaseUrl)
    : tryLockFolder(data);
  if (lock) return lock;
  throw new Error(`a Millrace server runs on ${databaseUrl ? "this database" : data}: stop it first`);
}
