/** Who may call an endpoint, in each way that public clients call it, and the form of every refusal. */
import { describe, expect, test } from "vitest";
import { type JobWorld, setupJobs } from "../../../tests/job-world.ts";

const UNKNOWN = "aaaaaaaaaaaaaa";
const NO_JOB = "00000000-0000-7000-8000-000000000000-u1";

/** Every operation, with a path that exists as long as `JOB` does. */
const operations: [method: string, path: string][] = [
  ["POST", "/run"],
  ["POST", "/runsync"],
  ["GET", "/status/JOB"],
  ["POST", "/status/JOB"],
  ["GET", "/status-sync/JOB"],
  ["POST", "/status-sync/JOB"],
  ["POST", "/cancel/JOB"],
  ["POST", "/retry/JOB"],
  ["POST", "/purge-queue"],
  ["GET", "/health"],
];
const ofJobs = operations.filter(([, path]) => path.includes("JOB"));

async function expectError(answer: ReturnType<JobWorld["call"]>, status: number, text: string): Promise<void> {
  const { status: got, json, headers } = await answer;
  expect([got, json]).toEqual([status, { error: expect.stringContaining(text), message: json.error }]);
  expect(headers.get("content-type")).toBe("application/json");
  expect(headers.has("ratelimit")).toBe(false);
}

describe.each(operations)("%s %s", (method, path) => {
  test("401: without a key, with a broken one, with an unknown one", async () => {
    await using world = await setupJobs();
    await expectError(
      world.invoke(method, path, { key: null }),
      401,
      "unauthorized: the authorization header is missing",
    );
    for (const authorization of ["x", "Bearer ", "Basic abc", `Bearer mlr_${"x".repeat(43)}`, `mlr_${"x".repeat(43)}`])
      await expectError(world.invoke(method, path, { key: null, headers: { authorization } }), 401, "invalid API key");
  });

  test("404: an unknown endpoint, and another account's in the same words", async () => {
    await using world = await setupJobs();
    const key = await world.strangersKey();
    await expectError(world.call(method, `/v2/${UNKNOWN}${path}`), 404, "endpoint not found");
    await expectError(world.invoke(method, path, { key }), 404, "endpoint not found");
  });

  test("403: a key narrowed to other endpoints", async () => {
    await using world = await setupJobs();
    const key = await world.newKey({ endpoints: [UNKNOWN] });
    await expectError(world.invoke(method, path, { key }), 403, "This API key is narrowed to other endpoints");
  });

  test("403: a key without the scope, which is named", async () => {
    await using world = await setupJobs();
    const reads = /status|health/.test(path);
    const scope = reads ? "serverless:read" : "serverless:invoke";
    const weak = await world.newKey({ scopes: reads ? ["secrets:write"] : ["read-only"] });
    await expectError(world.invoke(method, path, { key: weak }), 403, `lacks the scope '${scope}'`);
    const able = await world.newKey({ scopes: ["serverless:invoke"], endpoints: [world.endpoint] });
    // The request is empty, or the job does not exist. Either way the key was accepted.
    const answered = path.includes("JOB") ? 404 : path.startsWith("/run") ? 400 : 200;
    expect((await world.invoke(method, path.replace("JOB", NO_JOB), { key: able })).status).toBe(answered);
  });
});

