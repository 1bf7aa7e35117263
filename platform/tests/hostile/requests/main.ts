/** The long run: `npm run hostile:requests -- --requests 100000 --seed 1 --database postgres`. */
import { parseArgs } from "node:util";
import { realRandom } from "../../../src/kernel/random.ts";
import { startPostgres } from "../../postgres-server.ts";
import { runRequests } from "./run.ts";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "100000" },
    seed: { type: "string" },
    database: { type: "string", default: "sqlite" },
    together: { type: "string", default: "32" },
  },
});
const seed = Number(values.seed ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());
console.log(`${values.requests} requests on ${values.database}, --seed ${seed}`);
await using opened = new AsyncDisposableStack();
const postgres = values.database === "postgres" ? opened.use(await startPostgres()) : undefined;
const report = await runRequests({
  ...{ requests: Number(values.requests), together: Number(values.together), seeds: [seed] },
  ...{ databaseUrl: postgres?.url, say: (line: string) => console.log(line) },
});
for (const { what, times, example } of report.defects) console.log(`\n${times} times: ${what}\n${example}`);
console.log(
  JSON.stringify({ ...report, defects: report.defects.map(({ what, times }) => ({ what, times })) }, null, 1),
);
process.exitCode = report.defects.length > 0 ? 1 : 0;
