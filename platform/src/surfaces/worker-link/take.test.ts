/** How workers get jobs: one or many, at once or after a wait, and never on a connection that is gone. */
import { describe, expect, test } from "vitest";
import { idle } from "../../../tests/idle.ts";
import { HOLD_STOP_MS, HOLD_TAKE_MS, setupJobs, type TestWorker } from "../../../tests/job-world.ts";

const take = (worker: TestWorker, signal?: AbortSignal) => worker.ask("GET job-take", { signal });
const batch = (worker: TestWorker, size: number | string) =>
  worker.ask("GET job-take-batch", { query: `&batch_size=${size}` });
const idsIn = (jobs: { id: string }[]) => jobs.map(({ id }) => id);

describe("job-take", () => {
  test("gives one job as an object with id and input, as JSON with a length", async () => {
    await using world = await setupJobs();
    const id = await world.submit({ a: 1 }, { webhook: "https://hook.test/x", extra: [1] });
    const { status, headers, json } = await take(await world.worker());
    expect([status, json]).toEqual([200, { id, input: { a: 1 }, webhook: "https://hook.test/x", extra: [1] }]);
    expect(headers.get("content-type")).toMatch(/^application\/json/);
    expect(Number(headers.get("content-length"))).toBeGreaterThan(0);
  });

  test("is held while there is nothing, and answered by the next job", async () => {
    await using world = await setupJobs();
    const answer = take(await world.worker());
    await world.clock.armed(HOLD_TAKE_MS);
    await world.clock.advance(HOLD_TAKE_MS - 1);
    const id = await world.submit();
    expect((await answer).json.id).toBe(id);
  });

  test("is let go with 204 and nothing after 20 seconds", async () => {
    await using world = await setupJobs();
    const answer = take(await world.worker());
    await world.clock.armed(HOLD_TAKE_MS);
    await world.clock.advance(HOLD_TAKE_MS);
    const { status, text } = await answer;
    expect([status, text]).toEqual([204, ""]);
  });

  test("an idle worker asks fewer than ten times a minute", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    let asked = 0;
    for (let elapsed = 0; elapsed < 60_000; elapsed += HOLD_TAKE_MS) {
      const answer = take(worker);
      asked++;
      await world.clock.armed(HOLD_TAKE_MS);
      await world.clock.advance(HOLD_TAKE_MS);
      expect((await answer).status).toBe(204);
    }
    expect(asked).toBeLessThan(10);
  });

  test("several that wait are served in the order in which they came, each with one job", async () => {
    await using world = await setupJobs();
    const answers: ReturnType<typeof take>[] = [];
    for (let i = 1; i <= 3; i++) {
      answers.push(take(await world.worker()));
      await world.clock.armed(HOLD_TAKE_MS, i);
    }
    const jobs = [await world.submit(), await world.submit(), await world.submit()];
    expect(idsIn((await Promise.all(answers)).map(({ json }) => json))).toEqual(jobs);
  });

  test("a job is never given to a closed connection: the next one who asks gets it", async () => {
    await using world = await setupJobs();
    const hangUp = new AbortController();
    const lost = take(await world.worker(), hangUp.signal);
    await world.clock.armed(HOLD_TAKE_MS);
    hangUp.abort();
    await expect(lost).rejects.toThrow("aborted");
    await world.clock.disarmed(HOLD_TAKE_MS);
    const id = await world.submit();
    expect((await world.status(id)).status).toBe("IN_QUEUE");
    const { json } = await take(await world.worker());
    expect(json.id).toBe(id);
    expect(await world.status(id)).not.toHaveProperty("retries");
  });

  test("a job taken in the moment in which the worker hangs up goes back as if it had not been taken", async () => {
    await using world = await setupJobs();
    const hangUp = new AbortController();
    const claim = world.queue.claim.bind(world.queue);
    const { promise: claiming, resolve: begun } = Promise.withResolvers<void>();
    const { promise: gone, resolve: go } = Promise.withResolvers<void>();
    world.queue.claim = async (ask) => {
      const claimed = await claim(ask);
      begun();
      await gone;
      return claimed;
    };
    const id = await world.submit();
    const lost = take(await world.worker(), hangUp.signal);
    await claiming;
    world.queue.claim = claim;
    const next = take(await world.worker());
    await world.clock.armed(HOLD_TAKE_MS);
    const closed = new Promise((resolve) => world.app.http.server.once("connection", resolve));
    hangUp.abort();
    await expect(lost).rejects.toThrow("aborted");
    // When the server has answered on a new connection, it has noticed that the first one is gone.
    const other = await fetch(`${world.url}/v2/openapi.json`, { headers: { connection: "close" } });
    await Promise.all([closed, other.text()]);
    await idle();
    go();
    expect((await next).json.id).toBe(id);
    expect(await world.status(id)).toMatchObject({ status: "IN_PROGRESS" });
    expect((await world.invoke("GET", "/health")).json.jobs.retried).toBe(0);
  });

  test("a worker gets jobs of its own endpoint only", async () => {
    await using world = await setupJobs();
    const body = { name: "other", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    const other = (await world.call("POST", "/v2/serverless", { body })).json.id;
    await world.call("POST", `/v2/${other}/run`, { body: { input: {} } });
    const answer = take(await world.worker());
    await world.clock.armed(HOLD_TAKE_MS);
    const mine = await world.submit();
    expect((await answer).json.id).toBe(mine);
  });

  test("a server that closes lets every worker go with 204", async () => {
    const world = await setupJobs();
    const worker = await world.worker();
    const answers = [take(worker), worker.ask("GET job-stop")];
    await Promise.all([world.clock.armed(HOLD_TAKE_MS), world.clock.armed(HOLD_STOP_MS)]);
    await world[Symbol.asyncDispose]();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([204, 204]);
  });

  test("HEAD takes nothing", async () => {
    await using world = await setupJobs();
    const id = await world.submit();
    const { key } = await world.worker();
    await world.invoke("HEAD", "/job-take/w1?gpu=none", { key });
    expect((await world.status(id)).status).toBe("IN_QUEUE");
  });
});

