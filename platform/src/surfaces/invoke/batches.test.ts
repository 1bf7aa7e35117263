/** Batches from a caller's view: create, finalize, follow, cancel, and read for as long as they are kept. */
import { describe, expect, test } from "vitest";
import {
  BATCH_TICK_MS,
  counts,
  draft,
  expectRefusal,
  finalized,
  inputs,
  requestsOf,
  shown,
  work,
} from "../../../tests/batch-world.ts";
import { setupJobs } from "../../../tests/job-world.ts";

const MINUTE_MS = 60_000;

describe("a draft", () => {
  test("begins with the requests it was made from, or with none", async () => {
    await using world = await setupJobs();
    const { status, json } = await world.invoke("POST", "/batch", { body: inputs(2) });
    const id = expect.stringMatching(/^batch_[a-z0-9]{14}$/);
    expect([status, json]).toEqual([
      200,
      { id, status: "DRAFT", requestIds: [expect.any(String), expect.any(String)] },
    ]);
    expect((await world.invoke("POST", "/batch", { body: [] })).json).toEqual({ id, status: "DRAFT", requestIds: [] });
    expect(await shown(world, json.id)).toEqual({
      ...{ id: json.id, endpointId: world.endpoint, status: "DRAFT", createdAt: world.clock.now(), requestTotal: 2 },
      ...{ requestInQueue: 0, requestInProgress: 0, requestCompleted: 0, requestFailed: 0, requestCancelled: 0 },
      actions: ["finalize", "cancel"],
    });
  });

  test("takes more requests, and loses some, in their order", async () => {
    await using world = await setupJobs();
    const { id, requestIds } = await draft(world, 2);
    const added = await world.invoke("POST", `/batch/${id}/requests`, { body: { requests: inputs(2) } });
    expect(added.json).toMatchObject({ id, status: "DRAFT", requestTotal: 4 });
    const all = [...requestIds, ...added.json.requestIds];
    const removed = await world.invoke("DELETE", `/batch/${id}/requests/${all[1]}`);
    expect([removed.status, removed.json]).toEqual([200, { id: all[1], batchId: id }]);
    const left = all.filter((_, i) => i !== 1);
    expect(await requestsOf(world, id)).toEqual({
      requests: left.map((request) => ({ id: request, status: "DRAFT", actions: [] })),
      ...{ total: 3, offset: 0, limit: 100, hasMore: false },
    });
    expectRefusal(await world.invoke("DELETE", `/batch/${id}/requests/${all[1]}`), 404, "request not found");
  });

  test("is nothing that a worker could take", async () => {
    await using world = await setupJobs();
    await draft(world);
    expect((await world.invoke("GET", "/health")).json.jobs.inQueue).toBe(0);
  });

  test("requests added at the same moment are all there", async () => {
    await using world = await setupJobs();
    const { id } = await draft(world, 0);
    const add = () => world.invoke("POST", `/batch/${id}/requests`, { body: { requests: inputs(3) } });
    const answers = await Promise.all(Array.from({ length: 8 }, add));
    const { requests } = await requestsOf(world, id);
    const ids = requests.map((request: { id: string }) => request.id);
    expect(ids.toSorted()).toEqual(answers.flatMap(({ json }) => json.requestIds).toSorted());
  });

  test("has a name if one was given", async () => {
    await using world = await setupJobs();
    const { id } = await draft(world);
    const named = await world.invoke("PUT", `/batch/${id}`, { body: { displayName: "night run" } });
    expect(named.json).toMatchObject({ id, displayName: "night run" });
    for (const body of [
      {},
      { displayName: 1 },
      { displayName: "x".repeat(256) },
      { displayName: "x", status: "FAILED" },
      [],
    ])
      expectRefusal(await world.invoke("PUT", `/batch/${id}`, { body }), 400, "'displayName'");
    expect((await shown(world, id)).displayName).toBe("night run");
  });

  test.each([
    [{}, "must be a JSON array"],
    [null, "must be a JSON array"],
    [[1], "request 0: the request body must be a JSON object with 'input'"],
    [[{ input: {} }, {}], "request 1: 'input' is required"],
    [[{ input: {}, policy: { ttl: 1 } }], "request 0: 'policy.ttl' must be an integer"],
    ["[", "not valid JSON"],
    ["", "the request body is empty"],
  ])("is not made from %j", async (body, why) => {
    await using world = await setupJobs();
    expectRefusal(await world.invoke("POST", "/batch", { body: body === null ? "null" : body }), 400, why);
    expect((await world.invoke("GET", "/batch")).json.total).toBe(0);
  });
});

