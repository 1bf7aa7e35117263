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

/** Paths of the router as it prints them, a tree whose branches go on where their stems end. */
function mountedPaths(printed: string): string[] {
  const stems: string[] = [];
  return printed.split("\n").flatMap((line) => {
    const [, indent = "", part = ""] = /^([│ ]*)[├└]── (\S+)/.exec(line) ?? [];
    if (part === "") return [];
    const depth = indent.length / 4;
    stems.length = depth;
    stems.push(part);
    const path = stems.join("");
    // What is refused as unknown, below every word.
    return path.endsWith("*") ? [] : [path.replace(/:(\w+)/g, "{$1}")];
  });
}

test("requests are made for every route that there is", async () => {
  await using world = await setup();
  const mounted = mountedPaths(world.app.http.printRoutes({ commonPrefix: false }));
  expect(mounted).toContain("/v2/{endpoint}/runsync");
  const made = new Set(routes.map(({ path }) => path));
  // The endpoint itself and words without a resource have nothing but refusals.
  const refusing = /^\/v2\/(\{endpoint\}|account|billing|catalog|clusters|network-volumes|pods|registries|templates)$/;
  expect(mounted.filter((path) => !made.has(path) && !refusing.test(path))).toEqual([]);
});

test.each(["SQLite", "PostgreSQL"])(`${REQUESTS} generated requests on %s`, async (name) => {
  await using database = name === "PostgreSQL" ? await freshDatabase() : undefined;
  console.log(`seeds ${seeds.join(" and ")}`);
  const report = await runRequests({ requests: REQUESTS, seeds, databaseUrl: database?.url, settleMs: 5000 });
  expect(report.defects.map(({ what, times, example }) => `${times} times: ${what}\n${example}`)).toEqual([]);
  expect(report.routes).toBeGreaterThan(routes.length * 0.9);
});
