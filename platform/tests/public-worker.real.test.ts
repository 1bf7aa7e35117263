/** A worker that sends exactly what the public Python worker package sends, started by the server for its jobs. */
import { expect, test } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { isOver, LOOK_MS, type Place, place, type ServerPlaceOptions, submit } from "./worker-place.ts";

/** The tests run at the same time: each spends most of its time waiting for a server of its own. */
const publicPlace = (onFailure: ServerPlaceOptions["onFailure"]) => place({ worker: "public", onFailure });

const runsync = async (at: Place, endpoint: string, input: object) =>
  (await at.call("POST", `/v2/${endpoint}/runsync?wait=60000`, { input })).json;

/** Follows a worker's log until a line contains the text. The test's own time limit ends the wait. */
async function logged(at: Place, endpoint: string, worker: string, text: string): Promise<void> {
  const url = `${at.server.url}/v2/serverless/${endpoint}/workers/${worker}/logs?tail=5000`;
  const following = await fetch(url, { headers: { authorization: `Bearer ${at.key}` } });
  let seen = "";
  for await (const part of following.body!.pipeThrough(new TextDecoderStream())) {
    seen += part;
    if (seen.includes(text)) return;
  }
  throw new Error(`the log ended without ${text}`);
}

test.concurrent("a job from zero workers is run, and its record says where and how long", async ({ onTestFailed }) => {
  await using at = await publicPlace(onTestFailed);
  const endpoint = await at.endpoint();
  const mock_return = { text: "grün ✓", list: [1, null, { deep: true }] };
  const job = await submit(at, endpoint, { mock_return, mock_delay: 0.2 });
  const record = await at.until(endpoint, job, isOver);
  expect(record).toMatchObject({ id: job, status: "COMPLETED", output: mock_return, workerId: expect.any(String) });
  expect(record.executionTime).toBeGreaterThanOrEqual(200);
  expect(record.delayTime).toBeGreaterThan(0);
  await logged(at, endpoint, record.workerId, "Finished.");
});

test.concurrent("runsync answers with what the handler returned: an object, an empty one, a text, nothing", async ({
  onTestFailed,
}) => {
  await using at = await publicPlace(onTestFailed);
  const endpoint = await at.endpoint();
  const returned = async (mock_return: unknown) => (await runsync(at, endpoint, { mock_return })).output;
  expect(await returned({ a: 1 })).toEqual({ a: 1 });
  expect(await returned("text")).toBe("text");
  expect(await returned(0)).toBe(0);
  expect(await runsync(at, endpoint, { mock_return: {} })).toMatchObject({ status: "COMPLETED" });
  // An empty input must reach the worker too: without one, the package drops the job.
  expect(await runsync(at, endpoint, {})).toMatchObject({ status: "COMPLETED" });
});

test.concurrent("a generator's values are streamed as they come, and kept as the output only where the worker gathers them", async ({
  onTestFailed,
}) => {
  await using at = await publicPlace(onTestFailed);
  const mock_return = ["a", { b: 1 }, ["c"]];
  const plain = await at.endpoint({}, "--generator");
  const job = await submit(at, plain, { mock_return, mock_delay: 0.1 });
  expect(await streamed(at, plain, job)).toEqual(mock_return);
  expect(await at.until(plain, job, isOver)).toMatchObject({ status: "COMPLETED", output: [] });
  const gathering = await at.endpoint({ name: "gathering" }, "--generator", "--return_aggregate_stream");
  expect(await runsync(at, gathering, { mock_return })).toMatchObject({ status: "COMPLETED", output: mock_return });
});

async function streamed(at: Place, endpoint: string, job: string): Promise<unknown[]> {
  const outputs: unknown[] = [];
  for (;;) {
    const { status, stream } = (await at.call("GET", `/v2/${endpoint}/stream/${job}?format=object`)).json;
    outputs.push(...stream.map(({ output }: { output: unknown }) => output));
    if (stream.length === 0 && isOver({ status })) return outputs;
  }
}

