/** The peer graphile-worker on PostgreSQL: its queue behind Fastify or its worker, depending on the settings. */
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { countCompletions, ready, serve } from "./serve.ts";

const settings = JSON.parse(process.argv[2]!) as { role: "server" | "worker"; port: number; url: string };
const pgPool = new pg.Pool({ connectionString: settings.url, max: 20 });
const CONCURRENT_JOBS = 24;
/** Log lines for each job would be measured as well, so there are none. */
const logger = new Logger(() => () => undefined);

if (settings.role === "server") {
  const utils = await makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  await serve(settings.port, {
    run: async (input) => (await utils.addJob("bench", input)).id,
    waiting: async () => {
      const { rows } = await pgPool.query("SELECT count(*)::int AS n FROM graphile_worker.jobs");
      return (rows as { n: number }[])[0]!.n;
    },
  });
} else {
  const completed = countCompletions();
  await run({
    pgPool,
    logger,
    noHandleSignals: true,
    taskList: { bench: async () => undefined },
    preset: {
      worker: {
        concurrentJobs: CONCURRENT_JOBS,
        maxPoolSize: 20,
        pollInterval: 500,
        localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  }).then((runner) => runner.events.on("job:complete", completed));
  ready();
}
