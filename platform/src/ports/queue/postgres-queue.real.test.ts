/** The PostgreSQL queue keeps the port's promises, and those that only a server can break. */
import { freshDatabase } from "../../../tests/database.ts";
import { realRandom } from "../../kernel/random.ts";
import { NOW, type OpenedQueue } from "./conformance-jobs.ts";
import { PostgresQueue } from "./postgres-queue.ts";
import { queueConformance } from "./queue.conformance.ts";

async function openPostgres(): Promise<OpenedQueue> {
  const database = await freshDatabase();
  const open = (now = NOW) => PostgresQueue.open(database.url, { now, random: realRandom });
  let queue = await open();
  return {
    queue,
    async reopen(now) {
      await queue[Symbol.asyncDispose]();
      queue = await open(now);
      return queue;
    },
    another: open,
    async [Symbol.asyncDispose]() {
      await queue[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

queueConformance("PostgresQueue", openPostgres);
