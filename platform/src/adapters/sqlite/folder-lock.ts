/** Allows one server per data folder: its memory is the truth about the queue, and two servers would each know only half. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const SQLITE_BUSY = 5;

/** The system releases the lock when the process ends, however it ends. */
export function lockFolder(folder: string): Disposable {
  const lock = tryLockFolder(folder);
  if (lock) return lock;
  throw new Error(`another Millrace server already runs on ${folder}; stop it, or give this one a folder of its own`);
}

/** Undefined when another process has the lock. */
export function tryLockFolder(folder: string, name = "server.lock"): Disposable | undefined {
  const db = new DatabaseSync(join(folder, name));
  try {
    // Nothing is written to disk, since a full disk has no space for a journal.
    db.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return { [Symbol.dispose]: () => db.close() };
  } catch (error) {
    db.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
}
