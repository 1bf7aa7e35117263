/** Worker keys: each opens the routes of one worker, or of all workers of its endpoint. A wrong key is answered late. */
import { describe, expect, test } from "vitest";
import { setupJobs } from "../../../tests/job-world.ts";
import { setup, type World } from "../../../tests/world.ts";

const WRONG_KEY_HOLD_MS = 5000;

const routes: [method: string, path: string][] = [
  ["GET", "/job-take/w1?gpu=none"],
  ["GET", "/job-take-batch/w1?batch_size=2"],
  ["POST", "/job-done/w1/JOB"],
  ["POST", "/job-stream/w1/JOB"],
  ["GET", "/job-stop/w1?gpu=none"],
  ["GET", "/ping/w1?gpu=none"],
  ["POST", "/job-exchange/w1"],
];

async function anotherEndpoint(world: Awaited<ReturnType<typeof setupJobs>>): Promise<string> {
  const body = { name: "other", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  return (await world.call("POST", "/v2/serverless", { body })).json.id;
}

describe.each(routes)("%s %s", (method, path) => {
  test("with a wrong key is held for five seconds, then 401 with the reason, and the log says so", async () => {
    await using world = await setupJobs();
    const job = await world.submit();
    const foreign = (await world.services.workerKeys.issue(world.owner.account, await anotherEndpoint(world))).key;
    const colleagues = (await world.services.workerKeys.issue(world.owner.account, world.endpoint, "w2")).key;
    for (const key of [null, "wrong-wrong-wrong-wrong", world.key, foreign, colleagues]) {
      const lines = world.logged.length;
      let answered = false;
      const answer = world.invoke(method, path.replace("JOB", job), { key }).finally(() => {
        answered = true;
      });
      await world.clock.armed(WRONG_KEY_HOLD_MS, 3);
      await world.clock.advance(WRONG_KEY_HOLD_MS - 1);
      expect(answered).toBe(false);
      await world.clock.advance(1);
      const { status, json } = await answer;
      const error = "this key does not open the routes of this worker";
      expect([status, json]).toEqual([401, { error, message: error }]);
      expect(world.logged.slice(lines).join()).toContain("a worker came with a key that does not open");
    }
    expect((await world.status(job)).status).toBe("IN_QUEUE");
  });
});

/** Returns the status of a refused request, without waiting in real time. */
async function refusal(world: World, path: string, key: string): Promise<number> {
  const answer = world.call("GET", path, { key });
  await world.clock.armed(WRONG_KEY_HOLD_MS, 3);
  await world.clock.advance(WRONG_KEY_HOLD_MS);
  return (await answer).status;
}

describe("a key of one worker", () => {
  async function setupOwnKey() {
    const world = await setupJobs();
    const { id, key } = await world.services.workerKeys.issue(world.owner.account, world.endpoint, "w1");
    const ping = (worker: string) => `/v2/${world.endpoint}/ping/${worker}?gpu=none`;
    return { world, keyId: id, key, ping, workerKeys: world.services.workerKeys };
  }

  test("opens that worker's routes, also where the query begins with an ampersand", async () => {
    const { world, key, ping } = await setupOwnKey();
    await using _ = world;
    expect((await world.call("GET", ping("w1"), { key })).status).toBe(200);
    expect((await world.call("GET", `/v2/${world.endpoint}/ping/w1&gpu=none`, { key })).status).toBe(200);
  });

  test("is refused at once after it was revoked, and revoking it again is no error", async () => {
    const { world, keyId, key, ping, workerKeys } = await setupOwnKey();
    await using _ = world;
    expect((await world.call("GET", ping("w1"), { key })).status).toBe(200);
    await workerKeys.revoke(keyId);
    await workerKeys.revoke(keyId);
    expect(await workerKeys.opens(key, world.endpoint, "w1")).toBeUndefined();
    expect(await refusal(world, ping("w1"), key)).toBe(401);
  });

  test("is removed when its worker is no more, unless it was issued just now; keys made by hand stay", async () => {
    const { world, key, workerKeys } = await setupOwnKey();
    await using _ = world;
    const byHand = await workerKeys.issue(world.owner.account, world.endpoint);
    const alive = await workerKeys.issue(world.owner.account, world.endpoint, "w2");
    const opens = async (text: string, worker: string) =>
      (await workerKeys.opens(text, world.endpoint, worker)) !== undefined;
    const removeIssuedBefore = (time: number) => workerKeys.removeOrphans(time, async () => new Set(["w2"]));
    await removeIssuedBefore(world.clock.now());
    expect(await opens(key, "w1")).toBe(true);
    await removeIssuedBefore(world.clock.now() + 1);
    expect(await opens(key, "w1")).toBe(false);
    expect([await opens(byHand.key, "anyone"), await opens(alive.key, "w2")]).toEqual([true, true]);
  });

  test("stays when its worker began while the workers were read", async () => {
    const { world, workerKeys } = await setupOwnKey();
    await using _ = world;
    let fresh = "";
    await workerKeys.removeOrphans(world.clock.now() + 1, async () => {
      ({ key: fresh } = await workerKeys.issue(world.owner.account, world.endpoint, "w2"));
      return new Set();
    });
    expect(await workerKeys.opens(fresh, world.endpoint, "w2")).toBeDefined();
  });
});

test("a key made by hand opens the routes of every worker of its endpoint", async () => {
  await using world = await setupJobs();
  const { key } = await world.services.workerKeys.issue(world.owner.account, world.endpoint);
  for (const worker of ["a", "b"])
    expect((await world.call("GET", `/v2/${world.endpoint}/ping/${worker}?gpu=none`, { key })).status).toBe(200);
});

test("a worker key opens nothing else: neither invocation nor REST", async () => {
  await using world = await setupJobs();
  const { key } = await world.worker();
  expect((await world.invoke("POST", "/run", { key, body: { input: {} } })).status).toBe(401);
  expect((await world.invoke("GET", "/health", { key })).status).toBe(401);
  expect((await world.call("GET", "/v2/serverless", { key })).status).toBe(401);
});

test("a worker of one endpoint cannot speak for one of another, though it uses its name", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const id = await world.begun(worker);
  const other = await anotherEndpoint(world);
  const { key } = await world.services.workerKeys.issue(world.owner.account, other);
  const as = (method: string, path: string, body?: unknown) => world.call(method, `/v2/${other}${path}`, { key, body });
  await as("POST", `/job-done/${worker.id}/${id}`, { output: "forged" });
  await as("POST", `/job-stream/${worker.id}/${id}`, { output: "forged" });
  await as("POST", `/job-exchange/${worker.id}?take=0`, `${id} 1 {"output":"forged"}`);
  await as("GET", `/ping/${worker.id}?gpu=none`);
  await as("GET", `/ping/${worker.id}?gpu=none`);
  await as("GET", `/ping/${worker.id}?status=unhealthy&check=memory&reason=none`);
  await world.clock.advance(2000);
  expect(await world.status(id)).toEqual({ id, status: "IN_PROGRESS", delayTime: 0, workerId: worker.id });
  expect(await world.queue.chunks(id, { attempt: 0, sequence: 0 }, 10)).toEqual([]);
  expect((await world.call("GET", `/v2/${other}/health`)).json.workers.running).toBe(0);
});

