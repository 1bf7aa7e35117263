/** The data of an installation, which outlives its servers: a folder, and a database if it uses one. */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { PostgresQueue } from "../../platform/src/adapters/postgres/postgres-queue.ts";
import { SqliteQueue } from "../../platform/src/adapters/sqlite/sqlite-queue.ts";
import { realClock } from "../../platform/src/kernel/clock.ts";
import { realRandom } from "../../platform/src/kernel/random.ts";
import type { Queue } from "../../platform/src/ports/queue/queue.ts";
import { type RunningMillrace, startMillrace } from "./millrace.ts";
import type { Database, Databases } from "./postgres.ts";

export class KeptData implements AsyncDisposable {
  readonly #folder: string;
  readonly #database: Database | undefined;

  private constructor(folder: string, database: Database | undefined) {
    this.#folder = folder;
    this.#database = database;
  }

  static async create(parent: string, databases: Databases | undefined): Promise<KeptData> {
    return new KeptData(await mkdtemp(join(parent, "kept-")), await databases?.fresh());
  }

  start(): Promise<RunningMillrace> {
    return startMillrace(this.#folder, { database: this.#database });
  }

  /** Opens the queue without a server. */
  openQueue(): Promise<Queue & AsyncDisposable> {
    return this.#database
      ? PostgresQueue.open(this.#database.url, { random: realRandom })
      : SqliteQueue.open(this.#folder, { clock: realClock, random: realRandom });
  }

  /** Nobody may use the data meanwhile. */
  async copy(): Promise<KeptData> {
    const folder = `${this.#folder}-copy`;
    await cp(this.#folder, folder, { recursive: true });
    return new KeptData(folder, await this.#database?.copy());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
    await this.#database?.[Symbol.asyncDispose]();
  }
}
