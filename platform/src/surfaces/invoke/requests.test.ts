/** `/requests` and `/metrics` show what an endpoint's jobs and workers are doing. */
import { expect, test, vi } from "vitest";
import { setupJobs } from "../../../tests/job-world.ts";
import { EmbeddedQueue } from "../../ports/queue/embedded-queue.ts";

test("jobs are listed newest first, with their times and without their output", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const first = await world.submit({ n: 1 });
  await worker.take();
  await worker.done(first, { output: "secret output" });
  await world.clock.advance(10);
  const second = await world.submit({ n: 2 });
  const { json, text } = await world.invoke("GET", "/requests");
  expect(json).toMatchObject({ total: 2, offset: 0, limit: 100, hasMore: false });
  expect(json.requests).toMatchObject([
    { id: second, status: "IN_QUEUE", waitReason: expect.any(String) },
    {
      id: first,
      status: "COMPLETED",
      workerId: worker.id,
      createdAt: expect.any(String),
      completedAt: expect.any(String),
    },
  ]);
  expect(text).not.toContain("secret output");
});

test("what the reasons of waiting jobs are made from is read once for all of them", async () => {
  using counts = vi.spyOn(EmbeddedQueue.prototype, "counts");
  await using world = await setupJobs();
  for (let n = 0; n < 5; n++) await world.submit({ n });
  counts.mockClear();
  const { requests } = (await world.invoke("GET", "/requests")).json;
  expect(requests.every((one: { waitReason?: string }) => one.waitReason !== undefined)).toBe(true);
  expect(counts).toHaveBeenCalledTimes(1);
});

test("a job that failed says why, in its first 1,000 characters", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const short = await world.begun(worker);
  await worker.done(short, { error: "out of paper" });
  await world.clock.advance(10);
  const long = await world.begun(worker);
  await worker.done(long, { error: `${"x".repeat(999)}😀${"y".repeat(5000)}`, output: "secret output" });
  await world.clock.advance(10);
  const broken = await world.begun(worker);
  await worker.ask("POST job-done", { job: broken, body: "{" });
  const { json, text } = await world.invoke("GET", "/requests");
  expect(json.requests.map(({ error }: { error: string }) => error)).toEqual([
    "the worker's result is not valid JSON; it begins: {",
    "x".repeat(999),
    "out of paper",
  ]);
  expect(text).not.toContain("secret output");
  expect((await world.status(long)).error).toHaveLength(6001);
});

test("a job says what can be done with it now, in lists alone", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const failed = await world.begun(worker);
  await worker.done(failed, { error: "out of paper" });
  const done = await world.begun(worker);
  await worker.done(done, { output: 1 });
  const running = await world.begun(worker);
  const { requests } = (await world.invoke("GET", "/requests")).json as {
    requests: { id: string; actions: string[] }[];
  };
  expect(Object.fromEntries(requests.map(({ id, actions }) => [id, actions]))).toEqual({
    ...{ [running]: ["cancel"], [done]: [], [failed]: ["retry"] },
  });
  expect(await world.status(failed)).not.toHaveProperty("actions");
});

test("a job that succeeded when it was retried has no error left", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const id = await world.begun(worker);
  await worker.done(id, { error: "out of paper" });
  await world.invoke("POST", `/retry/${id}`);
  const waiting = (await world.invoke("GET", "/requests")).json.requests[0];
  await worker.take();
  await worker.done(id, { output: 1 });
  const [done] = (await world.invoke("GET", "/requests")).json.requests;
  expect([waiting.status, waiting.error, done.status, done.error]).toEqual([
    "IN_QUEUE",
    undefined,
    "COMPLETED",
    undefined,
  ]);
});

test("filters and pages", async () => {
  await using world = await setupJobs();
  const ids = [];
  for (let i = 0; i < 5; i++) {
    ids.push(await world.submit());
    await world.clock.advance(1);
  }
  await world.invoke("POST", `/cancel/${ids[2]}`);
  const cancelled = await world.invoke("GET", "/requests?status=cancelled,FAILED");
  expect(cancelled.json.requests.map(({ id }: { id: string }) => id)).toEqual([ids[2]]);
  const page = await world.invoke("GET", "/requests?limit=2&offset=1");
  expect(page.json).toMatchObject({ total: 5, offset: 1, limit: 2, hasMore: true });
  expect(page.json.requests.map(({ id }: { id: string }) => id)).toEqual([ids[3], ids[2]]);
});