describe.each(ofJobs)("%s %s", (method, path) => {
  test("404: an unknown job, and one of another endpoint of the same account", async () => {
    await using world = await setupJobs();
    const body = { name: "other", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    const other = (await world.call("POST", "/v2/serverless", { body })).json.id;
    const job = await world.submit();
    await expectError(world.invoke(method, path.replace("JOB", NO_JOB)), 404, "job not found");
    await expectError(world.call(method, `/v2/${other}${path.replace("JOB", job)}`), 404, "job not found");
    expect((await world.status(job)).status).toBe("IN_QUEUE");
  });

  test("404: a purged job, and the text says that it was purged", async () => {
    await using world = await setupJobs();
    const job = await world.submit();
    await world.invoke("POST", "/purge-queue");
    await expectError(world.invoke(method, path.replace("JOB", job)), 404, "it was removed by purge-queue");
  });
});

describe("a key is taken", () => {
  test.each([
    ["raw, as the specification shows it", (key: string) => key],
    ["as a bearer token", (key: string) => `Bearer ${key}`],
    ["with a scheme in small letters", (key: string) => `bearer ${key}`],
    ["with spaces around it", (key: string) => `Bearer   ${key}  `],
  ])("%s", async (_how, header) => {
    await using world = await setupJobs();
    const headers = { authorization: header(world.key) };
    const { status } = await world.invoke("POST", "/run", { key: null, headers, body: { input: {} } });
    expect(status).toBe(200);
  });
});

describe("ways in which public clients call", () => {
  /** Content-Type: application/json with an empty body, which many servers refuse. */
  const empty = { headers: { "content-type": "application/json" }, body: "" };

  test.each([
    ["POST", "/cancel/JOB", { status: "CANCELLED" }],
    ["POST", "/retry/JOB", { status: "IN_QUEUE" }],
    ["POST", "/purge-queue", { removed: 0, status: "completed" }],
    ["POST", "/status/JOB", { status: "IN_QUEUE" }],
  ])("%s %s needs no body: absent, empty, '{}' or broken, it is not read", async (method, path, expected) => {
    for (const options of [{}, empty, { body: "{}" }, { body: "{oops" }]) {
      await using world = await setupJobs();
      const job = path.startsWith("/purge") ? "" : await world.submit();
      if (path.startsWith("/retry")) {
        const worker = await world.worker();
        await worker.take();
        await worker.done(job, { error: "x" });
      }
      const { status, json } = await world.invoke(method, path.replace("JOB", job), options);
      expect([status, json]).toEqual([200, expect.objectContaining(expected)]);
    }
  });

  test.each([["GET"], ["POST"]])("%s /status shows the same record", async (method) => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const id = await world.begun(worker);
    await worker.done(id, { output: 1 });
    const { status, json } = await world.invoke(method, `/status/${id}`);
    expect([status, json]).toEqual([200, await world.status(id)]);
  });

  test.each([["//v2/EP//run"], ["/v2//EP/run"], ["/v2/EP/run/"], ["/v2/EP//run//"]])(
    "%s is /run: slashes may be doubled or stand at the end",
    async (path) => {
      await using world = await setupJobs();
      const { status } = await world.call("POST", path.replace("EP", world.endpoint), { body: { input: {} } });
      expect(status).toBe(200);
    },
  );

  test("every success is exactly 200, as JSON", async () => {
    await using world = await setupJobs();
    const body = { input: {} };
    const worker = await world.worker();
    const synced = world.invoke("POST", "/runsync", { body });
    const sync = (await worker.take())!.id;
    await worker.done(sync, { error: "x" });
    const run = await world.invoke("POST", "/run", { body });
    const rest = [
      ["GET", `/status/${run.json.id}`],
      ["POST", `/cancel/${run.json.id}`],
      ["GET", `/status-sync/${run.json.id}`],
      ["POST", `/retry/${sync}`],
      ["POST", "/purge-queue"],
      ["GET", "/health"],
    ] as const;
    const answers = [await synced, run];
    for (const [method, path] of rest) answers.push(await world.invoke(method, path));
    for (const { status, headers } of answers)
      expect([status, headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
  });
});

describe("what does not exist", () => {
  test.each([
    ["GET", "/run", "POST"],
    ["PUT", "/runsync", "POST"],
    ["DELETE", "/status/JOB", "GET, POST"],
    ["PATCH", "/status-sync/JOB", "GET, POST"],
    ["GET", "/cancel/JOB", "POST"],
    ["GET", "/retry/JOB", "POST"],
    ["DELETE", "/purge-queue", "POST"],
    ["POST", "/health", "GET"],
    ["OPTIONS", "/run", "POST"],
  ])("405: %s %s, and Allow says what is", async (method, path, allow) => {
    await using world = await setupJobs();
    const answer = world.invoke(method, path);
    await expectError(answer, 405, "The requested method is not allowed for this path.");
    expect((await answer).headers.get("allow")).toBe(allow);
  });

  test.each([
    ["GET", ""],
    ["POST", ""],
    ["GET", "/"],
    ["POST", "/runs"],
    ["GET", "/status"],
    ["GET", "/status/a/b"],
    ["POST", "/cancel"],
    ["GET", "/RUN"],
  ])("404: %s {endpoint}%s", async (method, path) => {
    await using world = await setupJobs();
    await expectError(world.invoke(method, path), 404, "not found");
  });

  test("401 comes first: a stranger learns nothing of what exists", async () => {
    await using world = await setupJobs();
    for (const [method, path] of [
      ["GET", "/nothing"],
      ["GET", "/run"],
      ["POST", "/run"],
    ] as const)
      expect((await world.invoke(method, path, { key: null })).status).toBe(401);
  });
});

test("requests to an endpoint neither count against the rate limits nor are refused by them", async () => {
  await using world = await setupJobs({ rateLimits: "2,2,2" });
  for (let i = 0; i < 5; i++) expect((await world.invoke("GET", "/health")).status).toBe(200);
  expect((await world.call("GET", "/v2/serverless")).status).toBe(200);
  expect((await world.call("GET", "/v2/serverless")).status).toBe(429);
  expect((await world.invoke("GET", "/health")).status).toBe(200);
});
