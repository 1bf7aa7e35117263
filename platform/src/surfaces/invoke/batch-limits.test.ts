/** How many batches an endpoint may have, how large they may be, and who may use them. */
import { describe, expect, test } from "vitest";
import { BATCH_TICK_MS, draft, expectRefusal, finalized, inputs, shown, work } from "../../../tests/batch-world.ts";
import { type JobWorld, setupJobs } from "../../../tests/job-world.ts";
import { setup } from "../../../tests/world.ts";

const UNKNOWN = "batch_aaaaaaaaaaaaaa";

describe("limits", () => {
  test("ten batches of an endpoint are active at once, also when they are made at once", async () => {
    await using world = await setupJobs();
    const answers = await Promise.all(
      Array.from({ length: 14 }, () => world.invoke("POST", "/batch", { body: inputs(1) })),
    );
    const made = answers.filter(({ status }) => status === 200);
    expect(made).toHaveLength(10);
    expectRefusal(answers.find(({ status }) => status !== 200)!, 429, "this endpoint has 10 active batches");
    await world.invoke("POST", `/batch/${made[3]!.json.id}/cancel`);
    expect((await world.invoke("POST", "/batch", { body: [] })).status).toBe(200);
    expect((await world.invoke("POST", "/batch", { body: [] })).status).toBe(429);
  });

  test("one that has ended makes room", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    for (let i = 0; i < 9; i++) await draft(world, 0);
    await finalized(world, 1);
    await work(worker);
    await world.clock.advance(BATCH_TICK_MS);
    expect((await world.invoke("POST", "/batch", { body: [] })).status).toBe(200);
  });

  test("a batch has 5,000 requests at most", async () => {
    await using world = await setupJobs();
    const { id } = await draft(world, 4999);
    const add = (count: number) => world.invoke("POST", `/batch/${id}/requests`, { body: { requests: inputs(count) } });
    expectRefusal(await add(2), 400, "a batch has at most 5000 requests, and this one would have 5001");
    expectRefusal(await add(5001), 400, "a batch has at most 5000 requests, and these are 5001");
    expectRefusal(await add(0), 400, "'requests' is empty");
    expect((await add(1)).json.requestTotal).toBe(5000);
  });

  test("50,000 jobs may wait at an endpoint when a batch comes to them", async () => {
    await using world = await setupJobs();
    const { id } = await draft(world, 2);
    const ahead = Array.from({ length: 49_999 }, (_, i) => waiting(world, `j${i}`));
    await world.queue.enqueue(ahead);
    const answer = await world.invoke("POST", `/batch/${id}/finalize`);
    expectRefusal(answer, 429, "50001 jobs would wait at this endpoint, and 50000 may");
    expect((await shown(world, id)).status).toBe("DRAFT");
  });

  test("a body has 10 MB at most, and a request in it no more than one of /run", async () => {
    await using world = await setupJobs({ payloadLimits: "1,1,1" });
    expect((await world.invoke("POST", "/batch", { body: "x".repeat(10 * 1024 * 1024 + 1) })).status).toBe(413);
    const body = [{ input: { x: "x".repeat(1024 * 1024) } }];
    expectRefusal(await world.invoke("POST", "/batch", { body }), 413, "1 MB");
  });

  test("the newest hundred are kept and listed, newest first", async () => {
    await using world = await setupJobs();
    const ids: string[] = [];
    for (let i = 0; i < 103; i++) {
      await world.clock.advance(1);
      const { id } = await draft(world, 1);
      ids.unshift(id);
      await world.invoke("POST", `/batch/${id}/cancel`);
    }
    const { json } = await world.invoke("GET", "/batch?limit=1000");
    expect(json).toMatchObject({ total: 100, offset: 0, limit: 1000, hasMore: false });
    expect(json.batches.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 100));
    const page = (await world.invoke("GET", "/batch?offset=98&limit=1")).json;
    expect([page.batches[0].id, page.hasMore]).toEqual([ids[98], true]);
    expect(await world.store.list({ kind: "batch-page", limit: 1000 })).toHaveLength(100);
  });

  test("a setting keeps fewer, and what an earlier setting kept beyond it goes ten at a time", async () => {
    await using before = await setupJobs();
    for (let i = 0; i < 60; i++) {
      await before.clock.advance(1);
      await before.invoke("POST", `/batch/${(await draft(before, 1)).id}/cancel`);
    }
    await before[Symbol.asyncDispose]();
    const { store, endpoint } = before;
    await using world = await setup({ store, found: before, keeping: { batchesKept: 20 } });
    const totals: number[] = [];
    for (let i = 0; i < 6; i++) {
      const { id } = (await world.call("POST", `/v2/${endpoint}/batch`, { body: [{ input: {} }] })).json;
      await world.call("POST", `/v2/${endpoint}/batch/${id}/cancel`);
      totals.push((await world.call("GET", `/v2/${endpoint}/batch`)).json.total);
    }
    expect(totals).toEqual([51, 42, 33, 24, 20, 20]);
  });
});

function waiting(world: JobWorld, id: string) {
  const policy = { ttlMs: 1e9, executionTimeoutMs: 1e6, retentionMs: 1e6, errorRetries: 0, lowPriority: false };
  return { id, endpoint: world.endpoint, policy, createdAt: world.clock.now(), body: '{"input":{}}' };
}

describe("whoever may not", () => {
  const routes: [string, string][] = [
    ["GET", "/batch"],
    ["POST", "/batch"],
    ["GET", "/batch/ID"],
    ["PUT", "/batch/ID"],
    ["GET", "/batch/ID/requests"],
    ["POST", "/batch/ID/requests"],
    ["DELETE", "/batch/ID/requests/x"],
    ["POST", "/batch/ID/finalize"],
    ["POST", "/batch/ID/cancel"],
  ];

  test.each(routes)("%s %s: 401, 403, and 404 for what is another's", async (method, path) => {
    await using world = await setupJobs();
    const { id } = await draft(world);
    const at = path.replace("ID", id);
    const body = method === "POST" || method === "PUT" ? { displayName: "x", requests: [] } : undefined;
    const ask = (key: string | null) => world.invoke(method, at, { key, body });
    expectRefusal(await ask(null), 401, "unauthorized");
    expectRefusal(await ask(await world.newKey({ scopes: ["read-only"] })), 403, "'serverless:invoke'");
    expectRefusal(await ask(await world.strangersKey()), 404, "endpoint not found");
    if (!path.includes("ID")) return;
    expectRefusal(await world.invoke(method, path.replace("ID", UNKNOWN), { body }), 404, "batch not found");
    const given = { name: "other", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    const other = (await world.call("POST", "/v2/serverless", { body: given })).json.id;
    expectRefusal(await world.call(method, `/v2/${other}${at}`, { body }), 404, "batch not found");
    expect((await shown(world, id)).status).toBe("DRAFT");
  });

  test("a method that a path does not have is 405", async () => {
    await using world = await setupJobs();
    const { status, headers } = await world.invoke("DELETE", "/batch");
    expect([status, headers.get("allow")]).toEqual([405, "GET, POST"]);
  });
});

test("a name that no database can hold is refused like any other that will not do, with the reason", async () => {
  await using world = await setupJobs();
  const { id } = await draft(world, 1);
  const { status, json } = await world.invoke("PUT", `/batch/${id}`, { body: { displayName: "a\0b" } });
  expect([status, json.message]).toEqual([400, expect.stringContaining("$.displayName")]);
});
