/** One server per data folder: its memory is the truth about the queue, and two memories would each be half of it. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** A lock that the system itself takes back when the process ends, however it ends. */
export function lockFolder(folder: string): Disposable {
  const db = new DatabaseSync(join(folder, "server.lock"));
  try {
    db.exec("PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE");
  } catch (cause) {
    db.close();
    throw new Error(
      `another Millrace server already runs on ${folder}; stop it, or give this one a folder of its own`,
      { cause },
    );
  }
  return { [Symbol.dispose]: () => db.close() };
}
