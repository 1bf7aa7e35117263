/** A worker's second key: it can only call endpoints of its account, at every address that workers reach. */
import { describe, expect, test } from "vitest";
import { setupBalanced } from "../../../tests/balanced-world.ts";
import { type JobWorld, setupJobs } from "../../../tests/job-world.ts";
import { call, setup, type World } from "../../../tests/world.ts";
import { RESOURCE_ID } from "../../kernel/ids.ts";
import { MemoryLogs } from "../../ports/logs/memory-logs.ts";

const CPU = { name: "e", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
const API_KEYS = "/v2/account/api-keys";
const NEW_JOB = { input: {} };

const issue = (world: JobWorld, worker?: string) =>
  world.services.workerKeys.issue(world.owner.account, world.endpoint, worker);

async function createEndpoint(world: World, key: string): Promise<string> {
  return (await world.call("POST", "/v2/serverless", { key, body: CPU })).json.id;
}

/** Opens the address that only workers reach. */
const linkOf = async (world: World) => `http://127.0.0.1:${await world.app.workerLink.open("127.0.0.1", 0)}`;

describe.each(["w1", undefined])("the call key of worker %s", (worker) => {
  test("invokes its own endpoint and others of the account, as Bearer and as it is", async () => {
    await using world = await setupJobs();
    const other = await createEndpoint(world, world.key);
    const { callKey: key } = await issue(world, worker);
    for (const id of [world.endpoint, other]) {
      const path = `/v2/${id}`;
      const { status, json } = await world.call("POST", `${path}/run`, { key, body: NEW_JOB });
      expect([status, json.status]).toEqual([200, "IN_QUEUE"]);
      const headers = { authorization: key };
      expect((await world.call("GET", `${path}/status/${json.id}`, { key: null, headers })).status).toBe(200);
      expect((await world.call("POST", `${path}/cancel/${json.id}`, { key })).json.status).toBe("CANCELLED");
      expect((await world.call("POST", `${path}/purge-queue`, { key })).status).toBe(200);
    }
  });

  test("404: an endpoint of another account", async () => {
    await using world = await setupJobs();
    const theirs = await createEndpoint(world, await world.strangersKey());
    const { callKey: key } = await issue(world, worker);
    expect((await world.call("POST", `/v2/${theirs}/run`, { key, body: NEW_JOB })).status).toBe(404);
  });

  test("403: everything of REST, with the limits of the account's owner", async () => {
    await using world = await setupJobs();
    const { callKey: key } = await issue(world, worker);
    const asked: [string, string, object?][] = [
      ["GET", "/v2/serverless"],
      ["GET", `/v2/serverless/${world.endpoint}`],
      ["DELETE", `/v2/serverless/${world.endpoint}`],
      ["GET", "/v2/account/secrets"],
      ["GET", API_KEYS],
      ["POST", API_KEYS, { scopes: ["serverless:invoke"] }],
    ];
    const remaining = ({ headers }: { headers: Headers }) => /r=(\d+)/.exec(headers.get("ratelimit")!)![1];
    const before = Number(remaining(await world.call("GET", "/v2/serverless")));
    for (const [n, [method, path, body]] of asked.entries()) {
      const answer = await world.call(method, path, { key, body });
      expect([answer.status, answer.json.detail]).toEqual([403, expect.stringMatching(/lacks the scope/)]);
      expect(Number(remaining(answer))).toBe(before - n - 1);
    }
  });

  test("is no worker's key, and the worker's key is no call key", async () => {
    await using world = await setupJobs();
    const { key, callKey } = await issue(world, worker);
    expect(await world.services.workerKeys.opens(callKey, world.endpoint, "w1")).toBeUndefined();
    expect((await world.invoke("POST", "/run", { key, body: NEW_JOB })).status).toBe(401);
    expect((await world.call("GET", "/v2/serverless", { key })).status).toBe(401);
  });

  test("is not among the account's keys, is kept as a digest alone, and is never logged", async () => {
    await using world = await setupJobs();
    const { id, key, callKey } = await issue(world, worker);
    await world.invoke("POST", "/run", { key: callKey, body: NEW_JOB });
    await world.call("GET", "/v2/serverless", { key: callKey });
    await world.clock.advance(60_000);
    const { apiKeys } = (await world.call("GET", API_KEYS)).json;
    expect(apiKeys).toHaveLength(1);
    const kept = JSON.stringify(await world.store.get("worker-key", id));
    expect(kept).toMatch(/"digest":.*"callDigest":/);
    for (const text of [key, callKey]) {
      expect(kept).not.toContain(text);
      expect(world.logged.join()).not.toContain(text);
    }
    // The log names a request by the id of the key's record.
    expect(id).toMatch(RESOURCE_ID);
    expect(world.logged.join()).toContain(id);
    expect(await world.store.get("api-key-use", id)).toBeUndefined();
  });
});

describe("the end of a call key", () => {
  const use = async (world: JobWorld, key: string) =>
    (await world.invoke("POST", "/run", { key, body: NEW_JOB })).status;

  test("comes at once when it is revoked on this node", async () => {
    await using world = await setupJobs();
    const { id, callKey } = await issue(world, "w1");
    expect(await use(world, callKey)).toBe(200);
    await world.services.workerKeys.revoke(id);
    expect(await use(world, callKey)).toBe(401);
  });

  test("comes within a second on another node", async () => {
    await using world = await setupJobs();
    await using other = await setup({ store: world.store, found: { ...world, logs: new MemoryLogs() } });
    const { id, callKey: key } = await issue(world, "w1");
    const useThere = async () => (await other.call("POST", `/v2/${world.endpoint}/run`, { key, body: NEW_JOB })).status;
    expect(await useThere()).toBe(200);
    await world.services.workerKeys.revoke(id);
    await world.clock.advance(1000);
    expect(await useThere()).toBe(401);
  });

  test("comes by hand for what was made by hand, under its own endpoint, and for nothing else", async () => {
    await using world = await setupJobs();
    const { workerKeys } = world.services;
    const [byHand, booted] = [await issue(world), await issue(world, "w1")];
    expect(await workerKeys.revokeByHand(await createEndpoint(world, world.key), byHand.id)).toBe(false);
    expect(await workerKeys.revokeByHand(world.endpoint, booted.id)).toBe(false);
    expect([await use(world, byHand.callKey), await use(world, booted.callKey)]).toEqual([200, 200]);
    expect(await workerKeys.revokeByHand(world.endpoint, byHand.id)).toBe(true);
    expect([await use(world, byHand.callKey), await use(world, booted.callKey)]).toEqual([401, 200]);
  });

  test("comes with that of its endpoint, for other endpoints too", async () => {
    await using world = await setupJobs();
    const other = await createEndpoint(world, world.key);
    const { callKey: key } = await issue(world);
    await world.call("DELETE", `/v2/serverless/${world.endpoint}`);
    expect((await world.call("POST", `/v2/${other}/run`, { key, body: NEW_JOB })).status).toBe(401);
  });

  test("comes with that of its account", async () => {
    await using world = await setupJobs();
    const of = await world.services.accounts.create("team", "t@localhost");
    const endpoint = await createEndpoint(world, await world.newKey({ of }));
    const { callKey: key } = await world.services.workerKeys.issue(of.account, endpoint);
    expect((await world.call("GET", `/v2/${endpoint}/health`, { key })).status).toBe(200);
    await world.services.accounts.delete("team");
    await world.clock.advance(1000);
    expect((await world.call("GET", `/v2/${endpoint}/health`, { key })).status).toBe(401);
  });
});

test("a record of an older release, which has no call key, opens its worker's routes as before", async () => {
  await using world = await setupJobs();
  const { id, key } = await issue(world, "w1");
  const { doc } = (await world.store.get("worker-key", id))!;
  const { callDigest: _, ...old } = doc;
  await world.store.commit([{ do: "remove", kind: "worker-key", id }]);
  const unique = [{ scope: "*", name: "digest", value: String(old.digest) }];
  const record = { kind: "worker-key", id, account: world.owner.account, createdAt: 0, doc: { ...old, v: 1 }, unique };
  await world.store.commit([{ do: "insert", record }]);
  expect((await world.invoke("GET", "/ping/w1?gpu=none", { key })).status).toBe(200);
});

describe("the address that only workers reach", () => {
  test("serves the worker link, invocation and REST with the same guards and forms", async () => {
    await using world = await setupJobs();
    const { key, callKey } = await issue(world, "w1");
    const link = await linkOf(world);
    const at = (method: string, path: string, options: object) => call(link, method, path, options);
    const own = `/v2/${world.endpoint}`;
    const ran = await at("POST", `${own}/run`, { key: callKey, body: NEW_JOB });
    expect([ran.status, ran.json.status]).toEqual([200, "IN_QUEUE"]);
    const taken = await at("GET", `${own}/job-take/w1?gpu=none`, { key });
    expect(taken.json.id).toBe(ran.json.id);
    expect((await at("GET", `${own}/nonsense`, { key: callKey })).json).toEqual({
      error: expect.any(String),
      message: expect.any(String),
    });
    const rest = await at("GET", "/v2/serverless", { key: callKey });
    expect([rest.status, rest.headers.get("content-type")]).toEqual([403, "application/problem+json"]);
    expect((await at("GET", "/v2/serverless", { key: world.key })).status).toBe(200);
    expect((await at("GET", "/v2/serverless", { key: null })).status).toBe(401);
    expect((await at("GET", "/v2/openapi.json", { key: null })).status).toBe(200);
  });

  test("leads to load-balanced workers too, which do not see the key", async () => {
    await using world = await setupBalanced();
    const seen: unknown[] = [];
    world.worker("w9", (request, response) => {
      seen.push(request.headers.authorization);
      response.end(`at ${request.url}`);
    });
    const { callKey: key } = await world.services.workerKeys.issue(world.owner.account, world.endpoint, "w1");
    const answer = await call(await linkOf(world), "GET", `/v2/${world.endpoint}/hello`, { key });
    expect([answer.status, answer.text, seen]).toEqual([200, "at /hello", [undefined]]);
  });
});