describe("job-take-batch", () => {
  test("gives a list of up to batch_size jobs, oldest first", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const jobs = [await world.submit(), await world.submit(), await world.submit()];
    expect(idsIn((await batch(worker, 2)).json)).toEqual(jobs.slice(0, 2));
    expect(idsIn((await batch(worker, 30)).json)).toEqual(jobs.slice(2));
  });

  test("gives a list also for one job", async () => {
    await using world = await setupJobs();
    const id = await world.submit();
    expect(idsIn((await batch(await world.worker(), 1)).json)).toEqual([id]);
  });

  test("is held like a single take, and let go with 204", async () => {
    await using world = await setupJobs();
    const answer = batch(await world.worker(), 5);
    await world.clock.armed(HOLD_TAKE_MS);
    await world.clock.advance(HOLD_TAKE_MS);
    expect((await answer).status).toBe(204);
  });

  test.each([["0"], ["-3"], ["many"], [""]])("batch_size=%s is read as one", async (size) => {
    await using world = await setupJobs();
    const jobs = [await world.submit(), await world.submit()];
    expect(idsIn((await batch(await world.worker(), size)).json)).toEqual(jobs.slice(0, 1));
  });

  test("one who asks for many leaves others that wait their share", async () => {
    await using world = await setupJobs();
    const waiting = [batch(await world.worker(), 30), batch(await world.worker(), 30)];
    await world.clock.armed(HOLD_TAKE_MS, 2);
    const policy = { ttlMs: 1e6, executionTimeoutMs: 1e6, retentionMs: 1e6, errorRetries: 0, lowPriority: false };
    const createdAt = world.clock.now();
    const jobs = Array.from({ length: 10 }, (_, i) => ({ id: `j${i}`, endpoint: world.endpoint, policy, createdAt }));
    await world.queue.enqueue(jobs.map((job) => ({ ...job, body: '{"input":{}}' })));
    world.signals.emit(`work:${world.endpoint}`, jobs.length);
    const sizes = (await Promise.all(waiting)).map(({ json }) => json.length);
    expect(sizes).toEqual([5, expect.any(Number)]);
    expect(sizes[1]).toBeGreaterThan(0);
  });

  test("large jobs stand in one list with small ones", async () => {
    await using world = await setupJobs();
    const jobs = [await world.submit({ t: "x".repeat(300_000) }), await world.submit({ t: "y" })];
    const { json } = await batch(await world.worker(), 2);
    expect(json.map(({ id, input }: { id: string; input: { t: string } }) => [id, input.t.length])).toEqual([
      [jobs[0], 300_000],
      [jobs[1], 1],
    ]);
  });
});

describe("URLs as workers make them", () => {
  test.each([
    ["/job-take/w1&job_in_progress=0"],
    ["/job-take/w1?gpu=NVIDIA+L4&job_in_progress=1"],
    ["//job-take/w1?gpu=none"],
    ["/job-take/w1"],
  ])("%s is w1 asking for a job", async (path) => {
    await using world = await setupJobs();
    const { key } = await world.worker();
    const id = await world.submit();
    expect((await world.invoke("GET", path, { key })).json.id).toBe(id);
    expect((await world.status(id)).workerId).toBe("w1");
  });

  test("what follows an & in the path is read as the query", async () => {
    await using world = await setupJobs();
    const { key } = await world.worker();
    const jobs = [await world.submit(), await world.submit()];
    const { json } = await world.invoke("GET", "/job-take-batch/w1&batch_size=2", { key });
    expect(idsIn(json)).toEqual(jobs);
    await world.invoke("POST", `/job-done/w1/${jobs[0]}&isStream=false`, { key, body: { output: 1 } });
    expect((await world.status(jobs[0]!)).status).toBe("COMPLETED");
  });

  test("a key may come as a bearer token or as it is", async () => {
    await using world = await setupJobs();
    const { key } = await world.worker();
    const jobs = [await world.submit(), await world.submit()];
    const headers = { authorization: key };
    const raw = await world.invoke("GET", "/job-take/w1", { key: null, headers });
    const bearer = await world.invoke("GET", "/job-take/w1", { key });
    expect([raw.json.id, bearer.json.id]).toEqual(jobs);
  });
});

test("as many long jobs as fit into memory are given at once, then the others", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const text = "x".repeat(9 * 1024 * 1024);
  const ids: string[] = [];
  for (let i = 0; i < 4; i++) ids.push(await world.submit({ text }));
  ids.push(await world.submit({ text: "short" }));
  const linesTaken = async () =>
    (await worker.ask("POST job-exchange", { query: "&take=1000" })).text.trim().split("\n");
  const first = await linesTaken();
  expect(first.map((line) => /"id":"([^"]*)","attempt":1}$/.exec(line)?.[1])).toEqual(ids.slice(0, 3));
  expect(idsIn((await batch(worker, 1000)).json)).toEqual(ids.slice(3));
});
