/** Releases: every change that reaches the workers makes one, which says what changed and how many workers follow it. */
import { describe, expect, test } from "vitest";
import { putWorker, workerDoc } from "../../../tests/worker-doc.ts";
import { InterceptedStore, setup as setupWorld, type World, type WorldOptions } from "../../../tests/world.ts";
import { instances } from "../../machines/instances.ts";
import { Collection } from "../../ports/store/collection.ts";
import { releases } from "./model.ts";

const GPU = { name: "e", image: "busybox:1", gpu: { pools: ["AMPERE_48"] }, env: { A: "1" } };

async function setup(body: object = GPU, store = new InterceptedStore(), keeping: WorldOptions["keeping"] = {}) {
  const world = await setupWorld({ store, keeping });
  const { id } = (await world.call("POST", "/v2/serverless", { body })).json;
  const path = `/v2/serverless/${id}`;
  return {
    world,
    store,
    id: id as string,
    path,
    patch: (change: object) => world.call("PATCH", path, { body: change }),
    list: async (query = "") => (await world.call("GET", `${path}/releases${query}`)).json,
  };
}

async function putReleased(world: World, endpoint: string, id: string, release: number): Promise<void> {
  await putWorker(world.services.workerRecords, {
    ...{ id, account: world.owner.account, createdAt: world.clock.now() },
    doc: workerDoc({ owner: endpoint, release, state: "READY", image: "busybox", machine: "m1" }),
  });
}

const versions = ({ releases }: { releases: { version: number }[] }) => releases.map(({ version }) => version);

test("a new endpoint has its first release, made by whose key was used", async () => {
  const { world, list } = await setup();
  await using _ = world;
  expect(await list()).toEqual({
    rollout: { inProgress: false, workersOnLatest: 0, workersTotal: 0, percentOnLatest: 0 },
    releases: [
      {
        ...{ id: expect.any(String), version: 1, source: "MANUAL", buildId: null, workerCount: 0, diff: [] },
        ...{ createdAt: "2026-01-01T00:00:00.000Z", createdByUserId: world.owner.user },
      },
    ],
    endpointVersion: 1,
    pagination: { nextCursor: null, hasNextPage: false },
  });
});

describe("what a change says", () => {
  const cases: [object, { field: string; old: unknown; new: unknown }[]][] = [
    [{ image: "busybox:2" }, [{ field: "template.imageName", old: "busybox:1", new: "busybox:2" }]],
    [{ env: { B: "2" } }, [{ field: "template.env", old: { A: "1" }, new: { B: "2" } }]],
    [{ args: "run" }, [{ field: "template.dockerArgs", old: "", new: "run" }]],
    [{ disk: 30 }, [{ field: "template.containerDiskInGb", old: 20, new: 30 }]],
    [{ gpu: { count: 2 } }, [{ field: "gpuCount", old: 1, new: 2 }]],
    [
      { gpu: { pools: ["ADA_24"] } },
      [{ field: "gpuTypeIds", old: ["NVIDIA A40", "NVIDIA RTX A6000"], new: ["NVIDIA GeForce RTX 4090"] }],
    ],
    [{ gpu: { minCudaVersion: "12.4" } }, [{ field: "minCudaVersion", old: null, new: "12.4" }]],
    [{ dataCenterIds: ["EU-RO-1"] }, [{ field: "locations", old: [], new: ["EU-RO-1"] }]],
    [
      { flashboot: "FLASHBOOT", disk: 30 },
      [
        { field: "template.containerDiskInGb", old: 20, new: 30 },
        { field: "flashBootType", old: "OFF", new: "FLASHBOOT" },
      ],
    ],
    [
      { image: "busybox:2", workers: { max: 9 } },
      [
        { field: "template.imageName", old: "busybox:1", new: "busybox:2" },
        { field: "workers.max", old: 3, new: 9 },
      ],
    ],
  ];

  test.each(cases)("%j", async (change, diff) => {
    const { world, patch, list } = await setup();
    await using _ = world;
    await world.clock.advance(1000);
    expect((await patch(change)).status).toBe(200);
    const listed = await list();
    expect([versions(listed), listed.endpointVersion]).toEqual([[2, 1], 2]);
    expect(listed.releases[0]).toMatchObject({ diff, createdAt: "2026-01-01T00:00:01.000Z" });
  });

  test("CPU flavors are named as public clients know them", async () => {
    const { world, patch, list } = await setup({ name: "e", image: "b", cpu: [{ id: "cpu3c", vcpuCount: 2 }] });
    await using _ = world;
    await patch({ cpu: [{ id: "cpu3g", vcpuCount: 4 }] });
    expect((await list()).releases[0].diff).toEqual([
      { field: "instanceIds", old: ["cpu3c-2-4"], new: ["cpu3g-4-16"] },
    ]);
  });

  test("a secret's value is in no release, only its placeholder", async () => {
    const { world, patch, list } = await setup();
    await using _ = world;
    await world.call("POST", "/v2/account/secrets", { body: { name: "token", value: "do-not-show" } });
    await patch({ env: { T: "{{ MILLRACE_SECRET_token }}" } });
    const text = JSON.stringify(await list());
    expect(text).toContain("{{ MILLRACE_SECRET_token }}");
    expect(text).not.toContain("do-not-show");
  });
});

