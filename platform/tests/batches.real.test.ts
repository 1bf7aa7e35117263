/** A batch of hundreds of requests whose server is killed twice while it becomes jobs: every request has exactly one result. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { freshDatabase } from "./database.ts";
import { type Folder, millrace, ownerKey, root, type Server, startServer, temporaryFolder } from "./process.ts";
import type { Answer } from "./world.ts";

const REQUESTS = 600;
const AT_ONCE = 10;
/** Long enough that every ten requests fill a page, so that a kill meets a batch that is half in the queue. */
const FILLING = "x".repeat(30_000);

interface Place {
  key: string;
  endpoint: string;
  batch: string;
}

const call = (server: Server, { key, endpoint }: Place, method: string, path: string, body?: unknown) =>
  server.call(method, `/v2/${endpoint}${path}`, { key, body });

const jobsOf = async (server: Server, place: Place): Promise<number> =>
  (await call(server, place, "GET", "/requests?limit=1")).json.total;

async function gather(server: Server, key: string): Promise<Place> {
  const body = { name: "batch", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const endpoint = (await server.call("POST", "/v2/serverless", { key, body })).json.id as string;
  const place = { key, endpoint, batch: "" };
  place.batch = (await call(server, place, "POST", "/batch", [])).json.id;
  for (let from = 0; from < REQUESTS; from += AT_ONCE) {
    const requests = Array.from({ length: AT_ONCE }, (_, i) => ({ input: { i: from + i, filling: FILLING } }));
    expect((await call(server, place, "POST", `/batch/${place.batch}/requests`, { requests })).status).toBe(200);
  }
  return place;
}

/** Kills the server once there are more jobs than before. */
async function killedWhileFinalizing(server: Server, place: Place, before: number): Promise<void> {
  const finalizing = call(server, place, "POST", `/batch/${place.batch}/finalize`).catch(() => undefined);
  while ((await jobsOf(server, place)) <= before);
  expect(await server.end("SIGKILL")).toBe("SIGKILL");
  await finalizing;
}

function startWorker(variables: Record<string, string>): AsyncDisposable {
  const program = join(root, "examples/echo/worker.ts");
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", program], {
    env: { PATH: process.env.PATH ?? "", ...variables },
    stdio: "ignore",
  });
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

async function everyRequest(server: Server, place: Place): Promise<Answer["json"][]> {
  const all: Answer["json"][] = [];
  for (let hasMore = true; hasMore; ) {
    const { json } = await call(server, place, "GET", `/batch/${place.batch}/requests?offset=${all.length}&limit=1000`);
    all.push(...json.requests);
    hasMore = json.hasMore;
  }
  return all;
}

async function surviveKills(folder: Folder, databaseUrl?: string): Promise<void> {
  const env: Record<string, string> = databaseUrl ? { MILLRACE_DATABASE_URL: databaseUrl } : {};
  await using first = await startServer(folder.path, { env });
  // The restarted server must have the same port, since the worker keeps asking there.
  const args = ["--port", new URL(first.url).port];
  const place = await gather(first, await ownerKey(folder.path));
  const where = { data: folder.path, database: databaseUrl };
  const variables = await millrace(where, "worker-env", place.endpoint, "--url", first.url);
  await killedWhileFinalizing(first, place, 0);

  await using second = await startServer(folder.path, { env, args });
  await using _worker = startWorker(variables);
  const found = await jobsOf(second, place);
  expect(found).toBeGreaterThan(0);
  expect(found).toBeLessThan(REQUESTS);
  await killedWhileFinalizing(second, place, found);

  // No one asks this server to finalize the batch.
  await using third = await startServer(folder.path, { env, args });
  let record: Answer["json"];
  do {
    await stay(100);
    record = (await call(third, place, "GET", `/batch/${place.batch}`)).json;
  } while (record.completedAt === undefined);
  expect(record).toMatchObject({
    status: "FINALIZED",
    requestTotal: REQUESTS,
    requestCompleted: REQUESTS,
    requestFailed: 0,
  });
  const requests = await everyRequest(third, place);
  expect(requests.map(({ status, output }) => [status, output.i])).toEqual(
    Array.from({ length: REQUESTS }, (_, i) => ["COMPLETED", i]),
  );
  expect(await jobsOf(third, place)).toBe(REQUESTS);
  expect((await call(third, place, "GET", "/health")).json.jobs).toMatchObject({
    inQueue: 0,
    inProgress: 0,
    completed: REQUESTS,
  });
}

test("on SQLite", async () => {
  await using folder = await temporaryFolder();
  await surviveKills(folder);
}, 300_000);

test("on PostgreSQL", async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  await surviveKills(folder, database.url);
}, 300_000);
