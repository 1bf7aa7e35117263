/** Requests that wait for a job: answered when it ends or when the wait is over, and dropped when the client hangs up. */
import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { idle } from "../../../tests/idle.ts";
import { type JobWorld, setupJobs } from "../../../tests/job-world.ts";
import { problem } from "../../kernel/problem.ts";

const STANDARD_WAIT_MS = 90_000;
const EARLY_MS = 100;
const body = { input: { a: 1 } };
const wrongWaits = ["999", "300001", "0", "-1000", "1500.5", "soon", "", "1e4"];

const runSync = (world: JobWorld, query = "", options = {}) =>
  world.invoke("POST", `/runsync${query}`, { body, ...options });

/** Sends a /runsync whose answer is read as it arrives. */
function openRunSync(world: JobWorld, query = ""): Promise<Response> {
  const headers = { authorization: world.key };
  return fetch(`${world.url}/v2/${world.endpoint}/runsync${query}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
}

describe("/runsync", () => {
  test.each([
    ["", STANDARD_WAIT_MS],
    ["?wait=1000", 1000],
    ["?wait=300000", 300_000],
  ])("%s: the wait ends first, and the record says how far the job is and why", async (query, waitMs) => {
    await using world = await setupJobs();
    const answer = runSync(world, query);
    await world.clock.armed(EARLY_MS);
    await world.clock.advance(waitMs);
    const { status, json } = await answer;
    expect([status, json]).toEqual([
      200,
      {
        id: expect.stringMatching(/^sync-/),
        status: "IN_QUEUE",
        waitReason: "no worker is connected (1 job in the queue)",
        waitReasonCode: "no-worker",
      },
    ]);
  });

  test("the job goes on after the wait, and its result is read from /status", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const answer = runSync(world, "?wait=1000");
    const job = await worker.take();
    await world.clock.advance(1000);
    expect((await answer).json).toMatchObject({ id: job!.id, status: "IN_PROGRESS", workerId: worker.id });
    await worker.done(job!.id, { output: 7 });
    expect(await world.status(job!.id)).toMatchObject({ status: "COMPLETED", output: 7 });
  });

  test.each([
    [{ error: "no such model" }, { status: "FAILED", error: "no such model" }],
    [
      { output: 1, error: "half done" },
      { status: "FAILED", output: 1, error: "half done" },
    ],
    [{ output: null }, { status: "COMPLETED" }],
  ])("a worker's %j ends the wait at once", async (result, expected) => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const answer = runSync(world);
    const job = await worker.take();
    await worker.done(job!.id, result);
    const { status, json } = await answer;
    expect([status, json]).toEqual([
      200,
      { id: job!.id, ...expected, delayTime: 0, executionTime: 0, workerId: worker.id },
    ]);
  });

  test.each([
    ["cancelled", (world: JobWorld, id: string) => world.invoke("POST", `/cancel/${id}`)],
    ["purged", (world: JobWorld) => world.invoke("POST", "/purge-queue")],
    ["deleted with its endpoint", (world: JobWorld) => world.call("DELETE", `/v2/serverless/${world.endpoint}`)],
  ])("a job that is %s meanwhile answers 200 CANCELLED at once", async (_how, end) => {
    await using world = await setupJobs();
    const answer = await Promise.all([
      openRunSync(world),
      world.clock.armed(EARLY_MS).then(() => world.clock.advance(EARLY_MS)),
    ]);
    const id = answer[0].headers.get("x-job-id")!;
    await end(world, id);
    expect([answer[0].status, await answer[0].json()]).toEqual([200, { id, status: "CANCELLED" }]);
  });

  test("a job that times out meanwhile is told as TIMED_OUT with its reason", async () => {
    await using world = await setupJobs();
    const answer = world.invoke("POST", "/runsync", { body: { ...body, policy: { ttl: 10_000 } } });
    await world.clock.armed(STANDARD_WAIT_MS);
    await world.clock.advance(11_000);
    expect((await answer).json).toMatchObject({ status: "TIMED_OUT", error: expect.stringContaining("time to live") });
  });

  test("its id is in X-Job-Id, also when the answer comes at once", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const answer = runSync(world);
    const job = await worker.take();
    await worker.done(job!.id, { output: 1 });
    expect((await answer).headers.get("x-job-id")).toBe(job!.id);
  });

  test("a client that waits learns the id after 100 ms, long before the end, and then the whole record", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const opened = openRunSync(world);
    const job = await worker.take();
    await world.clock.armed(EARLY_MS);
    await world.clock.advance(EARLY_MS);
    const response = await opened;
    expect([response.status, response.headers.get("x-job-id")]).toEqual([200, job!.id]);
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    await worker.done(job!.id, { output: { b: 2 } });
    expect(await response.json()).toMatchObject({ id: job!.id, status: "COMPLETED", output: { b: 2 } });
  });

  test("nothing is answered before the job is durable, and a full disk can still be told", async () => {
    await using world = await setupJobs();
    const { promise: flushed, reject: fail } = Promise.withResolvers<never>();
    const { promise: asked, resolve: asking } = Promise.withResolvers<void>();
    world.queue.enqueue = () => {
      asking();
      return flushed;
    };
    let answered = false;
    const opened = openRunSync(world).finally(() => {
      answered = true;
    });
    await asked;
    await world.clock.advance(10_000);
    expect(answered).toBe(false);
    fail(problem("unavailable", "The data folder could not be written: no space left"));
    const response = await opened;
    expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([
      503,
      "The data folder could not be written: no space left",
    ]);
  });
});

describe("/status-sync", () => {
  test.each([["GET"], ["POST"]])("by %s: answers with the end of the job", async (method) => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const id = await world.begun(worker);
    const answer = world.invoke(method, `/status-sync/${id}?wait=5000`);
    await world.clock.armed(5000);
    await worker.done(id, { output: 1 });
    const { status, json, headers } = await answer;
    expect([status, json.status, json.output, headers.get("x-job-id")]).toEqual([200, "COMPLETED", 1, id]);
  });

  test("of a job that has ended: at once", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const id = await world.begun(worker);
    await worker.done(id, { error: "x" });
    expect((await world.invoke("GET", `/status-sync/${id}`)).json).toMatchObject({ status: "FAILED", error: "x" });
  });

  test("the wait ends first: the record as it is", async () => {
    await using world = await setupJobs();
    const id = await world.submit();
    const answer = world.invoke("GET", `/status-sync/${id}`);
    await world.clock.armed(STANDARD_WAIT_MS);
    await world.clock.advance(STANDARD_WAIT_MS);
    expect((await answer).json).toMatchObject({ id, status: "IN_QUEUE", waitReason: expect.any(String) });
  });

  test("many may wait for one job, and all are told", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const id = await world.begun(worker);
    const answers = Array.from({ length: 20 }, () => world.invoke("GET", `/status-sync/${id}?wait=7000`));
    await world.clock.armed(7000, 20);
    await worker.done(id, { output: 1 });
    const states = (await Promise.all(answers)).map(({ json }) => json.status);
    expect(new Set(states)).toEqual(new Set(["COMPLETED"]));
  });
});

test.each(["/runsync", "/status-sync/JOB"].flatMap((path) => wrongWaits.map((wait) => [path, wait] as const)))(
  "%s?wait=%s is 400, and the text says the range",
  async (path, wait) => {
    await using world = await setupJobs();
    const id = await world.submit();
    const { status, json } = await world.invoke("POST", `${path.replace("JOB", id)}?wait=${wait}`, { body });
    const text = "'wait' must be an integer from 1000 to 300000 (milliseconds)";
    expect([status, json]).toEqual([400, { error: text, message: text }]);
    expect((await world.invoke("GET", "/health")).json.jobs.inQueue).toBe(1);
  },
);

describe("nobody is kept waiting for nothing:", () => {
  test("a client that hangs up is forgotten at once, and its job goes on", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const hangUp = new AbortController();
    const answer = runSync(world, "", { signal: hangUp.signal });
    await world.clock.armed(STANDARD_WAIT_MS);
    expect(world.app.engine.waiters.size).toBe(1);
    hangUp.abort();
    await expect(answer).rejects.toThrow("aborted");
    await world.clock.disarmed(STANDARD_WAIT_MS);
    expect(world.app.engine.waiters.size).toBe(0);
    const job = await worker.take();
    await worker.done(job!.id, { output: 1 });
    expect((await world.status(job!.id)).status).toBe("COMPLETED");
  });

  test("2,000 waiting requests are all answered, and leave no timer, waiter or listener behind", async () => {
    await using world = await setupJobs();
    const timers = world.clock.waiting;
    const listeners = world.signals.topics;
    const count = 2000;
    const answers: Promise<string>[] = [];
    // On a busy machine the server would hang up on connections that bring no request for seconds. So they come a few at a time.
    while (answers.length < count) {
      for (let some = 0; some < 200; some++) answers.push(bareRunSync(world));
      // A request that does not wait would otherwise be waited for until the test is over, without a reason.
      const early = Promise.race(answers).then((text) => ({ answered: text }));
      expect(await Promise.race([world.clock.armed(STANDARD_WAIT_MS, answers.length), early])).toBeUndefined();
    }
    expect(world.app.engine.waiters.size).toBe(count);
    const worker = await world.worker();
    for (let left = count; left > 0; ) {
      const { json } = await worker.ask("GET job-take-batch", { query: "&batch_size=500" });
      const lines = json.map(
        ({ id, input }: { id: string; input: object }) => `${id} 1 ${JSON.stringify({ output: input })}`,
      );
      await worker.ask("POST job-exchange", { query: "&take=0", body: lines.join("\n") });
      left -= lines.length;
    }
    const states = (await Promise.all(answers)).map((text) => JSON.parse(text).status);
    expect(states.filter((state) => state === "COMPLETED")).toHaveLength(count);
    expect(world.app.engine.waiters.size).toBe(0);
    expect(world.signals.topics).toBe(listeners);
    await idle();
    expect(world.clock.waiting).toBe(timers);
  });

  test("a server that closes lets everyone go with the record as it is", async () => {
    const world = await setupJobs();
    const answer = runSync(world);
    await world.clock.armed(STANDARD_WAIT_MS);
    await world[Symbol.asyncDispose]();
    expect((await answer).json).toMatchObject({ status: "IN_QUEUE" });
  });
});

/** Uses Node's own client, which sends two thousand requests at once in seconds. */
function bareRunSync({ url, endpoint, key }: JobWorld): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: key };
    const sent = request(`${url}/v2/${endpoint}/runsync`, { method: "POST", headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.once("end", () => resolve(text));
    });
    sent.once("error", reject);
    sent.end(JSON.stringify(body));
  });
}
