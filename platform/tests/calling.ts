/** What a real worker may do with its own key, whatever driver runs it. */
import { expect } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { millrace } from "./process.ts";
import { isOver, LOOK_MS, type ServerPlace, submit, TRIES } from "./worker-place.ts";
import { call } from "./world.ts";

/** Returns the answer that a worker of the endpoint gets when it sends this request to the platform. */
async function askedBy(at: ServerPlace, endpoint: string, ask: object) {
  const record = await at.until(endpoint, await submit(at, endpoint, { ask }), isOver);
  expect(record).toMatchObject({ status: "COMPLETED" });
  return record.output.asked as { status: number; json: { output: object }; key: string };
}

async function endpointOfAnother(at: ServerPlace): Promise<string> {
  const { key } = await millrace(at.data, "accounts", "create", "stranger");
  const body = { name: "theirs", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  return (await at.server.call("POST", "/v2/serverless", { key, body })).json.id;
}

/** A worker can call another endpoint of its account. It can call no one else's, do nothing else, and do nothing after its end. */
export async function expectCalls(at: ServerPlace): Promise<void> {
  const caller = await at.endpoint({ workers: { min: 0, max: 1, idleTimeout: 600 } });
  const called = await at.endpoint({ name: "called" });
  const runsync = (id: string) => ({ method: "POST", path: `/${id}/runsync`, body: { input: {} } });
  const own = await askedBy(at, caller, runsync(called));
  expect(own).toMatchObject({ status: 200, json: { status: "COMPLETED", output: { begun: 1 } } });
  expect(await askedBy(at, caller, { path: "/serverless" })).toMatchObject({ status: 403 });
  expect(await askedBy(at, caller, runsync(await endpointOfAnother(at)))).toMatchObject({ status: 404 });
  const health = async () => (await call(at.server.url, "GET", `/v2/${called}/health`, { key: own.key })).status;
  expect(await health()).toBe(200);
  await at.call("PATCH", `/v2/serverless/${caller}`, { workers: { min: 0, max: 0 } });
  for (let tries = 0; (await health()) !== 401; tries++) {
    if (tries === TRIES) throw new Error("the key of a worker that has ended is still good");
    await stay(LOOK_MS);
  }
}
