/** Deleted jobs leave nothing in the data folder, whether their endpoint or their whole account was deleted. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { filesHolding, millrace, ownerKey, type Server, startServer, temporaryFolder } from "./process.ts";

const ENDPOINT = { name: "attic", image: "nobody/nothing:1", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
/** Each part of a job contains one of these words. */
const WORDS = [
  "marzipan",
  "haberdasher",
  "pumpernickel",
  "saxophone",
  "trampoline",
  "rhubarb",
  "periwinkle",
  "cardigan",
  "gooseberry",
  "tambourine",
  "accordion",
];
const [input, large, output, largeOutput, error, progress, chunk, secret, apart, drafted, batched] = WORDS as [
  string,
  ...string[],
] &
  string[];

/** Makes jobs in all states, and gives each part a word of its own. */
async function fill(server: Server, key: string, endpoint: string, workerKey: string): Promise<void> {
  const call = (method: string, path: string, body?: unknown, as = key) =>
    server.call(method, `/v2/${endpoint}${path}`, { key: as, body });
  const run = async (body: object) => (await call("POST", "/run", body)).json.id as string;
  const take = async () => (await call("GET", "/job-take/w1?gpu=none", undefined, workerKey)).json.id as string;
  const done = async (id: string, body: unknown) =>
    expect((await call("POST", `/job-done/w1/${id}`, body, workerKey)).status).toBe(200);
  await run({ input: { word: input, filling: "x".repeat(3000) } });
  await done(await take(), { output: { word: output } });
  await run({ input: { word: large, filling: "y".repeat(400_000) } });
  await done(await take(), { output: { word: largeOutput, filling: "z".repeat(400_000) } });
  await run({ input: {} });
  await done(await take(), { output: { word: apart, filling: "a".repeat(21 * 1024 * 1024) } });
  await run({ input: {} });
  await done(await take(), { error });
  await run({ input: {} });
  const running = await take();
  await done(running, { status: "IN_PROGRESS", output: progress });
  await call("POST", `/job-stream/w1/${running}`, { output: chunk }, workerKey);
  await call("POST", "/batch", [{ input: { word: drafted, filling: "x".repeat(3000) } }]);
  const batch = (await call("POST", "/batch", [{ input: { word: batched, filling: "x".repeat(3000) } }])).json.id;
  expect((await call("POST", `/batch/${batch}/finalize`)).json.status).toBe("FINALIZED");
  await run({ input: { word: input }, s3Config: { accessId: "a", accessSecret: secret } });
}

const found = async (folder: string) => {
  const places = await Promise.all(
    WORDS.map(async (word) => ((await filesHolding(folder, word)).length > 0 ? [word] : [])),
  );
  return places.flat();
};

async function filled(folder: string, server: Server, key: string): Promise<string> {
  const endpoint = (await server.call("POST", "/v2/serverless", { key, body: ENDPOINT })).json.id as string;
  const { MILLRACE_WORKER_KEY } = await millrace(folder, "worker-env", endpoint);
  await fill(server, key, endpoint, MILLRACE_WORKER_KEY);
  // The search finds every word that is stored. The credential was never stored in clear.
  expect(await found(folder)).toEqual(WORDS.filter((word) => word !== secret));
  return endpoint;
}

test("nothing of the jobs of a deleted endpoint is in any file", async () => {
  await using folder = await temporaryFolder();
  const server = await startServer(folder.path);
  const key = await ownerKey(folder.path);
  const endpoint = await filled(folder.path, server, key);
  expect((await server.call("DELETE", `/v2/serverless/${endpoint}`, { key })).status).toBe(204);
  expect(await found(folder.path)).toEqual([]);
  expect(await server.end("SIGTERM")).toBe(0);
  expect(await found(folder.path)).toEqual([]);
});

test.each([["while the server runs"], ["while it does not"]])(
  "nothing of the jobs of an account deleted %s is in any file",
  async (when) => {
    await using folder = await temporaryFolder();
    await using server = await startServer(folder.path);
    const team = await millrace(folder.path, "accounts", "create", "team");
    await filled(folder.path, server, team.key);
    if (when === "while it does not") await server.end("SIGTERM");
    const deleted = await millrace(folder.path, "accounts", "delete", "team", "--yes");
    expect(deleted).toEqual({ deleted: "team", complete: true });
    expect(await found(folder.path)).toEqual([]);
  },
);

test("a removal that a crash broke off is ended by the next start", async () => {
  await using folder = await temporaryFolder();
  const server = await startServer(folder.path);
  const key = await ownerKey(folder.path);
  const endpoint = await filled(folder.path, server, key);
  // While the queue is locked, the removal gets no further than the record of the endpoint.
  using queue = new DatabaseSync(join(folder.path, "queue.db"));
  queue.exec("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE");
  const path = `/v2/serverless/${endpoint}`;
  const deleting = server.call("DELETE", path, { key }).catch(() => "no answer");
  while ((await server.call("GET", path, { key })).status !== 404);
  await server.end("SIGKILL");
  expect(await deleting).toBe("no answer");
  queue.exec("ROLLBACK");
  expect(await found(folder.path)).not.toEqual([]);
  await using again = await startServer(folder.path);
  expect((await again.call("DELETE", path, { key })).status).toBe(404);
  await again.end("SIGTERM");
  expect(await found(folder.path)).toEqual([]);
});
