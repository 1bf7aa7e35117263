/** The emulator's machine below a server: stand-ins do jobs, and faults happen as they were asked for. */
import { expect, test } from "vitest";
import { endWith } from "../../../tests/fleet-world.ts";
import { idle } from "../../../tests/idle.ts";
import { setup, type World } from "../../../tests/world.ts";
import { gpuTypeIds } from "../../catalog/compute.ts";
import { realRandom } from "../../kernel/random.ts";
import { EmulatedCompute } from "./emulated-compute.ts";
import { Faults, type FaultTerms } from "./faults.ts";

const A40 = "NVIDIA A40";
const PATIENCE_S = 200;

async function setupEmulator(more: object = {}) {
  const faults = new Faults(realRandom);
  const world: World = await setup({ compute: (clock) => new EmulatedCompute(clock, faults, gpuTypeIds()) });
  const body = { name: "emulated", image: "team/resnet:1", gpu: { id: A40, count: 1 }, ...more };
  const { id } = (await world.call("POST", "/v2/serverless", { body })).json;
  const status = async (job: string) => (await world.call("GET", `/v2/${id}/status/${job}`)).json;
  return {
    world,
    endpoint: id as string,
    faults,
    ask: (terms: FaultTerms) => faults.add(terms),
    status,
    submit: async (input: object) => (await world.call("POST", `/v2/${id}/run`, { body: { input } })).json.id as string,
    /** Lets time pass until the job is as expected. */
    async until(job: string, fits: (record: { status: string; waitReason?: string }) => boolean) {
      for (let s = 0; s < PATIENCE_S; s++) {
        const record = await status(job);
        if (fits(record)) return record;
        await world.clock.advance(1000);
        await idle();
      }
      throw new Error(`the job is not as expected: ${JSON.stringify(await status(job))}`);
    },
    [Symbol.asyncDispose]: () => endWith(world),
  };
}

const isOver = ({ status }: { status: string }) => !["IN_QUEUE", "IN_PROGRESS"].includes(status);

test("a stand-in returns the input of a job, or what the input asks for", async () => {
  await using at = await setupEmulator();
  const result = async (input: object) => at.until(await at.submit(input), isOver);
  expect(await result({ prompt: "hello" })).toMatchObject({ status: "COMPLETED", output: { prompt: "hello" } });
  expect(await result({ mock_return: [1, 2] })).toMatchObject({ status: "COMPLETED", output: [1, 2] });
  expect(await result({ mock_error: "out of paper" })).toMatchObject({ status: "FAILED", error: "out of paper" });
});

test("a job that takes long takes the emulator's time, and its worker stays known meanwhile", async () => {
  await using at = await setupEmulator();
  const job = await at.submit({ mock_delay: 120 });
  const record = await at.until(job, isOver);
  expect(record).toMatchObject({ status: "COMPLETED" });
  expect(record.executionTime).toBeGreaterThanOrEqual(120_000);
  expect(record.retries).toBeUndefined();
});

test("a worker that crashes once costs an attempt, and the job is done by another one", async () => {
  await using at = await setupEmulator();
  at.ask({ kind: "worker-crash", exitCode: 9, times: 1, endpointId: at.endpoint });
  const record = await at.until(await at.submit({}), isOver);
  expect(record).toMatchObject({ status: "COMPLETED", retries: 1 });
  expect(at.faults.list()).toEqual([]);
});

test("a crash at each start is a crash loop, with its reason", async () => {
  await using at = await setupEmulator();
  at.ask({ kind: "worker-crash", at: "start", exitCode: 3 });
  const { waitReason } = await at.until(
    await at.submit({}),
    ({ waitReason }) => !!waitReason?.startsWith("crash loop"),
  );
  expect(waitReason).toContain(
    "exit 3, last lines: stand-in worker of the emulator | the emulator was asked for a crash",
  );
});

test("without capacity jobs wait and say so; when the fault is removed they are done", async () => {
  await using at = await setupEmulator();
  const { id } = at.ask({ kind: "no-capacity", gpuTypeId: A40 });
  await at.world.clock.advance(10_000);
  const job = await at.submit({});
  const waiting = await at.until(job, ({ waitReason }) => !!waitReason?.startsWith("no capacity"));
  expect(waiting.waitReason).toContain(A40);
  at.faults.remove(id);
  expect(await at.until(job, isOver)).toMatchObject({ status: "COMPLETED" });
});

test("a slow pull keeps a job waiting for as long as it takes", async () => {
  await using at = await setupEmulator();
  at.ask({ kind: "slow-pull", seconds: 60 });
  const job = await at.submit({});
  const waiting = await at.until(job, ({ waitReason }) => !!waitReason?.startsWith("pulling image"));
  expect(waiting.waitReason).toContain("team/resnet:1");
  const { delayTime } = await at.until(job, isOver);
  expect(delayTime).toBeGreaterThanOrEqual(60_000);
});

test("a worker of a load-balancing endpoint answers with what it was asked", async () => {
  await using at = await setupEmulator({ type: "LOAD_BALANCER", workers: { min: 1, max: 1 }, env: { PORT: "80" } });
  const asking = at.world.call("POST", `/v2/${at.endpoint}/some/path?a=1`, { body: { b: 2 } });
  for (let s = 0; s < 20; s++) {
    await at.world.clock.advance(1000);
    await idle();
  }
  expect(JSON.parse((await asking).text)).toMatchObject({ method: "POST", path: "/some/path?a=1", body: '{"b":2}' });
});
