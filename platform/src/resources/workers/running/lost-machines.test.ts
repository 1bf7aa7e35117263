/** Workers on a silent machine: nobody counts on them, and nothing is sent to them. */
import { expect, test } from "vitest";
import { type FleetWorld, setupFleet } from "../../../../tests/fleet-world.ts";
import { setupNodes } from "../../../../tests/node-world.ts";
import { MemorySignals } from "../../../ports/signals/memory-signals.ts";

const SILENT_S = 15;

async function twoNodes(workers: object) {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  const small = { capacity: { vcpu: 2 } };
  const first = await setupFleet({ signals, endpoint: { workers }, machine: { ...small, name: "first" } });
  const second = await setupFleet({
    ...{ signals, store: first.store, found: first, endpoint: first.endpoint },
    machine: { ...small, name: "second" },
  });
  await first.pass(6);
  return { first, second };
}

const listed = async (world: FleetWorld) =>
  (await world.call("GET", `/v2/serverless/${world.endpoint}/workers`)).json as {
    workers: { id: string; status: string; reason: string | null }[];
    summary: object;
  };

test("within 15 s they are UNHEALTHY with the reason and the time, not ready, and a job is told", async () => {
  const { first, second } = await twoNodes({ min: 1, max: 1 });
  const [worker] = first.running();
  await worker!.ping();
  await first.abandon();
  await second.pass(SILENT_S);
  const since = new Date((await second.app.machines.lastSeen("first"))!).toISOString();
  const reason = `on machine first, which has been silent since ${since}`;
  expect((await listed(second)).workers).toMatchObject([{ id: worker!.id, status: "UNHEALTHY", reason }]);
  expect((await second.health()).workers).toMatchObject({ idle: 0, ready: 0, running: 0, unhealthy: 1 });
  expect((await second.call("GET", `/v2/${second.endpoint}/metrics`)).json.readyWorkers).toEqual([]);
  const job = await second.submit();
  expect(await second.status(job)).toMatchObject({
    waitReason: `1 worker ${reason}`,
    waitReasonCode: "machine-silent",
  });
  const v1 = (await second.call("GET", "/v1/pods?includeWorkers=true")).json;
  expect(v1[0].lastStatusChange).toContain(reason);
  await second[Symbol.asyncDispose]();
});

test("where another is allowed it is started at once, and none is sent to the silent machine", async () => {
  const { first, second } = await twoNodes({ min: 1, max: 2 });
  await first.running()[0]!.ping();
  await first.abandon();
  await second.pass(SILENT_S + 1);
  expect(second.running()).toHaveLength(1);
  await second[Symbol.asyncDispose]();
});

test("the balancer sends nothing there", async () => {
  const world = await setupNodes({ workers: { min: 1, max: 1 } });
  await world.pass(6);
  const standing = () => [...world.second.app.balancer.occupations(world.endpoint).values()];
  expect(standing()).toMatchObject([{ ready: true }]);
  await world.first.abandon();
  await world.pass(SILENT_S);
  expect(standing()).toMatchObject([{ ready: false }]);
  await world.second[Symbol.asyncDispose]();
});
