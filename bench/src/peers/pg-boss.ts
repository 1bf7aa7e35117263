/** The peer pg-boss on PostgreSQL: its queue behind Fastify or its worker, depending on the settings. */
import { PgBoss } from "pg-boss";
import { CONCURRENCY, countCompletions, ready, serve } from "./serve.ts";

const settings = JSON.parse(process.argv[2]!) as { role: "server" | "worker"; port: number; url: string };
const boss = new PgBoss({ connectionString: settings.url, max: 20, useListenNotify: true });
boss.on("error", (error) => console.error(`pg-boss: ${error.message}`));
await boss.start();
const NAME = "bench";

if (settings.role === "server") {
  await boss.createQueue(NAME, { notify: true });
  await serve(settings.port, {
    run: async (input) => (await boss.send(NAME, input))!,
    waiting: async () => {
      const db = boss.getDb();
      const { rows } = await db.executeSql(
        "SELECT count(*)::int AS n FROM pgboss.job WHERE name = $1 AND state < 'completed'",
        [NAME],
      );
      return (rows as { n: number }[])[0]!.n;
    },
  });
} else {
  const completed = countCompletions();
  const options = {
    batchSize: CONCURRENCY,
    pollingIntervalSeconds: 0.5,
    burstWhenBatchFull: true,
    localConcurrency: 2,
  };
  await boss.work(NAME, options, async (jobs) => {
    for (const _ of jobs) completed();
    return jobs.length;
  });
  ready();
}
