/** Copies a database file while a server writes to it. */
import { backup, DatabaseSync } from "node:sqlite";

/** The copy has everything that was committed before the call. */
export async function copyDatabase(file: string, target: string): Promise<void> {
  using source = new DatabaseSync(file, { readOnly: true });
  await backup(source, target);
}