test.each([
  ["?limit=0", "'limit' must be an integer from 1 to 1000"],
  ["?offset=-1", "'offset' must be an integer from 0 to 1000000000"],
  ["?status=DONE", "'status' must be a list of IN_QUEUE, IN_PROGRESS, COMPLETED, FAILED, TIMED_OUT, CANCELLED"],
])("400 for %s", async (query, error) => {
  await using world = await setupJobs();
  const { status, json } = await world.invoke("GET", `/requests${query}`);
  expect([status, json.error]).toEqual([400, error]);
});

test("a list can be narrowed to what one worker has or had", async () => {
  await using world = await setupJobs();
  const [one, other] = [await world.worker(), await world.worker()];
  const done = await world.begun(one);
  await one.done(done, { output: 1 });
  await world.clock.advance(10);
  const running = await world.begun(one);
  await world.begun(other);
  await world.submit();
  const ids = async (query: string) =>
    (await world.invoke("GET", `/requests?${query}`)).json.requests.map(({ id }: { id: string }) => id);
  expect(await ids(`worker=${one.id}`)).toEqual([running, done]);
  expect(await ids(`worker=${one.id}&status=IN_PROGRESS`)).toEqual([running]);
  expect(await ids("worker=nobody")).toEqual([]);
  expect(await ids("worker=")).toHaveLength(4);
});

test("metrics name the workers that are there", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  await worker.ping();
  const { json } = await world.invoke("GET", "/metrics");
  expect(json).toEqual({
    workers: { idle: 1, initializing: 0, ready: 1, running: 0, throttled: 0, unhealthy: 0 },
    staleReports: 0,
    readyWorkers: [worker.id],
  });
});

test("a job's details show its input as it was sent, its terms and its times, and nothing else of the body", async () => {
  await using world = await setupJobs();
  const body = {
    input: { prompt: "hello", seed: 7 },
    webhook: "https://example.com/told",
    policy: { ttl: 60_000, executionTimeout: 5000, retries: 2 },
    s3Config: { accessId: "id", accessSecret: "very secret", bucketName: "b" },
  };
  const { json: submitted } = await world.invoke("POST", "/run", { body });
  const { status, json, text } = await world.invoke("GET", `/requests/${submitted.id}`);
  expect(status).toBe(200);
  expect(json).toMatchObject({
    id: submitted.id,
    status: "IN_QUEUE",
    waitReason: expect.any(String),
    actions: ["cancel"],
    attempts: 0,
    queuedAt: json.createdAt,
    policy: { ttl: 60_000, executionTimeout: 5000, retries: 2, lowPriority: false },
    webhooks: ["https://example.com/told"],
    input: body.input,
  });
  expect(Date.parse(json.endsBy)).toBe(Date.parse(json.createdAt) + 60_000);
  expect(text).not.toContain("secret");
  expect(text).not.toContain("s3Config");
});

test("numbers that no parser keeps are in the details as they were sent", async () => {
  await using world = await setupJobs();
  const { json } = await world.invoke("POST", "/run", { body: '{"input":{"n":12345678901234567890}}' });
  expect((await world.invoke("GET", `/requests/${json.id}`)).text).toContain('"input":{"n":12345678901234567890}}');
});

test("details count the runs, say why the last one was lost, and until when an ended job is kept", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const { json } = await world.invoke("POST", "/run", { body: { input: {}, policy: { retries: 1 } } });
  const read = async () => (await world.invoke("GET", `/requests/${json.id}`)).json;
  await worker.take();
  await world.clock.advance(10);
  await worker.done(json.id, { error: "out of paper" });
  expect(await read()).toMatchObject({ status: "IN_QUEUE", attempts: 1, retries: 1 });
  await worker.take();
  await worker.done(json.id, { output: 1 });
  const ended = await read();
  expect(ended).toMatchObject({ status: "COMPLETED", attempts: 2, keptUntil: expect.any(String), actions: [] });
  expect(ended).not.toHaveProperty("endsBy");
  expect(Date.parse(ended.queuedAt)).toBeGreaterThan(Date.parse(ended.createdAt));
});

test("the details of an unknown job, or of another endpoint's, are not found", async () => {
  await using world = await setupJobs();
  const { status, json } = await world.invoke("GET", "/requests/0199f3a2-7c1e-7b40-9d51-3f6c2a8be0d4-u1");
  expect([status, json.error ?? json.detail]).toEqual([404, expect.stringContaining("job not found")]);
});
