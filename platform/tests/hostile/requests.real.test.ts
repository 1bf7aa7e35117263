/** Requests made from the contract, changed in every way, sent by two accounts: answered as declared, with nothing lost and nothing shown. */
import { expect, test } from "vitest";
import { realRandom } from "../../src/kernel/random.ts";
import { freshDatabase } from "../database.ts";
import { setup } from "../world.ts";
import { routes } from "./requests/routes.ts";
import { runRequests } from "./requests/run.ts";

const REQUESTS = 2000;
/** One seed is always the same, so that what a change breaks is seen with it. The other can be given as MILLRACE_TEST_SEED. */
const seeds = [1, Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE())];

test("requests are made for every route that there is", async () => {
  await using world = await setup();
  const mounted = world.app.http.router.mounted.filter(({ refuses }) => !refuses).map(({ path }) => path);
  expect(mounted).toContain("/v2/{endpoint_id}/runsync");
  const made = new Set(routes.map(({ path }) => path));
  expect(mounted.filter((path) => !made.has(path.replace("{path*}", "{path}")))).toEqual([]);
});

test.each(["SQLite", "PostgreSQL"])(`${REQUESTS} generated requests on %s`, async (name) => {
  await using database = name === "PostgreSQL" ? await freshDatabase() : undefined;
  console.log(`seeds ${seeds.join(" and ")}`);
  const report = await runRequests({ requests: REQUESTS, seeds, databaseUrl: database?.url, settleMs: 5000 });
  expect(report.defects.map(({ what, times, example }) => `${times} times: ${what}\n${example}`)).toEqual([]);
  expect(report.routes).toBeGreaterThan(routes.length * 0.9);
});
