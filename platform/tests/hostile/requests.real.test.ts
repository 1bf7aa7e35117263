/** Two accounts send requests made from the contract and changed in every way. All are answered as declared; nothing is lost or leaked. */
import { expect, test } from "vitest";
import { realRandom } from "../../src/kernel/random.ts";
import { freshDatabase } from "../database.ts";
import { setup } from "../world.ts";
import { routes } from "./requests/routes.ts";
import { runRequests } from "./requests/run.ts";

const REQUESTS = 2000;
/** One seed is always the same, so that a change that breaks something is noticed. The other can be set with MILLRACE_TEST_SEED. */
const seeds = [1, Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE())];

/** A signed link is refused for whatever is not signed; the tests of volume files forge it. */
const BY_SIGNATURE = "/v2/network-volumes/{id}/files/link";

test("requests are made for every route that there is", async () => {
  await using world = await setup();
  const mounted = world.app.http.router.mounted.filter(({ refuses }) => !refuses).map(({ path }) => path);
  expect(mounted).toContain("/v2/{endpoint_id}/runsync");
  const made = new Set([...routes.map(({ path }) => path), BY_SIGNATURE]);
  expect(mounted.filter((path) => !made.has(path.replace("{path*}", "{path}")))).toEqual([]);
});

test.each(["SQLite", "PostgreSQL"])(`${REQUESTS} generated requests on %s`, async (name) => {
  await using database = name === "PostgreSQL" ? await freshDatabase() : undefined;
  console.log(`seeds ${seeds.join(" and ")}`);
  const report = await runRequests({ requests: REQUESTS, seeds, databaseUrl: database?.url, settleMs: 5000 });
  expect(report.defects.map(({ what, times, example }) => `${times} times: ${what}\n${example}`)).toEqual([]);
  expect(report.routes).toBeGreaterThan(routes.length * 0.9);
});