describe("a finalized batch", () => {
  test("is in the queue as one job for each request, with the batch's id and the input as it came", async () => {
    await using world = await setupJobs();
    const body = '[ {"input": {"n": 12345678901234567890}, "extra": 1} , {"input":{}}]';
    const { id, requestIds } = (await world.invoke("POST", "/batch", { body })).json;
    const answer = await world.invoke("POST", `/batch/${id}/finalize`);
    expect([answer.status, answer.json]).toMatchObject([
      200,
      { id, status: "FINALIZED", requestTotal: 2, requestInQueue: 2 },
    ]);
    const worker = await world.worker();
    const taken = await worker.ask("GET job-take");
    expect(taken.text).toContain("12345678901234567890");
    expect(taken.json).toMatchObject({ id: requestIds[0], batchId: id, extra: 1 });
    expect(await worker.take()).toEqual({ id: requestIds[1], batchId: id, input: {} });
  });

  test("counts its requests and shows what became of each", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const { id, requestIds } = await finalized(world, 4);
    await work(worker);
    await world.clock.advance(500);
    await work(worker, () => ({ error: "no such model" }));
    const running = (await worker.take())!;
    expect(counts(await shown(world, id))).toEqual([1, 1, 1, 1, 0]);
    const { requests } = await requestsOf(world, id);
    const now = world.clock.now();
    expect(requests).toEqual([
      { id: requestIds[0], status: "COMPLETED", output: 0, startedAt: now - 500, completedAt: now - 500, actions: [] },
      {
        ...{ id: requestIds[1], status: "FAILED", error: "no such model", startedAt: now, completedAt: now },
        actions: ["retry"],
      },
      { id: running.id, status: "IN_PROGRESS", startedAt: now, actions: ["cancel"] },
      { id: requestIds[3], status: "IN_QUEUE", actions: ["cancel"] },
    ]);
    expect(await world.status(requestIds[0]!)).toMatchObject({ status: "COMPLETED", output: 0 });
  });

  test("has pages of requests, over pages of its own", async () => {
    await using world = await setupJobs();
    const { id, requestIds } = await finalized(world, 1200);
    const page = async (offset: number, limit: number) => {
      const { requests, ...rest } = await requestsOf(world, id, `?offset=${offset}&limit=${limit}`);
      return [requests.map((request: { id: string }) => request.id), rest];
    };
    expect(await page(450, 100)).toEqual([
      requestIds.slice(450, 550),
      { total: 1200, offset: 450, limit: 100, hasMore: true },
    ]);
    expect(await page(1100, 1000)).toEqual([
      requestIds.slice(1100),
      { total: 1200, offset: 1100, limit: 1000, hasMore: false },
    ]);
    expect(await page(1200, 10)).toEqual([[], { total: 1200, offset: 1200, limit: 10, hasMore: false }]);
    for (const query of ["?limit=0", "?limit=1001", "?offset=-1"])
      expect((await world.invoke("GET", `/batch/${id}/requests${query}`)).status).toBe(400);
  });

  test("takes and loses no requests any more, and says so", async () => {
    await using world = await setupJobs();
    const { id, requestIds } = await finalized(world);
    const body = { requests: inputs(1) };
    const why = "this batch is FINALIZED, and only a DRAFT can";
    expectRefusal(await world.invoke("POST", `/batch/${id}/requests`, { body }), 400, why);
    expectRefusal(await world.invoke("DELETE", `/batch/${id}/requests/${requestIds[0]}`), 400, why);
    expect((await shown(world, id)).requestTotal).toBe(3);
  });

  test("can be finalized again, which changes nothing", async () => {
    await using world = await setupJobs();
    const { id } = await finalized(world);
    expect((await world.invoke("POST", `/batch/${id}/finalize`)).json.status).toBe("FINALIZED");
    expect((await world.invoke("GET", "/health")).json.jobs.inQueue).toBe(3);
  });

  test("without requests there is none", async () => {
    await using world = await setupJobs();
    const { id } = await draft(world, 0);
    expectRefusal(await world.invoke("POST", `/batch/${id}/finalize`), 400, "has no requests");
  });

  test("of which nothing succeeded is FAILED in the end; otherwise it stays FINALIZED", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const [bad, good] = [await finalized(world, 2), await finalized(world, 2)];
    for (const _ of [1, 2, 3]) await work(worker, () => ({ error: "no" }));
    await work(worker);
    await world.clock.advance(BATCH_TICK_MS);
    expect(await shown(world, bad.id)).toMatchObject({
      status: "FAILED",
      requestFailed: 2,
      completedAt: world.clock.now(),
    });
    expect(await shown(world, good.id)).toMatchObject({ status: "FINALIZED", requestFailed: 1, requestCompleted: 1 });
  });

  test("a large one is read in a thread, in the same words", async () => {
    await using world = await setupJobs();
    const body = [{ input: { text: "x".repeat(300_000) } }, { input: {} }];
    const { id, requestIds } = (await world.invoke("POST", "/batch", { body })).json;
    expect(requestIds).toHaveLength(2);
    await world.invoke("POST", `/batch/${id}/finalize`);
    expect(((await (await world.worker()).take())!.input as { text: string }).text).toHaveLength(300_000);
    expectRefusal(
      await world.invoke("POST", "/batch", { body: [...body, 1] }),
      400,
      "request 2: the request body must be",
    );
  });

  test("holds requests to their own terms, and keeps no credential in clear", async () => {
    await using world = await setupJobs();
    const s3Config = { accessId: "me", accessSecret: "correct-horse", bucketName: "b", endpointUrl: "https://s3.test" };
    const body = [{ input: {}, s3Config, policy: { executionTimeout: 5000 } }];
    const { id, requestIds } = (await world.invoke("POST", "/batch", { body })).json;
    const kept = await Promise.all(
      ["batch", "batch-page", "batch-text"].map((kind) => world.store.list({ kind, limit: 9 })),
    );
    expect(JSON.stringify(kept)).not.toContain("correct-horse");
    await world.invoke("POST", `/batch/${id}/finalize`);
    const worker = await world.worker();
    expect(await worker.take()).toMatchObject({ s3Config });
    await world.clock.advance(6000);
    expect((await world.status(requestIds[0])).status).toBe("TIMED_OUT");
  });
});

