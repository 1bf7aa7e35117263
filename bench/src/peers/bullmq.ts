/** BullMQ on Redis: its queue behind Fastify or its worker, depending on the settings. */
import { Queue, QueueEvents, Worker } from "bullmq";
import { CONCURRENCY, countCompletions, ready, serve } from "./serve.ts";

interface Settings {
  role: "server" | "worker";
  port: number;
  redisPort: number;
  /** An option of ioredis that BullMQ does not offer: all commands of one turn of the event loop are sent together. */
  pipelining: boolean;
}

const settings = JSON.parse(process.argv[2]!) as Settings;
const connection = {
  host: "127.0.0.1",
  port: settings.redisPort,
  maxRetriesPerRequest: null,
  enableAutoPipelining: settings.pipelining,
};
const NAME = "bench";
const WAIT_MS = 90_000;

if (settings.role === "server") {
  const queue = new Queue(NAME, { connection });
  // Every request that waits for a job adds a listener.
  queue.setMaxListeners(0);
  const events = new QueueEvents(NAME, { connection });
  await events.waitUntilReady();
  // This is the fewest that BullMQ's own waiting works with. If a job is removed at once, it can be gone before its end is looked for.
  const kept = { removeOnComplete: { count: 1000 }, removeOnFail: true };
  await serve(settings.port, {
    run: async (input) => (await queue.add("job", input, { removeOnComplete: true, removeOnFail: true })).id!,
    runsync: async (input) => (await queue.add("job", input, kept)).waitUntilFinished(events, WAIT_MS),
    waiting: () => queue.getJobCountByTypes("waiting", "active", "delayed", "prioritized"),
  });
} else {
  const completed = countCompletions();
  const worker = new Worker(NAME, async ({ data }) => data, { connection, concurrency: CONCURRENCY });
  worker.on("completed", completed);
  await worker.waitUntilReady();
  ready();
}
