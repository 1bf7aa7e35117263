/** Worker keys: each opens the worker routes of its endpoint and nothing else, and a wrong one is answered late. */
import { describe, expect, test } from "vitest";
import { setupJobs } from "../../../tests/job-world.ts";
import { setup } from "../../../tests/world.ts";

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
    for (const key of [null, "wrong-wrong-wrong-wrong", world.key, foreign]) {
      const lines = world.logged.length;
      let answered = false;
      const answer = world.invoke(method, path.replace("JOB", job), { key }).finally(() => {
        answered = true;
      });
      await world.clock.armed(WRONG_KEY_HOLD_MS, 2);
      await world.clock.advance(WRONG_KEY_HOLD_MS - 1);
      expect(answered).toBe(false);
      await world.clock.advance(1);
      const { status, json } = await answer;
      const error = "this key does not open the worker routes of this endpoint";
      expect([status, json]).toEqual([401, { error, message: error }]);
      expect(world.logged.slice(lines).join()).toContain("a worker came with a key that does not open");
    }
    expect((await world.status(job)).status).toBe("IN_QUEUE");
  });
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
  const refused = world.call("GET", `/v2/${id}/ping/w1`, { key });
  await world.clock.armed(WRONG_KEY_HOLD_MS, 2);
  await world.clock.advance(WRONG_KEY_HOLD_MS);
  expect((await refused).status).toBe(401);
});