test.concurrent("progress is seen while the job runs, and late progress does not reopen it", async ({
  onTestFailed,
}) => {
  await using at = await publicPlace(onTestFailed);
  const endpoint = await at.endpoint();
  const mock_progress = { updates: ["half way"], wait_time: 1 };
  const job = await submit(at, endpoint, { mock_progress, mock_return: "done", mock_late_progress: "too late" });
  const running = await at.until(endpoint, job, ({ output }) => output !== undefined);
  expect(running).toMatchObject({ status: "IN_PROGRESS", output: "half way" });
  const { workerId } = await at.until(endpoint, job, isOver);
  await runsync(at, endpoint, { mock_delay: 1 });
  const ended = { status: "COMPLETED", output: "done", workerId };
  expect(await at.until(endpoint, job, () => true)).toMatchObject(ended);
});

test.concurrent("what a handler raises or returns as an error fails the job with it", async ({ onTestFailed }) => {
  await using at = await publicPlace(onTestFailed);
  const endpoint = await at.endpoint();
  const raised = await runsync(at, endpoint, { mock_error: "out of paper" });
  expect(raised.status).toBe("FAILED");
  expect(JSON.parse(raised.error)).toMatchObject({ error_message: "out of paper", worker_id: raised.workerId });
  const returned = await runsync(at, endpoint, { mock_return: { error: "no such model", tried: 2 } });
  expect(returned).toMatchObject({ status: "FAILED", error: "no such model", output: { tried: 2 } });
  const object = await runsync(at, endpoint, { mock_return: { error: { code: 7 } } });
  expect(object).toMatchObject({ status: "FAILED", error: '{"code":7}' });
});

test.concurrent("a generator that raises, or yields an error, fails its job; what it streamed before stays", async ({
  onTestFailed,
}) => {
  await using at = await publicPlace(onTestFailed);
  const endpoint = await at.endpoint({}, "--generator");
  const job = await submit(at, endpoint, { mock_return: ["a"], mock_error: "out of ink" });
  expect(await at.until(endpoint, job, isOver)).toMatchObject({
    status: "FAILED",
    error: expect.stringContaining("handler: out of ink"),
  });
  expect(await streamed(at, endpoint, job)).toEqual(["a"]);
  const yielded = await runsync(at, endpoint, { mock_return: ["a", { error: "torn" }, "b"] });
  expect(yielded).toMatchObject({ status: "FAILED", error: "torn" });
});

test.concurrent("a cancelled job ends at once for the client, is stopped in the worker, and the worker goes on", async ({
  onTestFailed,
}) => {
  await using at = await publicPlace(onTestFailed);
  const endpoint = await at.endpoint();
  const job = await submit(at, endpoint, { mock_delay: 600 });
  const { workerId } = await at.until(endpoint, job, ({ status }) => status === "IN_PROGRESS");
  const cancelled = await at.call("POST", `/v2/${endpoint}/cancel/${job}`);
  expect(cancelled.json).toMatchObject({ id: job, status: "CANCELLED" });
  await logged(at, endpoint, workerId, "Job stopped.");
  expect(await runsync(at, endpoint, { mock_return: 1 })).toMatchObject({ status: "COMPLETED", workerId });
});

test.concurrent("a cancelled job that holds its worker up ends with the worker, and another one goes on", async ({
  onTestFailed,
}) => {
  await using at = await publicPlace(onTestFailed);
  const endpoint = await at.endpoint({ workers: { max: 1 } });
  const job = await submit(at, endpoint, { mock_delay: 600, mock_block: true });
  const { workerId } = await at.until(endpoint, job, ({ status }) => status === "IN_PROGRESS");
  await at.call("POST", `/v2/${endpoint}/cancel/${job}`);
  const next = await runsync(at, endpoint, { mock_return: 1 });
  expect(next).toMatchObject({ status: "COMPLETED" });
  expect(next.workerId).not.toBe(workerId);
});