test.each([
  [{ workers: { max: 9 } }],
  [{ name: "other" }],
  [{ timeout: 6000 }],
  [{ scaling: { type: "QUEUE_DELAY", queueDelay: 9 } }],
  [{ image: "busybox:1", env: { A: "1" } }],
])("%j reaches no container and makes no release", async (change) => {
  const { world, patch, list } = await setup();
  await using _ = world;
  expect((await patch(change)).status).toBe(200);
  expect(versions(await list())).toEqual([1]);
});

test("a change and its release are written together or not at all", async () => {
  const { world, store, patch, list, path } = await setup();
  await using _ = world;
  store.beforeCommit = (writes) => {
    const kinds = writes.map((write) => (write.do === "insert" ? write.record.kind : write.kind));
    expect(kinds).toEqual(["endpoint", "release"]);
    throw new Error("the disk is gone");
  };
  expect((await patch({ image: "busybox:2" })).status).toBe(500);
  store.beforeCommit = () => {};
  expect(versions(await list())).toEqual([1]);
  expect((await world.call("GET", path)).json.image).toBe("busybox:1");
});

test("changes at once make one release each, none lost and none twice", async () => {
  const { world, patch, list } = await setup();
  await using _ = world;
  const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => patch({ image: `busybox:${i + 2}` })));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
  expect(versions(await list())).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
});

test("releases come in pages, and a cursor is good for its endpoint alone", async () => {
  const { world, path, patch, list } = await setup();
  await using _ = world;
  for (let i = 2; i <= 5; i++) await patch({ image: `busybox:${i}` });
  const first = await list("?limit=2");
  expect([versions(first), first.pagination.hasNextPage]).toEqual([[5, 4], true]);
  await patch({ image: "busybox:6" });
  const second = await list(`?limit=2&cursor=${first.pagination.nextCursor}`);
  const third = await list(`?limit=2&cursor=${second.pagination.nextCursor}`);
  expect([versions(second), versions(third)]).toEqual([[3, 2], [1]]);
  expect(third.pagination).toEqual({ nextCursor: null, hasNextPage: false });
  const other = (await world.call("POST", "/v2/serverless", { body: GPU })).json.id;
  const foreign = `/v2/serverless/${other}/releases?cursor=${first.pagination.nextCursor}`;
  expect((await world.call("GET", foreign)).status).toBe(422);
  expect((await world.call("GET", `${path}/releases?cursor=nonsense`)).status).toBe(422);
});

test("the rollout counts workers on the newest release, and each release those that run it", async () => {
  const { world, id, patch, list } = await setup();
  await using _ = world;
  await patch({ image: "busybox:2" });
  for (const [worker, release] of Object.entries({ w1: 1, w2: 2, w3: 2 }))
    await putReleased(world, id, worker, release);
  const byHand = await world.services.workerKeys.issue(world.owner.account, id);
  await world.call("GET", `/v2/${id}/ping/hand`, { key: byHand.key });
  const { rollout, releases } = await list();
  expect(rollout).toEqual({ inProgress: true, workersOnLatest: 2, workersTotal: 3, percentOnLatest: 66 });
  expect(releases.map(({ workerCount }: { workerCount: number }) => workerCount)).toEqual([2, 1]);
  const old = await new Collection(world.store, instances).get("w1");
  await world.services.workerRecords.remove(old!.id);
  expect((await list()).rollout).toEqual({
    ...{ inProgress: false, workersOnLatest: 2, workersTotal: 2, percentOnLatest: 100 },
  });
});

