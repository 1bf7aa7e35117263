/** Batches through a crash, a second node or a removal: each request becomes one job or none. */
import { describe, expect, test } from "vitest";
import { BATCH_TICK_MS, counts, draft, finalized, shown } from "../../../tests/batch-world.ts";
import { type JobWorld, setupJobs } from "../../../tests/job-world.ts";
import { type Answer, InterceptedStore, setup } from "../../../tests/world.ts";

describe("nothing is lost and nothing is done twice:", () => {
  /** Returns what workers would get, in order. A job that is queued twice appears twice. */
  const taken = async ({ queue, endpoint, clock }: JobWorld) =>
    (await queue.claim({ endpoint, holder: "w", limit: 10_000, bytes: 1024 * 1024, now: clock.now() })).map(
      ({ job }) => job.id,
    );

  test.each([0, 1, 2, 3, 4, 5])(
    "a finalize that breaks off at write %i is finished by the server",
    async (breaksAt) => {
      const store = new InterceptedStore();
      await using world = await setupJobs({ store });
      const { id, requestIds } = await draft(world, 1200);
      let writes = 0;
      store.beforeCommit = (given) => {
        const isOfBatch = given.some((write) => write.do !== "insert" && write.kind === "batch");
        if (isOfBatch && writes++ === breaksAt) throw new Error("killed");
      };
      const { status } = await world.invoke("POST", `/batch/${id}/finalize`);
      store.beforeCommit = () => {};
      if (status !== 200) await world.invoke("POST", `/batch/${id}/finalize`);
      await world.clock.advance(BATCH_TICK_MS);
      expect(counts(await shown(world, id))).toEqual([1200, 0, 0, 0, 0]);
      expect(await taken(world)).toEqual(requestIds);
    },
  );

  test("one that was broken off goes on by itself, without being asked again", async () => {
    const store = new InterceptedStore();
    await using world = await setupJobs({ store });
    const { id, requestIds } = await draft(world, 1200);
    let isFirst = true;
    store.beforeCommit = (given) => {
      const removesTexts = given.some((write) => write.do === "remove" && write.kind === "batch-text");
      if (removesTexts && isFirst) {
        isFirst = false;
        throw new Error("killed");
      }
    };
    expect((await world.invoke("POST", `/batch/${id}/finalize`)).status).toBe(500);
    expect((await world.invoke("GET", "/health")).json.jobs.inQueue).toBe(500);
    await world.clock.advance(BATCH_TICK_MS);
    expect(await taken(world)).toEqual(requestIds);
  });

  test("two nodes that finalize it at once, and come to the same page, make each job once", async () => {
    const store = new InterceptedStore();
    await using world = await setupJobs({ store });
    await using second = await setup({ store, found: world, signals: world.signals });
    const key = await second.newKey();
    const { id, requestIds } = await draft(world, 1200);
    const path = `/v2/${world.endpoint}/batch/${id}/finalize`;
    let other: Answer | undefined;
    let isFirst = true;
    // Here the first node has enqueued a page but not recorded it yet.
    store.beforeCommit = async (given) => {
      if (!isFirst || !given.some((write) => write.do === "remove" && write.kind === "batch-text")) return;
      isFirst = false;
      other = await second.call("POST", path, { key });
    };
    const { json } = await world.call("POST", path);
    expect([json.requestInQueue, other!.json.requestInQueue]).toEqual([1200, 1200]);
    expect((await world.invoke("GET", "/health")).json.jobs.inQueue).toBe(1200);
    expect(await taken(world)).toEqual(requestIds);
  });

  test("one that is cancelled while it is finalized leaves nothing in the queue", async () => {
    const store = new InterceptedStore();
    await using world = await setupJobs({ store });
    const { id } = await draft(world, 1200);
    let asked: Promise<Answer> | undefined;
    store.beforeCommit = async (given) => {
      const removesTexts = given.some((write) => write.do === "remove" && write.kind === "batch-text");
      if (!removesTexts || asked) return;
      asked = world.invoke("POST", `/batch/${id}/cancel`);
      await asked;
    };
    await world.invoke("POST", `/batch/${id}/finalize`);
    expect((await asked!).json.status).toBe("CANCELLED");
    expect((await world.invoke("GET", "/health")).json.jobs).toMatchObject({ inQueue: 0, inProgress: 0 });
    expect(await shown(world, id)).toMatchObject({ status: "CANCELLED", requestCancelled: 1200 });
  });

  test("one that is cancelled while it is finalized and then makes room for another leaves the endpoint's other jobs", async () => {
    const store = new InterceptedStore();
    await using world = await setupJobs({ store, keeping: { batchesKept: 20 } });
    const { id } = await draft(world);
    for (let i = 0; i < 20; i++) {
      await world.clock.advance(1);
      await world.invoke("POST", `/batch/${(await draft(world, 1)).id}/cancel`);
    }
    const other = (await world.invoke("POST", "/run", { body: { input: {} } })).json.id;
    let isFirst = true;
    store.beforeCommit = async (given) => {
      if (!isFirst || !given.some((write) => write.do === "remove" && write.kind === "batch-text")) return;
      isFirst = false;
      await world.invoke("POST", `/batch/${id}/cancel`);
      await draft(world, 1);
    };
    expect((await world.invoke("POST", `/batch/${id}/finalize`)).status).toBe(404);
    expect(await taken(world)).toEqual([other]);
  });

  test("a batch goes with its endpoint, whatever its state, and nothing becomes a job afterwards", async () => {
    const store = new InterceptedStore();
    await using world = await setupJobs({ store });
    await draft(world, 2);
    await finalized(world, 2);
    const { id } = await draft(world, 1200);
    let isDeleted = false;
    store.beforeCommit = async (given) => {
      if (isDeleted || !given.some((write) => write.do === "remove" && write.kind === "batch-text")) return;
      isDeleted = true;
      await world.call("DELETE", `/v2/serverless/${world.endpoint}`);
    };
    expect((await world.invoke("POST", `/batch/${id}/finalize`)).status).toBe(404);
    await world.clock.advance(BATCH_TICK_MS);
    for (const kind of ["batch", "batch-page", "batch-text", "batch-run"])
      expect(await world.store.list({ kind, limit: 9 })).toEqual([]);
    expect(await taken(world)).toEqual([]);
  });
});
