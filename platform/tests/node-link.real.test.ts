/** Two servers on one PostgreSQL, with workers as real processes of the first: requests, WebSockets and logs through the second. */
import { once } from "node:events";
import { chmod, copyFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { apiKeyText } from "../src/kernel/ids.ts";
import { realRandom } from "../src/kernel/random.ts";
import { type FreshDatabase, freshDatabase } from "./database.ts";
import { eventsOf } from "./job-world.ts";
import { type Folder, type Server, startServer, temporaryFolder } from "./process.ts";

const APP = new URL("./fixtures/small-app.mjs", import.meta.url);
const key = apiKeyText(realRandom);
const ENV = {
  MILLRACE_API_KEY: key,
  MILLRACE_MASTER_KEY: Buffer.from(realRandom.bytes(32)).toString("base64"),
  MILLRACE_RATE_LIMITS: "off",
};

let database: FreshDatabase;
let folders: Folder[];
let startOwner: () => Promise<Server>;
let owner: Server;
let other: Server;
let endpoint: string;

beforeAll(async () => {
  database = await freshDatabase();
  folders = await Promise.all([temporaryFolder(), temporaryFolder(), temporaryFolder()]);
  const [first, second, app] = folders as [Folder, Folder, Folder];
  await copyFile(APP, join(app.path, "app.mjs"));
  // Each program runs as a user of its own, and must be able to read this folder.
  await chmod(app.path, 0o755);
  const env = { ...ENV, MILLRACE_DATABASE_URL: database.url };
  startOwner = () => startServer(first.path, { env: { ...env, MILLRACE_COMPUTE: "host" } });
  owner = await startOwner();
  other = await startServer(second.path, { env: { ...env, MILLRACE_COMPUTE: "none" } });
  const body = {
    name: "app",
    type: "LOAD_BALANCER",
    image: `host:${app.path}`,
    cmd: ["node", "app.mjs"],
    cpu: [{ id: "cpu3c", vcpuCount: 2 }],
    env: { PORT: "18439" },
    workers: { max: 1, idleTimeout: 600 },
  };
  const created = await other.call("POST", "/v2/serverless", { key, body });
  if (created.status !== 201) throw new Error(created.text);
  endpoint = created.json.id;
});

afterAll(async () => {
  // Shuts down properly, so that no worker is left.
  await owner?.end("SIGTERM");
  await other?.end("SIGTERM");
  for (const folder of folders) await folder[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const ask = (node: Server, method: string, path: string, more: object = {}) =>
  node.call(method, `/v2/${endpoint}${path}`, { key, ...more });

test("a request to the other node starts a worker on the machine of the first, and is answered by it", async () => {
  const { status, json, headers } = await ask(other, "GET", "/hello?x=1");
  expect([status, json.url, headers.get("x-millrace-worker-id")]).toEqual([200, "/hello?x=1", json.worker]);
  expect(JSON.stringify(json)).not.toContain(key);
});

test("five megabytes go there and back", async () => {
  const { status, text } = await ask(other, "POST", "/echo", { body: Buffer.alloc(5_000_000, "x") });
  expect([status, text.length]).toEqual([200, 5_000_000]);
});

test("a WebSocket is echoed", async () => {
  const url = `${other.url.replace("http", "ws")}/v2/${endpoint}/socket`;
  const client = new WebSocket(url, { headers: { authorization: `Bearer ${key}` } });
  await once(client, "open");
  client.send("hello");
  expect(String((await once(client, "message"))[0])).toBe("hello");
  client.terminate();
});

test("both nodes answer in turn, from the same worker", async () => {
  const workers = new Set<string>();
  for (let round = 0; round < 20; round++) {
    for (const node of [owner, other]) {
      const { status, json } = await ask(node, "GET", "/hello");
      expect(status).toBe(200);
      workers.add(json.worker);
    }
  }
  expect(workers.size).toBe(1);
});

test("the worker's log is followed through the other node", async () => {
  const { worker } = (await ask(other, "GET", "/hello")).json;
  const response = await fetch(`${other.url}/v2/serverless/${endpoint}/workers/${worker}/logs?source=system`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(response.status).toBe(200);
  const { value } = await eventsOf(response).next();
  expect(JSON.parse(value!.data)).toMatchObject({ source: "system", line: expect.stringContaining("starting host:") });
  await response.body?.cancel().catch(() => {});
});

test("once the first is killed, requests wait for a worker and logs are told which node is not reachable", async () => {
  const { worker } = (await ask(other, "GET", "/hello")).json;
  await owner.end("SIGKILL");
  const asked = ask(other, "GET", "/hello");
  const log = await other.call("GET", `/v2/serverless/${endpoint}/workers/${worker}/logs`, { key });
  expect([log.status, log.json.detail]).toEqual([
    502,
    // On a slow machine the node may already count as silent.
    expect.stringMatching(
      /^(node \w+ is not reachable: ECONN(REFUSED|RESET)|machine \w+ is not reachable: its node is silent)$/,
    ),
  ]);
  // The next server finds the worker that was left, and ends it when it ends itself.
  owner = await startOwner();
  const { status, json } = await asked;
  // The worker may have got the request on a connection that was still open. Then no other worker gets it.
  if (status !== 200)
    expect([status, json.error]).toEqual([502, expect.stringContaining(`worker ${worker} broke the connection`)]);
});