describe("deletion", () => {
  const left = (world: World) => world.store.list({ kind: releases.kind, limit: 10 });

  test("takes the releases with the endpoint, in one step", async () => {
    const { world, path, patch } = await setup();
    await using _ = world;
    await patch({ image: "busybox:2" });
    expect(await left(world)).toHaveLength(2);
    expect((await world.call("DELETE", path)).status).toBe(204);
    expect(await left(world)).toEqual([]);
    expect((await world.call("GET", `${path}/releases`)).status).toBe(404);
  });

  test("leaves no release behind that is made in the same moment", async () => {
    const { world, path, store, patch } = await setup();
    await using _ = world;
    store.beforeCommit = async (writes) => {
      if (writes[0]!.do !== "remove") return;
      store.beforeCommit = () => {};
      expect((await patch({ image: "busybox:2" })).status).toBe(200);
    };
    expect((await world.call("DELETE", path)).status).toBe(204);
    expect(await left(world)).toEqual([]);
  });

  test("of an account takes them too", async () => {
    await using world = await setupWorld();
    const owner = await world.services.accounts.create("other", "o@localhost");
    const key = await world.newKey({ of: owner });
    expect((await world.call("POST", "/v2/serverless", { body: GPU, key })).status).toBe(201);
    expect(await left(world)).toHaveLength(1);
    await world.services.accounts.delete(owner.account);
    expect(await left(world)).toEqual([]);
  });
});

test("an endpoint of another account has no releases to show", async () => {
  const { world, path } = await setup();
  await using _ = world;
  expect((await world.call("GET", `${path}/releases`, { key: await world.strangersKey() })).status).toBe(404);
});

test("an endpoint made before releases were kept shows those made since, and can be deleted", async () => {
  const { world, id, path, patch, list } = await setup();
  await using _ = world;
  await new Collection(world.store, releases).remove(`${id}-1`);
  await patch({ image: "busybox:2" });
  expect(versions(await list())).toEqual([2]);
  expect((await world.call("DELETE", path)).status).toBe(204);
});

test("there are no builds", async () => {
  const { world, path } = await setup();
  await using _ = world;
  const { status, json } = await world.call("GET", `${path}/builds`);
  expect([status, json]).toEqual([200, { builds: [], pagination: { nextCursor: null, hasNextPage: false } }]);
  expect((await world.call("GET", `${path}/builds?cursor=x`)).status).toBe(422);
  expect((await world.call("GET", `${path}/builds/b1`)).json.detail).toBe("build not found");
  expect((await world.call("GET", "/v2/serverless/aaaaaaaaaaaaaa/builds")).json.detail).toBe("endpoint not found");
});

describe("an endpoint with many releases", () => {
  const HOUR_MS = 3_600_000;

  async function changed(times: number, store = new InterceptedStore()) {
    const s = await setup(GPU, store, { releasesKept: 10 });
    for (let i = 0; i < times; i++) await s.patch({ image: `busybox:${i + 2}` });
    return s;
  }

  test("keeps the newest of them, as many as the setting says", async () => {
    const { world, list, patch } = await changed(25);
    await using _ = world;
    expect(versions(await list("?limit=100"))).toHaveLength(26);
    await world.clock.advance(HOUR_MS);
    expect(versions(await list("?limit=100"))).toEqual([26, 25, 24, 23, 22, 21, 20, 19, 18, 17]);
    await patch({ image: "busybox:99" });
    await world.clock.advance(HOUR_MS);
    expect(versions(await list("?limit=6"))).toEqual([27, 26, 25, 24, 23, 22]);
    expect((await list("?limit=100")).releases).toHaveLength(10);
  });

  test("leaves none of them when it is deleted", async () => {
    const { world, store, path } = await changed(25);
    await using _ = world;
    await world.clock.advance(HOUR_MS);
    expect((await world.call("DELETE", path)).status).toBe(204);
    await world.clock.advance(60_000);
    expect(await store.list({ kind: "release", limit: 100 })).toEqual([]);
  });
});
