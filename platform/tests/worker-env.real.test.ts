/** `millrace worker-env` next to a server: it prints the address where that server can be reached. */
import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { apiKeyText } from "../src/kernel/ids.ts";
import { realRandom } from "../src/kernel/random.ts";
import { freshDatabase } from "./database.ts";
import { type InstallationPlace, millrace, ownerKey, type Server, startServer, temporaryFolder } from "./process.ts";
import { call } from "./world.ts";

const CPU = { name: "by hand", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };

const createEndpoint = async (server: Server, key: string): Promise<string> =>
  (await server.call("POST", "/v2/serverless", { key, body: CPU })).json.id;

const urlFor = async (folder: InstallationPlace, endpoint: string, ...more: string[]): Promise<string> =>
  (await millrace(folder, "worker-env", endpoint, ...more)).MILLRACE_URL;

test("the variables name the port that the server listens on, as long as it runs, and --url wins", async () => {
  await using folder = await temporaryFolder();
  const server = await startServer(folder.path);
  const endpoint = await createEndpoint(server, await ownerKey(folder.path));
  expect(await urlFor(folder.path, endpoint)).toBe(server.url);
  expect(await urlFor(folder.path, endpoint, "--url", "http://10.1.2.3:80")).toBe("http://10.1.2.3:80");
  await server.end("SIGKILL");
  expect(await urlFor(folder.path, endpoint)).toBe("http://127.0.0.1:7420");
  await using next = await startServer(folder.path);
  expect(await urlFor(folder.path, endpoint)).toBe(next.url);
  await next.end("SIGTERM");
  expect((await readdir(folder.path)).filter((name) => name.startsWith("running"))).toEqual([]);
});

test("a worker started by hand calls endpoints with what it was told, until it is revoked", async () => {
  await using folder = await temporaryFolder();
  await using server = await startServer(folder.path);
  const endpoint = await createEndpoint(server, await ownerKey(folder.path));
  const env = await millrace(folder.path, "worker-env", endpoint);
  const key = env.RUNPOD_API_KEY as string;
  const run = await call(env.RUNPOD_ENDPOINT_BASE_URL, "POST", `/${endpoint}/run`, { key, body: { input: {} } });
  expect([run.status, run.json.status]).toEqual([200, "IN_QUEUE"]);
  expect((await call(env.RUNPOD_ENDPOINT_BASE_URL, "GET", "/serverless", { key })).status).toBe(403);
  await millrace(folder.path, "worker-env", endpoint, "--revoke", env.MILLRACE_WORKER_ID);
  await stay(1100);
  expect((await call(env.RUNPOD_ENDPOINT_BASE_URL, "GET", `/${endpoint}/health`, { key })).status).toBe(401);
  await expect(millrace(folder.path, "worker-env", endpoint, "--revoke", env.MILLRACE_WORKER_ID)).rejects.toThrow(
    `'${endpoint}' has no worker '${env.MILLRACE_WORKER_ID}' that was started by hand`,
  );
});

test("a server that finds a worker's variables in its shell does not take the worker's key for the owner's", async () => {
  await using folder = await temporaryFolder();
  const server = await startServer(folder.path);
  const env = await millrace(folder.path, "worker-env", await createEndpoint(server, await ownerKey(folder.path)));
  await server.end("SIGTERM");
  const again = startServer(folder.path, { env: { MILLRACE_API_KEY: env.MILLRACE_API_KEY } });
  await expect(again).rejects.toThrow("MILLRACE_API_KEY is the key of a worker");
});

test("what the server was told of its workers' way holds, though the command line was not told", async () => {
  await using folder = await temporaryFolder();
  await using server = await startServer(folder.path, { args: ["--worker-url", "http://gpu.test:7420"] });
  const endpoint = await createEndpoint(server, await ownerKey(folder.path));
  expect(await urlFor(folder.path, endpoint)).toBe("http://gpu.test:7420");
});

test("on PostgreSQL from a folder of no server, the variables name a node that runs", async () => {
  await using database = await freshDatabase();
  await using folder = await temporaryFolder();
  await using elsewhere = await temporaryFolder();
  const key = apiKeyText(realRandom);
  const args = ["--node-url", "http://10.9.8.7:7420"];
  const server = await startServer(folder.path, {
    args,
    env: { MILLRACE_API_KEY: key, MILLRACE_DATABASE_URL: database.url },
  });
  const endpoint = await createEndpoint(server, key);
  const place = { data: folder.path, database: database.url };
  expect(await urlFor(place, endpoint)).toBe(server.url);
  const { RUNPOD_API_KEY } = await millrace(place, "worker-env", endpoint);
  expect((await server.call("GET", `/v2/${endpoint}/health`, { key: RUNPOD_API_KEY })).status).toBe(200);
  expect(await urlFor({ ...place, data: elsewhere.path }, endpoint)).toBe("http://10.9.8.7:7420");
  await server.end("SIGTERM");
});
