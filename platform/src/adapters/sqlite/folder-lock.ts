/** One server per data folder: its memory is the truth about the queue, and two memories would each be half of it. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const SQLITE_BUSY = 5;

/** A lock that the system itself takes back when the process ends, however it ends. */
export function lockFolder(folder: string): Disposable {
  const lock = tryLockFolder(folder);
  if (lock) return lock;
  throw new Error(`another Millrace server already runs on ${folder}; stop it, or give this one a folder of its own`);
}

/** Undefined when another process has the folder. */
export function tryLockFolder(folder: string): Disposable | undefined {
  const db = new DatabaseSync(join(folder, "server.lock"));
  try {
    // Nothing is written: a full disk has no room for a journal.
    db.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return { [Symbol.dispose]: () => db.close() };
  } catch (error) {
    db.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
}
