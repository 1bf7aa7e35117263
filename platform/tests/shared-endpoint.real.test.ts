/** Two accounts and a shared endpoint under load on both databases: the modest one is not starved, and the bills of all add up exactly. */
import { expect, test } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { apiKeyText } from "../src/kernel/ids.ts";
import { realRandom } from "../src/kernel/random.ts";
import { freshDatabase } from "./database.ts";
import { type InstallationPlace, millrace, type Server, startServer, temporaryFolder } from "./process.ts";
import { call } from "./world.ts";

const GREEDY_JOBS = 200;
const MODEST_JOBS = 30;
const WORKERS = 2;
const SUBMITTED_AT_ONCE = 20;
const PRICE = { perRequest: 0.001234567, perSecond: 0.000000321 };
const SHARED = "/v2/shared-model";

interface Work extends AsyncDisposable {
  /** Who submitted each job, in the order in which workers took them. */
  taken: string[];
}

/** Workers that speak the public protocol. They go on while the server is away. */
function startWorkers(server: () => Server, endpoint: string, workers: readonly { id: string; key: string }[]): Work {
  const taken: string[] = [];
  let over = false;
  const serve = async ({ id, key }: { id: string; key: string }) => {
    while (!over) {
      const ask = (method: string, path: string, body?: object) =>
        call(server().url, method, `/v2/${endpoint}/${path}`, { key, ...(body && { body }) });
      try {
        const job = await ask("GET", `job-take/${id}?gpu=none`);
        if (job.status !== 200) continue;
        taken.push(job.json.input.who);
        await stay(2);
        const done = `job-done/${id}/${job.json.id}?gpu=none&isStream=false`;
        // A worker reports until it is heard, as the public one does.
        while (!over && (await ask("POST", done, { output: 1 }).catch(() => undefined)) === undefined) await stay(50);
      } catch {
        await stay(50);
      }
    }
  };
  const serving = workers.map(serve);
  return {
    taken,
    async [Symbol.asyncDispose]() {
      over = true;
      await Promise.all(serving);
    },
  };
}

const nanos = (usd: number) => Math.round(usd * 1e9);
const quantile = (sorted: readonly number[], q: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!;

/** What an account owes by its own bill. */
async function billOf(server: Server, key: string): Promise<number> {
  const { json } = await server.call("GET", "/v2/billing/endpoints", { key });
  const sum = json.records.reduce(
    (sum: number, { totalAmount }: { totalAmount: number }) => sum + nanos(totalAmount),
    0,
  );
  expect(sum).toBe(nanos(json.metadata.totals.totalAmount));
  return sum;
}

test.each(["SQLite", "PostgreSQL"])("on %s", async (database) => {
  await using fresh = database === "PostgreSQL" ? await freshDatabase() : undefined;
  await using folder = await temporaryFolder();
  const owner = apiKeyText(realRandom);
  const env = {
    ...{ MILLRACE_API_KEY: owner, MILLRACE_RATE_LIMITS: "off" },
    ...(fresh && { MILLRACE_DATABASE_URL: fresh.url }),
  };
  let server = await startServer(folder.path, { env });
  try {
    const place: InstallationPlace = { data: folder.path, database: fresh?.url };
    const greedy = (await millrace(place, "accounts", "create", "greedy")).key as string;
    const modest = (await millrace(place, "accounts", "create", "modest")).key as string;
    const body = { name: "model", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    const endpoint = (await server.call("POST", "/v2/serverless", { key: owner, body })).json.id as string;
    const share = { name: "shared-model", endpointId: endpoint, everyone: true, price: PRICE };
    expect((await server.call("POST", "/v2/public-endpoints", { key: owner, body: share })).status).toBe(201);
    const workers = [];
    for (let i = 0; i < WORKERS; i++) {
      const told = await millrace(place, "worker-env", endpoint);
      workers.push({ id: told.MILLRACE_WORKER_ID as string, key: told.RUNPOD_AI_API_KEY as string });
    }
    await stay(1100);

    const submit = async (who: string, key: string) =>
      (await server.call("POST", `${SHARED}/run`, { key, body: { input: { who } } })).json.id as string;
    const ids: string[] = [];
    while (ids.length < GREEDY_JOBS)
      ids.push(...(await Promise.all(Array.from({ length: SUBMITTED_AT_ONCE }, () => submit("greedy", greedy)))));

    {
      await using work = startWorkers(() => server, endpoint, workers);
      // One job at a time: each waits for the jobs that run, and for one more of the other account on each worker.
      const waits: number[] = [];
      for (let i = 0; i < MODEST_JOBS / 2; i++) {
        const { json } = await server.call("POST", `${SHARED}/runsync`, {
          key: modest,
          body: { input: { who: "modest" } },
        });
        expect(json.status).toBe("COMPLETED");
        waits.push(json.delayTime);
      }
      waits.sort((a, b) => a - b);
      const before = work.taken.length;
      // Then as many at once as are left: from now on both take turns.
      const rest = await Promise.all(Array.from({ length: MODEST_JOBS / 2 }, () => submit("modest", modest)));
      const { json: last } = await server.call("POST", `${SHARED}/status-sync/${rest.at(-1)}`, { key: modest });
      expect(last.id).toBe(rest.at(-1));
      await server.end("SIGKILL");
      server = await startServer(folder.path, { env });
      for (const [key, all] of [
        [greedy, ids],
        [modest, rest],
      ] as const)
        for (const id of all) {
          let { json } = await server.call("GET", `${SHARED}/status/${id}`, { key });
          while (!["COMPLETED", "FAILED"].includes(json.status)) {
            await stay(100);
            ({ json } = await server.call("GET", `${SHARED}/status/${id}`, { key }));
          }
          expect(json.status).toBe("COMPLETED");
        }
      const during = work.taken.slice(0, before);
      const ofGreedy = during.filter((who) => who === "greedy").length;
      // While the modest account has one job at a time, the other gets at most a few for each.
      expect(ofGreedy / (MODEST_JOBS / 2)).toBeLessThan(2 * WORKERS + 2);
      const turns = work.taken.slice(before, before + MODEST_JOBS);
      const share = turns.filter((who) => who === "modest").length / turns.length;
      expect(share).toBeGreaterThan(0.3);
      console.log(
        `${database}: the modest account waited ${quantile(waits, 0.5)} ms (p50) and ${quantile(waits, 0.99)} ms (p99); ` +
          `${(ofGreedy / (MODEST_JOBS / 2)).toFixed(1)} greedy jobs for each of its own, then a share of ${share.toFixed(2)} of the turns`,
      );
    }

    const { json: use } = await server.call("GET", "/v2/public-endpoints/shared-model/use", { key: owner });
    const bills = [await billOf(server, greedy), await billOf(server, modest)];
    const counted = use.use.reduce((sum: number, { requests }: { requests: number }) => sum + requests, 0);
    expect(counted).toBe(GREEDY_JOBS + MODEST_JOBS);
    expect(bills[0]! + bills[1]!).toBe(nanos(use.income));
    const byOwner = use.use
      .map(({ amount }: { amount: number }) => nanos(amount))
      .sort((a: number, b: number) => a - b);
    expect(byOwner).toEqual([...bills].sort((a, b) => a - b));
    expect(nanos(use.income)).toBeGreaterThanOrEqual((GREEDY_JOBS + MODEST_JOBS) * nanos(PRICE.perRequest));
  } finally {
    await server[Symbol.asyncDispose]();
  }
});