describe("a cancelled batch", () => {
  test("that was a draft never becomes a job", async () => {
    await using world = await setupJobs();
    const { id } = await draft(world);
    const { status, json } = await world.invoke("POST", `/batch/${id}/cancel`);
    expect([status, json.status, counts(json)]).toEqual([200, "CANCELLED", [0, 0, 0, 0, 3]]);
    expectRefusal(await world.invoke("POST", `/batch/${id}/finalize`), 400, "this batch is CANCELLED");
    expect(await world.store.list({ kind: "batch-text", limit: 9 })).toEqual([]);
  });

  test("loses what waits; what runs ends", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const { id, requestIds } = await finalized(world, 3);
    const running = (await worker.take())!;
    const { json } = await world.invoke("POST", `/batch/${id}/cancel`);
    expect([json.status, counts(json)]).toEqual(["CANCELLED", [0, 1, 0, 0, 2]]);
    expect((await world.status(requestIds[1]!)).status).toBe("CANCELLED");
    await worker.done(running.id, { output: 7 });
    await world.clock.advance(BATCH_TICK_MS);
    expect(await shown(world, id)).toMatchObject({ status: "CANCELLED", requestCompleted: 1, requestCancelled: 2 });
    expect((await world.invoke("POST", `/batch/${id}/cancel`)).json.status).toBe("CANCELLED");
  });

  test("a running request that comes back to the queue is cancelled there", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const { id } = await finalized(world, 1);
    await worker.take();
    await world.invoke("POST", `/batch/${id}/cancel`);
    // The worker goes silent.
    await world.clock.advance(10 * MINUTE_MS);
    expect(counts(await shown(world, id))).toEqual([0, 0, 0, 0, 1]);
  });

  test("one that has ended stays what it was", async () => {
    await using world = await setupJobs();
    const { id } = await finalized(world, 1);
    await work(await world.worker());
    await world.clock.advance(BATCH_TICK_MS);
    expect((await world.invoke("POST", `/batch/${id}/cancel`)).json).toMatchObject({
      status: "FINALIZED",
      requestCompleted: 1,
    });
  });
});