test.concurrent("a result that asks for a fresh worker is kept, and the next job runs in another process", async ({
  onTestFailed,
}) => {
  await using at = await publicPlace(onTestFailed);
  const endpoint = await at.endpoint({ workers: { max: 1 } });
  const first = await runsync(at, endpoint, { mock_refresh: true, mock_return: 1 });
  expect(first).toMatchObject({ status: "COMPLETED", output: { answer: 1 } });
  const [before] = await at.workers();
  expect(await runsync(at, endpoint, { mock_return: 2 })).toMatchObject({ status: "COMPLETED", output: 2 });
  expect(await at.workers()).not.toContain(before);
});

test.concurrent("a worker that leaves after every job loses none", async ({ onTestFailed }) => {
  await using at = await publicPlace(onTestFailed);
  const endpoint = await at.endpoint({ workers: { max: 2 } }, "--refresh_worker");
  const jobs = await Promise.all([1, 2, 3].map((mock_return) => submit(at, endpoint, { mock_return })));
  const ended = await Promise.all(jobs.map((job) => at.until(endpoint, job, isOver)));
  expect(ended.map(({ status, output }) => [status, output])).toEqual([1, 2, 3].map((output) => ["COMPLETED", output]));
  expect(new Set(ended.map(({ workerId }) => workerId)).size).toBeGreaterThan(1);
});

test.concurrent("a concurrent worker takes several jobs at once and runs them side by side", async ({
  onTestFailed,
}) => {
  await using at = await publicPlace(onTestFailed);
  const endpoint = await at.endpoint({
    workers: { max: 1 },
    env: { CONCURRENCY_MODIFIER: "3", RUNPOD_PING_INTERVAL: "1000" },
  });
  const jobs = await Promise.all([1, 2, 3].map((mock_return) => submit(at, endpoint, { mock_return, mock_delay: 4 })));
  const records = await Promise.all(jobs.map((job) => at.until(endpoint, job, ({ status }) => status !== "IN_QUEUE")));
  expect(records.map(({ status }) => status)).toEqual(["IN_PROGRESS", "IN_PROGRESS", "IN_PROGRESS"]);
  await logged(at, endpoint, records[0].workerId, "Took 3 jobs at once.");
  // The jobs last longer than the interval of pings. Pings name all three, so none counts as lost.
  const ended = await Promise.all(jobs.map((job) => at.until(endpoint, job, isOver)));
  expect(ended.map(({ status, output }) => [status, output])).toEqual([1, 2, 3].map((output) => ["COMPLETED", output]));
  expect((await at.call("GET", `/v2/${endpoint}/health`)).json.jobs).toMatchObject({ completed: 3, retried: 0 });
});

test.concurrent("a result that comes after kill -9 of the server and its restart is taken", async ({
  onTestFailed,
}) => {
  await using at = await publicPlace(onTestFailed);
  const endpoint = await at.endpoint();
  const job = await submit(at, endpoint, { mock_return: "kept", mock_delay: 8 });
  const { workerId } = await at.until(endpoint, job, ({ status }) => status === "IN_PROGRESS");
  await at.restart("SIGKILL");
  expect(await at.until(endpoint, job, isOver)).toMatchObject({ status: "COMPLETED", output: "kept", workerId });
});

test.concurrent("workers leave when nothing is to do, and the next job starts one again", async ({ onTestFailed }) => {
  await using at = await publicPlace(onTestFailed);
  const endpoint = await at.endpoint({ workers: { max: 1, idleTimeout: 1 } });
  await runsync(at, endpoint, { mock_return: 1 });
  expect(await at.workers()).toHaveLength(1);
  while ((await at.workers()).length > 0) await stay(LOOK_MS);
  const second = await runsync(at, endpoint, { mock_return: 2 });
  expect(second).toMatchObject({ status: "COMPLETED", output: 2 });
});
