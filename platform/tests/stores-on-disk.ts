/** The two real stores, for tests that must hold on both: a database that can be opened again and again. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresStore } from "../src/adapters/postgres/postgres-store.ts";
import { SqliteStore } from "../src/adapters/sqlite/sqlite-store.ts";
import type { Store } from "../src/ports/store/store.ts";
import { freshDatabase } from "./database.ts";

interface StoreOnDisk extends AsyncDisposable {
  open(): Promise<Store>;
}

export const storesOnDisk: Record<string, () => Promise<StoreOnDisk>> = {
  async SQLite() {
    const path = await mkdtemp(join(tmpdir(), "millrace-store-"));
    const open = () => SqliteStore.open(join(path, "store.db"));
    return { open, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
  },
  async PostgreSQL() {
    const database = await freshDatabase();
    return {
      open: () => PostgresStore.open(database.url),
      [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
    };
  },
};