describe("results", () => {
  test("of a batch are kept until half an hour after its last one, and its numbers and states for longer", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const { id, requestIds } = await finalized(world, 2);
    await work(worker);
    const startedAt = world.clock.now();
    await world.clock.advance(5 * 60 * MINUTE_MS);
    expect((await requestsOf(world, id)).requests[0]).toMatchObject({ status: "COMPLETED", output: 0 });
    await work(worker);
    await world.clock.advance(BATCH_TICK_MS);
    await world.clock.advance(30 * MINUTE_MS - 1);
    expect(await world.status(requestIds[0]!)).toMatchObject({ output: 0 });
    await world.clock.advance(1);
    expect((await world.invoke("GET", `/status/${requestIds[0]}`)).status).toBe(404);
    expect(await shown(world, id)).toMatchObject({
      ...{ status: "FINALIZED", requestTotal: 2, requestCompleted: 2, actions: [] },
    });
    const [first] = (await requestsOf(world, id)).requests;
    expect(first).toEqual({ id: requestIds[0], status: "COMPLETED", startedAt, completedAt: startedAt, actions: [] });
  });

  test("one that was let go early by its reader still counts as completed", async () => {
    await using world = await setupJobs();
    const { id, requestIds } = await finalized(world, 2);
    await work(await world.worker());
    await world.invoke("GET", `/status/${requestIds[0]}?ttl=1`);
    await world.clock.advance(1);
    expect(counts(await shown(world, id))).toEqual([1, 0, 1, 0, 0]);
  });

  test("requests that were purged count as cancelled", async () => {
    await using world = await setupJobs();
    const { id } = await finalized(world, 2);
    await work(await world.worker());
    await world.invoke("POST", "/purge-queue");
    await world.clock.advance(BATCH_TICK_MS);
    expect(await shown(world, id)).toMatchObject({
      requestCompleted: 1,
      requestCancelled: 1,
      completedAt: world.clock.now(),
    });
  });

  test("a request that was purged still counts as cancelled when another one runs for longer than results are kept", async () => {
    await using world = await setupJobs();
    const { status } = await world.call("PATCH", `/v2/serverless/${world.endpoint}`, {
      body: { timeout: 60 * MINUTE_MS },
    });
    expect(status).toBe(200);
    const worker = await world.worker();
    const { id } = await finalized(world, 2);
    const job = (await worker.take())!;
    await world.invoke("POST", "/purge-queue");
    for (let minutes = 0; minutes < 31; minutes += 1 / 3) {
      await world.clock.advance(MINUTE_MS / 3);
      await worker.ping([job.id]);
    }
    await worker.done(job.id, { output: 0 });
    await world.clock.advance(BATCH_TICK_MS);
    expect(await shown(world, id)).toMatchObject({ requestCompleted: 1, requestCancelled: 1 });
  });
});
