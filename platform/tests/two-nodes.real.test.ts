/** Two nodes on one PostgreSQL: what is done on one is there on the other, and signals cross at once. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { apiKeyText } from "../src/kernel/ids.ts";
import { realRandom } from "../src/kernel/random.ts";
import { type FreshDatabase, freshDatabase } from "./database.ts";
import { eventsOf } from "./job-world.ts";
import { type Folder, type Server, startServer, temporaryFolder } from "./process.ts";

const key = apiKeyText(realRandom);
const env = {
  MILLRACE_API_KEY: key,
  MILLRACE_MASTER_KEY: Buffer.from(realRandom.bytes(32)).toString("base64"),
};

let database: FreshDatabase;
let folders: Folder[];
let a: Server;
let b: Server;
let endpoint: string;
let workerKey: string;

beforeAll(async () => {
  database = await freshDatabase();
  folders = [await temporaryFolder(), await temporaryFolder()];
  const start = (folder: Folder, more = {}) =>
    startServer(folder.path, { env: { ...env, MILLRACE_DATABASE_URL: database.url, ...more } });
  // Both start at once: the first one makes the migrations and the first account.
  [a, b] = (await Promise.all(folders.map((folder) => start(folder)))) as [Server, Server];
  const body = { name: "shared", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  endpoint = (await a.call("POST", "/v2/serverless", { key, body })).json.id;
  workerKey = await issueWorkerKey();
});

afterAll(async () => {
  await a[Symbol.asyncDispose]();
  await b[Symbol.asyncDispose]();
  for (const folder of folders) await folder[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

async function issueWorkerKey(): Promise<string> {
  const { openInstallation } = await import("../src/main.ts");
  const { settingsFrom } = await import("../src/settings/settings.ts");
  const settings = settingsFrom({ ...env, MILLRACE_DATABASE_URL: database.url, MILLRACE_DATA: folders[0]!.path });
  await using installation = await openInstallation(settings);
  const { account } = await installation.accounts.firstOwner();
  return (await installation.workerKeys.issue(account, endpoint)).key;
}

const invoke = (node: Server, method: string, path: string, body?: unknown) =>
  node.call(method, `/v2/${endpoint}${path}`, { key, body });

test("a batch that both nodes finalize at once becomes each of its jobs once", async () => {
  const requests = Array.from({ length: 1000 }, (_, n) => ({ input: { n } }));
  const { id, requestIds } = (await invoke(a, "POST", "/batch", requests)).json;
  const finalize = (node: Server) => invoke(node, "POST", `/batch/${id}/finalize`);
  const answers = await Promise.all([finalize(a), finalize(b), finalize(a), finalize(b)]);
  expect(answers.map(({ json }) => [json.status, json.requestInQueue])).toEqual(Array(4).fill(["FINALIZED", 1000]));
  const { requests: jobs } = (await invoke(b, "GET", "/requests?limit=1000&status=IN_QUEUE")).json;
  expect(jobs.map((job: { id: string }) => job.id).toSorted()).toEqual(requestIds.toSorted());
  expect((await invoke(b, "POST", `/batch/${id}/cancel`)).json).toMatchObject({ requestCancelled: 1000 });
  expect((await invoke(a, "GET", `/batch/${id}`)).json).toMatchObject({
    status: "CANCELLED",
    completedAt: expect.any(Number),
  });
});

/** A worker that talks to only one node. */
function workerOn(node: Server, name: string) {
  const call = (method: string, path: string, body?: unknown) =>
    node.call(method, `/v2/${endpoint}${path}`, { key: workerKey, body });
  return {
    take: async () => (await call("GET", `/job-take/${name}?gpu=none`)).json as { id: string; input: { n: number } },
    done: (job: string, output: unknown) => call("POST", `/job-done/${name}/${job}?gpu=none`, { output }),
    chunk: (job: string, output: unknown) => call("POST", `/job-stream/${name}/${job}?gpu=none`, { output }),
    stops: () => call("GET", `/job-stop/${name}?gpu=none`),
  };
}

test("submitted on one node, done on the other: runsync returns at once", async () => {
  const worker = workerOn(b, "w1");
  const rounds = 200;
  const took: number[] = [];
  const working = (async () => {
    for (let i = 0; i < rounds; i++) {
      const job = await worker.take();
      await worker.done(job.id, { n: job.input.n });
    }
  })();
  for (let n = 0; n < rounds; n++) {
    const started = performance.now();
    const { json } = await invoke(a, "POST", "/runsync", { input: { n } });
    took.push(performance.now() - started);
    expect(json).toMatchObject({ status: "COMPLETED", output: { n } });
  }
  await working;
  took.sort((x, y) => x - y);
  const at = (share: number) => took[Math.floor(share * rounds)]!.toFixed(1);
  console.log(`runsync across two nodes, one at a time: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms (${rounds} jobs)`);
});

test("a job cancelled on one node is stopped on the other", async () => {
  const worker = workerOn(b, "w2");
  const { id } = (await invoke(a, "POST", "/run", { input: {} })).json;
  expect((await worker.take()).id).toBe(id);
  const stops = worker.stops();
  expect((await invoke(a, "POST", `/cancel/${id}`)).json).toEqual({ id, status: "CANCELLED" });
  expect((await stops).json).toEqual({ jobsToStop: [id] });
  await worker.done(id, "too late");
  expect((await invoke(b, "GET", `/status/${id}`)).json).toMatchObject({ status: "CANCELLED" });
});

test("chunks posted on one node reach a reader of the other as they come", async () => {
  const worker = workerOn(b, "w3");
  const { id } = (await invoke(a, "POST", "/run", { input: {} })).json;
  await worker.take();
  const response = await fetch(`${a.url}/v2/${endpoint}/stream/${id}`, {
    headers: { authorization: key, accept: "text/event-stream" },
  });
  const events = eventsOf(response);
  for (const word of ["one", "two"]) {
    await worker.chunk(id, word);
    expect((await events.next()).value?.data).toContain(word);
  }
  await worker.done(id, []);
  expect((await events.next()).value).toMatchObject({ event: "end" });
});

test("a rate limit counts the requests of all nodes together", async () => {
  const left = async (node: Server) => {
    const { headers } = await node.call("GET", "/v2/account/secrets", { key });
    return Number(/"minute";r=(\d+)/.exec(headers.get("ratelimit")!)![1]);
  };
  const before = await left(a);
  expect([await left(b), await left(a), await left(b)]).toEqual([before - 1, before - 2, before - 3]);
});

test("a node that is killed leaves its jobs to the other", async () => {
  const { id } = (await invoke(a, "POST", "/run", { input: {} })).json;
  await a.end("SIGKILL");
  const worker = workerOn(b, "w4");
  expect((await worker.take()).id).toBe(id);
  await worker.done(id, "kept");
  expect((await invoke(b, "GET", `/status/${id}`)).json).toMatchObject({ status: "COMPLETED", output: "kept" });
});