test("a key issued by the command line's service works until its endpoint is deleted", async () => {
  await using world = await setup();
  const body = { name: "e", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const { id } = (await world.call("POST", "/v2/serverless", { body })).json;
  const { key } = await world.services.workerKeys.issue(world.owner.account, id);
  expect((await world.call("GET", `/v2/${id}/ping/w1`, { key })).status).toBe(200);
  await world.call("DELETE", `/v2/serverless/${id}`);
  expect(await refusal(world, `/v2/${id}/ping/w1`, key)).toBe(401);
});

test("a worker with a name that no database can hold works like any other, under one that can", async () => {
  await using world = await setupJobs();
  const { key } = await world.services.workerKeys.issue(world.owner.account, world.endpoint);
  const as = (method: string, path: string, body?: unknown) => world.invoke(method, path, { key, body });
  const job = await world.submit();
  expect((await as("GET", "/job-take/w%00?gpu=none")).json.id).toBe(job);
  expect((await world.status(job)).workerId).toBe("w\ufffd");
  expect((await as("GET", "/ping/w%00?status=unhealthy&check=%00&reason=%00")).status).toBe(200);
  expect((await as("GET", "/job-take/w%00?gpu=none")).json.id).toBe(job);
  expect((await as("POST", `/job-done/w%00/${job}`, { error: "a\u0000" })).status).toBe(200);
  expect(await world.status(job)).toMatchObject({ status: "FAILED", error: "a\u0000" });
});
