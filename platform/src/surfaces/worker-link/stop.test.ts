/** Stopping single jobs: a worker is told at once, told again until it has stopped, and never twice for one ping. */
import { expect, test } from "vitest";
import { HOLD_STOP_MS, setupJobs, type TestWorker } from "../../../tests/job-world.ts";

const stops = (worker: TestWorker, signal?: AbortSignal) => worker.ask("GET job-stop", { signal });

async function running(count = 1) {
  const world = await setupJobs();
  const worker = await world.worker();
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push(await world.begun(worker));
  const cancel = (id: string) => world.invoke("POST", `/cancel/${id}`);
  /** Returns what the next poll is told while it is held. */
  const told = async () => {
    const answer = stops(worker);
    await Promise.race([answer, world.clock.armed(HOLD_STOP_MS)]);
    await world.clock.advance(HOLD_STOP_MS);
    const { status, json } = await answer;
    return status === 204 ? [] : json.jobsToStop;
  };
  return { world, worker, ids, id: ids[0]!, cancel, told, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

test("is held for 25 seconds and let go with 204 while there is nothing to stop", async () => {
  await using at = await running();
  const answer = stops(at.worker);
  await at.world.clock.armed(HOLD_STOP_MS);
  await at.world.clock.advance(HOLD_STOP_MS);
  const { status, text } = await answer;
  expect([status, text]).toEqual([204, ""]);
});

test("a held poll is answered by the cancellation", async () => {
  await using at = await running(2);
  const answer = stops(at.worker);
  await at.world.clock.armed(HOLD_STOP_MS);
  await at.cancel(at.ids[1]!);
  const { status, json } = await answer;
  expect([status, json]).toEqual([200, { jobsToStop: [at.ids[1]] }]);
});

test("a job cancelled between two polls is told by the next", async () => {
  await using at = await running();
  await at.cancel(at.id);
  expect((await stops(at.worker)).json).toEqual({ jobsToStop: [at.id] });
});

test("several are told together", async () => {
  await using at = await running(3);
  for (const id of at.ids) await at.cancel(id);
  expect((await stops(at.worker)).json.jobsToStop.toSorted()).toEqual(at.ids.toSorted());
});

test("is told once for each ping that still lists the job, so that nobody polls in a circle, and no more after that", async () => {
  await using at = await running();
  await at.worker.ping([at.id]);
  await at.cancel(at.id);
  expect(await at.told()).toEqual([at.id]);
  expect(await at.told()).toEqual([]);
  await at.worker.ping([at.id]);
  expect(await at.told()).toEqual([at.id]);
  expect(await at.told()).toEqual([]);
  await at.worker.ping([]);
  expect(await at.told()).toEqual([]);
});

test("a ping that lists a cancelled job wakes the held poll", async () => {
  await using at = await running();
  await at.cancel(at.id);
  await stops(at.worker);
  const answer = stops(at.worker);
  await at.world.clock.armed(HOLD_STOP_MS);
  await at.worker.ping([at.id]);
  expect((await answer).json).toEqual({ jobsToStop: [at.id] });
});

test("a ping whose list is older than the job does not swallow its stop", async () => {
  await using at = await running();
  await at.cancel(at.id);
  await at.worker.ping([]);
  expect((await stops(at.worker)).json).toEqual({ jobsToStop: [at.id] });
});

test("a job that the worker itself has ended is not among them", async () => {
  await using at = await running(2);
  await at.worker.ping(at.ids);
  await at.worker.done(at.ids[0]!, { output: 1 });
  await at.worker.done(at.ids[1]!, { error: "x" });
  expect(await at.told()).toEqual([]);
});

test("only the worker that has the job is told", async () => {
  await using at = await running();
  const other = await at.world.worker();
  await at.world.begun(other);
  const answers = [stops(at.worker), stops(other)];
  await at.world.clock.armed(HOLD_STOP_MS, 2);
  await at.cancel(at.id);
  expect((await answers[0])!.json).toEqual({ jobsToStop: [at.id] });
  await at.world.clock.advance(HOLD_STOP_MS);
  expect((await answers[1])!.status).toBe(204);
});

test("a job that went to another worker is stopped at the first when it shows itself again", async () => {
  await using at = await running();
  await at.world.clock.advance(31_000);
  const other = await at.world.worker();
  expect((await other.take())!.id).toBe(at.id);
  await at.worker.ping([at.id]);
  expect((await stops(at.worker)).json).toEqual({ jobsToStop: [at.id] });
  expect((await at.world.status(at.id)).workerId).toBe(other.id);
});

test("a stopped worker posts nothing, and its next job runs", async () => {
  await using at = await running();
  await at.cancel(at.id);
  await stops(at.worker);
  await at.worker.ping([]);
  const next = await at.world.begun(at.worker);
  await at.worker.done(next, { output: 1 });
  expect((await at.world.status(next)).status).toBe("COMPLETED");
});

test("a poll whose connection goes is forgotten at once", async () => {
  await using at = await running();
  const hangUp = new AbortController();
  const answer = stops(at.worker, hangUp.signal);
  await at.world.clock.armed(HOLD_STOP_MS);
  hangUp.abort();
  await expect(answer).rejects.toThrow("aborted");
  await at.world.clock.disarmed(HOLD_STOP_MS);
  await at.cancel(at.id);
  expect((await stops(at.worker)).json).toEqual({ jobsToStop: [at.id] });
});
