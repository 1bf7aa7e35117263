/** A server that runs workers in containers, as a person would run it: it does jobs, and finds its workers again after a kill. */
import { expect, inject, test } from "vitest";
import { containerName, label } from "../src/adapters/docker/container.ts";
import { EngineApi } from "../src/adapters/docker/engine-api.ts";
import { stay } from "../src/kernel/clock.ts";
import { ownerKey, type Server, startServer, temporaryFolder } from "./process.ts";
import { ECHO_WORKER, TEST_IMAGE } from "./real-docker.ts";

const ENDPOINT = {
  name: "echo",
  image: TEST_IMAGE,
  cmd: [ECHO_WORKER],
  cpu: [{ id: "cpu3c", vcpuCount: 2 }],
  workers: { min: 0, max: 1 },
};

const start = (data: string) =>
  startServer(data, { env: { MILLRACE_COMPUTE: "host", MILLRACE_DOCKER: inject("dockerSocket") } });

async function createEndpoint(server: Server, key: string, more: Partial<typeof ENDPOINT> = {}): Promise<string> {
  const { status, json } = await server.call("POST", "/v2/serverless", { key, body: { ...ENDPOINT, ...more } });
  expect({ status, json }).toMatchObject({ status: 201 });
  return json.id;
}

async function runsync(server: Server, key: string, endpoint: string, input: unknown) {
  const { json } = await server.call("POST", `/v2/${endpoint}/runsync`, { key, body: { input } });
  return json;
}

/** The containers of the endpoint's workers. */
const containersOf = (endpoint: string) =>
  new EngineApi(inject("dockerSocket")).call<{ Names: string[] }[]>("GET", "/containers/json", {
    query: { all: true, filters: { label: [`${label.owner}=${endpoint}`] } },
  });

test.concurrent("a job is done by a worker in a container, which outlives its server and ends with the next one", async () => {
  await using folder = await temporaryFolder();
  const first = await start(folder.path);
  const key = await ownerKey(folder.path);
  const endpoint = await createEndpoint(first, key);
  const before = await runsync(first, key, endpoint, { n: 1 });
  expect(before).toMatchObject({ status: "COMPLETED", output: { n: 1 } });
  expect(await containersOf(endpoint)).toMatchObject([{ Names: [`/${containerName(before.workerId)}`] }]);
  await first.end("SIGKILL");
  await using second = await start(folder.path);
  const after = await runsync(second, key, endpoint, { n: 2 });
  expect(after).toMatchObject({ status: "COMPLETED", output: { n: 2 }, workerId: before.workerId });
  expect(await second.end("SIGTERM")).toBe(0);
  expect(await containersOf(endpoint)).toEqual([]);
});

test.concurrent("an image that cannot be pulled is the reason for which a job waits", async () => {
  await using folder = await temporaryFolder();
  await using server = await start(folder.path);
  const key = await ownerKey(folder.path);
  const endpoint = await createEndpoint(server, key, { image: "127.0.0.1:9/no/image:1" });
  const job = (await server.call("POST", `/v2/${endpoint}/run`, { key, body: { input: {} } })).json.id;
  let reason = "";
  while (!reason.includes("boot failed")) {
    reason = (await server.call("GET", `/v2/${endpoint}/status/${job}`, { key })).json.waitReason;
    await stay(50);
  }
  expect(reason).toMatch(/boot failed: cannot pull 127\.0\.0\.1:9\/no\/image:1: .*refused/);
});
