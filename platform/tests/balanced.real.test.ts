/** Load-balanced workers as real processes behind a real server: from zero workers to an answer, a WebSocket, and a death. */
import { once } from "node:events";
import { chmod, copyFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFailed, test } from "vitest";
import { WebSocket } from "ws";
import { ownerKey, startServer, temporaryFolder } from "./process.ts";

const APP = new URL("./fixtures/small-app.mjs", import.meta.url);
const DOMAIN = "apps.millrace.test";

async function setup(workers: object = {}) {
  const folder = await temporaryFolder();
  const app = await temporaryFolder();
  await copyFile(APP, join(app.path, "app.mjs"));
  // Each program runs as a user of its own, and must be able to read this folder.
  await chmod(app.path, 0o755);
  const server = await startServer(folder.path, { env: { MILLRACE_COMPUTE: "host", MILLRACE_DOMAIN: DOMAIN } });
  onTestFailed(() => console.log(server.log()));
  const key = await ownerKey(folder.path);
  const body = {
    name: "app",
    type: "LOAD_BALANCER",
    image: `host:${app.path}`,
    cmd: ["node", "app.mjs"],
    cpu: [{ id: "cpu3c", vcpuCount: 2 }],
    // Above the ports that only root may use, and below those of outgoing connections.
    env: { PORT: "18437" },
    workers: { max: 1, ...workers },
  };
  const created = await server.call("POST", "/v2/serverless", { key, body });
  if (created.status !== 201) throw new Error(created.text);
  const endpoint = created.json.id as string;
  return {
    server,
    key,
    endpoint,
    ask: (method: string, path: string, more: object = {}) =>
      server.call(method, `/v2/${endpoint}${path}`, { key, ...more }),
    async [Symbol.asyncDispose]() {
      await server.end("SIGTERM");
      await folder[Symbol.asyncDispose]();
      await app[Symbol.asyncDispose]();
    },
  };
}

test("an HTTP application answers its first request from zero workers, and sees no key", async () => {
  await using world = await setup();
  const { status, json, headers } = await world.ask("GET", "/hello?x=1");
  expect([status, json]).toEqual([200, expect.objectContaining({ url: "/hello?x=1", port: "18437" })]);
  expect(headers.get("x-runpod-worker-id")).toBe(json.worker);
  expect(JSON.stringify(json)).not.toContain(world.key);
  const { text } = await world.ask("POST", "/echo", { body: Buffer.alloc(5_000_000, "x") });
  expect(text.length).toBe(5_000_000);
});

test("a WebSocket from zero workers is echoed", async () => {
  await using world = await setup();
  const url = `${world.server.url.replace("http", "ws")}/v2/${world.endpoint}/socket`;
  const client = new WebSocket(url, { headers: { authorization: `Bearer ${world.key}` } });
  await once(client, "open");
  client.send("hello");
  expect(String((await once(client, "message"))[0])).toBe("hello");
  client.terminate();
});

test("a worker that dies in mid answer breaks the answer off, and the next request gets another worker", async () => {
  await using world = await setup();
  const first = (await world.ask("GET", "/")).json.worker;
  await expect(world.ask("GET", "/die")).rejects.toThrow();
  let next = await world.ask("GET", "/");
  // A request that arrives before the worker's end is noticed fails with 502. It is not sent a second time.
  while (next.status === 502) next = await world.ask("GET", "/");
  expect([next.status, typeof next.json.worker, next.json.worker === first]).toEqual([200, "string", false]);
});
