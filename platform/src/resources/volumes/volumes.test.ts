/** Network volumes as records: who may create, list, grow and delete them. */
import { describe, expect, test } from "vitest";
import { openFakeMachine } from "../../../tests/fake-machine.ts";
import { InterceptedStore, setup as setupWorld, type World, type WorldOptions } from "../../../tests/world.ts";
import { catalogFrom } from "../../catalog/catalog.ts";
import { installCatalog } from "../../catalog/compute.ts";
import type { Clock } from "../../kernel/clock.ts";
import { spans } from "../../metering/span.ts";
import type { FakeCompute, FakeOptions } from "../../ports/compute/fake-compute.ts";
import type { FakeStorage } from "../../ports/compute/fake-volumes.ts";
import { MemorySignals } from "../../ports/signals/memory-signals.ts";
import { Collection } from "../../ports/store/collection.ts";
import { MemoryStore } from "../../ports/store/memory-store.ts";
import { standardQuotas } from "../account/quotas.ts";

const VOLUMES = "/v2/network-volumes";
const MODELS = { name: "models", size: 50, dataCenter: "EU-RO-1" };
const NOT_YET = "It has not been counted yet.";
const UNKNOWN = "aaaaaaaaaaaaaa";

async function setup(options: WorldOptions & { fake?: FakeOptions } = {}) {
  let compute!: FakeCompute;
  const make = (clock: Clock) => {
    compute = openFakeMachine(clock, options.fake);
    return compute;
  };
  const world = await setupWorld({ compute: make, ...options });
  return { world, compute, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

const create = (world: World, body: object = MODELS) => world.call("POST", VOLUMES, { body });
const made = async (world: World, body: object = MODELS) => (await create(world, body)).json.id as string;

describe("create", () => {
  test("answers 201 with the whole record, and the volume is there", async () => {
    await using s = await setup();
    const { status, json } = await create(s.world);
    const id = expect.stringMatching(/^[a-z0-9]{14}$/);
    expect(status).toBe(201);
    expect(json).toEqual({ id, ...MODELS, type: "STANDARD", sizeEnforced: true, usedBytes: null, usedReason: NOT_YET });
    expect(await s.compute.volumes!.list()).toEqual([{ id: json.id, sizeGb: 50, sizeEnforced: true }]);
    expect((await s.world.call("GET", `${VOLUMES}/${json.id}`)).json).toEqual(json);
  });

  test("the record says where a size is not enforced", async () => {
    await using s = await setup({ fake: { can: { volumeSizes: false } } });
    expect((await create(s.world)).json).toMatchObject({ sizeEnforced: false });
  });

  test("two volumes may have one name, and are listed without pages, the newest first", async () => {
    await using s = await setup();
    const first = await made(s.world);
    await s.world.clock.advance(1);
    const second = await made(s.world, { ...MODELS, type: "STANDARD" });
    const { json } = await s.world.call("GET", VOLUMES);
    expect(Object.keys(json)).toEqual(["networkVolumes"]);
    expect(json.networkVolumes.map(({ id }: { id: string }) => id)).toEqual([second, first]);
  });

  test("a tier is had where the data center offers it, and the refusal says what is offered", async () => {
    await using s = await setup();
    const fast = { ...MODELS, type: "HIGH_PERFORMANCE" };
    const { status, json } = await create(s.world, fast);
    expect([status, json.detail]).toEqual([400, "Data center 'EU-RO-1' offers STANDARD, not HIGH_PERFORMANCE."]);
    const none = await create(s.world, { ...MODELS, dataCenter: "US-CA-1" });
    expect([none.status, none.json.detail]).toEqual([400, expect.stringContaining("offers no network volumes")]);
    const both = { dataCenters: { "EU-RO-1": { networkVolumeTypes: ["HIGH_PERFORMANCE", "STANDARD"] } } };
    using _ = installCatalog(catalogFrom(JSON.stringify(both)));
    expect((await create(s.world, fast)).json).toMatchObject({ type: "HIGH_PERFORMANCE" });
    expect((await create(s.world)).json).toMatchObject({ type: "HIGH_PERFORMANCE" });
  });

  test.each([
    ["no name", { size: 10, dataCenter: "EU-RO-1" }, "$: property 'name' is required"],
    ["an empty name", { ...MODELS, name: "" }, "$.name: must not be empty"],
    ["no size", { name: "v", dataCenter: "EU-RO-1" }, "$: property 'size' is required"],
    ["9 GB", { ...MODELS, size: 9 }, "$.size: must be >= 10"],
    ["4097 GB", { ...MODELS, size: 4097 }, "$.size: must be <= 4096"],
    ["a part of a GB", { ...MODELS, size: 10.5 }, "$.size: must be integer"],
    ["no data center", { name: "v", size: 10 }, "$: property 'dataCenter' is required"],
    ["an unknown tier", { ...MODELS, type: "FAST" }, "$.type: must be one of STANDARD, HIGH_PERFORMANCE"],
    ["a field that is not one", { ...MODELS, machine: "m" }, "$: additional properties 'machine' not allowed"],
  ])("422 for %s", async (_, body, error) => {
    await using s = await setup();
    const { status, json } = await create(s.world, body);
    expect([status, json.errors]).toEqual([422, [error]]);
  });

  test("400 for an unknown data center, naming those that are", async () => {
    await using s = await setup();
    const { status, json } = await create(s.world, { ...MODELS, dataCenter: "MOON-1" });
    expect(status).toBe(400);
    expect(json.detail).toMatch(/^There is no data center 'MOON-1'\. Network volumes can be in: .*EU-RO-1/);
  });

  test("400 for a data center in which no machine stands", async () => {
    await using s = await setup();
    const { status, json } = await create(s.world, { ...MODELS, dataCenter: "US-CA-2" });
    expect([status, json.detail]).toEqual([
      400,
      "No machine of this installation stands in 'US-CA-2', or none can be reached now.",
    ]);
  });

  test("400 on machines that can mount none", async () => {
    await using s = await setup({ fake: { can: { volumes: false } } });
    const { status, json } = await create(s.world);
    expect([status, json.detail]).toEqual([400, expect.stringContaining("can mount no volumes")]);
  });

  test("400 where the disk has less than is asked for, the sizes of all volumes counted", async () => {
    await using s = await setup({ fake: { capacity: { diskGb: 100 } } });
    expect((await create(s.world, { ...MODELS, size: 60 })).status).toBe(201);
    const { status, json } = await create(s.world, { ...MODELS, size: 60 });
    const detail = "No machine in 'EU-RO-1' has 60 GB for a volume: at most 40 GB are left.";
    expect([status, json.detail]).toEqual([400, detail]);
  });

  test("403 beyond the quotas of the account, by number and by size, and growing counts too", async () => {
    await using s = await setup({ quotas: { ...standardQuotas(8), volumes: 2, gb: 100 } });
    const id = await made(s.world, { ...MODELS, size: 60 });
    const large = await create(s.world);
    expect([large.status, large.json.detail]).toEqual([403, expect.stringContaining("quota 'gb'")]);
    await made(s.world, { ...MODELS, size: 20 });
    const third = await create(s.world, { ...MODELS, size: 10 });
    expect([third.status, third.json.detail]).toEqual([403, expect.stringContaining("quota 'volumes'")]);
    expect((await s.world.call("PATCH", `${VOLUMES}/${id}`, { body: { size: 80 } })).status).toBe(200);
    expect((await s.world.call("PATCH", `${VOLUMES}/${id}`, { body: { size: 81 } })).status).toBe(403);
  });

  test("a server that runs nothing has no place for one", async () => {
    await using world = await setupWorld();
    expect((await create(world)).status).toBe(400);
  });
});

describe("another account", () => {
  test("neither sees, changes nor deletes one", async () => {
    await using s = await setup();
    const id = await made(s.world);
    const key = await s.world.strangersKey();
    const asked = [
      s.world.call("GET", `${VOLUMES}/${id}`, { key }),
      s.world.call("PATCH", `${VOLUMES}/${id}`, { key, body: { size: 60 } }),
      s.world.call("DELETE", `${VOLUMES}/${id}`, { key }),
      s.world.call("GET", `${VOLUMES}/${UNKNOWN}`),
    ];
    for (const { status, json } of await Promise.all(asked))
      expect([status, json.detail]).toEqual([404, "network volume not found"]);
    expect((await s.world.call("GET", VOLUMES, { key })).json).toEqual({ networkVolumes: [] });
  });
});

describe("update", () => {
  test("renames, and grows on the machine too", async () => {
    await using s = await setup();
    const id = await made(s.world);
    const { status, json } = await s.world.call("PATCH", `${VOLUMES}/${id}`, { body: { name: "data", size: 80 } });
    expect([status, json.name, json.size]).toEqual([200, "data", 80]);
    expect(await s.compute.volumes!.find(id)).toMatchObject({ sizeGb: 80 });
  });

  test("to the size that it has changes nothing; to a smaller one is refused", async () => {
    await using s = await setup();
    const id = await made(s.world);
    expect((await s.world.call("PATCH", `${VOLUMES}/${id}`, { body: { size: 50 } })).status).toBe(200);
    const { status, json } = await s.world.call("PATCH", `${VOLUMES}/${id}`, { body: { size: 49 } });
    expect([status, json.detail]).toEqual([400, "The volume has 50 GB, and no volume becomes smaller."]);
  });

  test("to more than the disk of its machine has left is refused, the sizes of all volumes counted", async () => {
    await using s = await setup({ fake: { capacity: { diskGb: 100 } } });
    const [id] = [await made(s.world, { ...MODELS, size: 30 }), await made(s.world, { ...MODELS, size: 40 })];
    const grow = async (path: string, size: number) => {
      const { status, json } = await s.world.call("PATCH", `${path}/${id}`, { body: { size } });
      return [status, json.detail ?? json.message ?? json.size];
    };
    const why = "The machine of this volume has no 31 GB more for it: 30 GB are left, so it can grow to 60 GB.";
    expect(await grow(VOLUMES, 61)).toEqual([400, why]);
    // This API says 500 for a lack of room, also at a creation.
    expect(await grow("/v1/networkvolumes", 61)).toEqual([500, why]);
    expect(await grow(VOLUMES, 60)).toEqual([200, 60]);
  });

  test.each([
    ["an empty body", {}, "$: must have at least 1 property"],
    ["its data center", { dataCenter: "US-CA-2" }, "$: additional properties 'dataCenter' not allowed"],
    ["its tier", { type: "STANDARD" }, "$: additional properties 'type' not allowed"],
  ])("422 for %s", async (_, body, error) => {
    await using s = await setup();
    const { status, json } = await s.world.call("PATCH", `${VOLUMES}/${await made(s.world)}`, { body });
    expect([status, json.errors]).toEqual([422, [error]]);
  });

  test("two at once both hold", async () => {
    const store = new InterceptedStore();
    await using s = await setup({ store });
    const id = await made(s.world);
    let rival: Promise<unknown> | undefined;
    store.beforeCommit = async () => {
      if (rival) return;
      rival = s.world.call("PATCH", `${VOLUMES}/${id}`, { body: { size: 70 } });
      await rival;
    };
    await s.world.call("PATCH", `${VOLUMES}/${id}`, { body: { name: "slow" } });
    expect((await s.world.call("GET", `${VOLUMES}/${id}`)).json).toMatchObject({ name: "slow", size: 70 });
  });
});

describe("delete", () => {
  test("answers 204, and nothing of it is left on the machine or on record", async () => {
    await using s = await setup();
    const id = await made(s.world);
    s.compute.volumes!.write(id, "/file", "text");
    expect((await s.world.call("DELETE", `${VOLUMES}/${id}`)).status).toBe(204);
    expect((await s.world.call("GET", `${VOLUMES}/${id}`)).status).toBe(404);
    await s.world.clock.advance(5000);
    expect(await s.compute.volumes!.list()).toEqual([]);
    expect(await s.world.store.list({ kind: "removed-network-volume", limit: 10 })).toEqual([]);
  });

  test("contents wait for what still ends, and go then", async () => {
    await using s = await setup();
    const id = await made(s.world);
    await s.compute.start("w", spec(id));
    expect((await s.world.call("DELETE", `${VOLUMES}/${id}`)).status).toBe(204);
    await s.world.clock.advance(5000);
    expect(await s.compute.volumes!.list()).toHaveLength(1);
    await s.compute.remove("w");
    await s.world.clock.advance(5000);
    expect(await s.compute.volumes!.list()).toEqual([]);
  });

  test("volumes go with their account, contents too", async () => {
    await using s = await setup();
    const key = await s.world.strangersKey();
    await s.world.call("POST", VOLUMES, { key, body: MODELS });
    const kept = await made(s.world);
    const stranger = (await s.world.services.accounts.list()).find(({ id }) => id !== s.world.owner.account)!;
    await s.world.services.accounts.delete(stranger.id);
    await s.world.clock.advance(5000);
    expect((await s.compute.volumes!.list()).map(({ id }) => id)).toEqual([kept]);
  });
});

describe("whatever ends the server in between", () => {
  test("a volume that is on record alone is made by the next", async () => {
    await using s = await setup();
    s.compute.volumes!.create = () => Promise.reject(new Error("the disk is full"));
    const { status, json } = await create(s.world);
    expect([status, json.sizeEnforced]).toEqual([201, false]);
    await s.world.abandon();
    const compute = s.compute.restarted();
    await using next = await setupWorld({ store: s.world.store, found: s.world, compute: () => compute });
    await next.clock.advance(5000);
    expect(await compute.volumes!.list()).toEqual([{ id: json.id, sizeGb: 50, sizeEnforced: true }]);
    expect((await next.call("GET", `${VOLUMES}/${json.id}`)).json).toMatchObject({ sizeEnforced: true });
  });

  test("one whose contents are gone is not made anew", async () => {
    await using s = await setup();
    const id = await made(s.world);
    await s.compute.volumes!.remove(id);
    await s.world.call("PATCH", `${VOLUMES}/${id}`, { body: { size: 60 } });
    await s.world.clock.advance(5000);
    expect(await s.compute.volumes!.list()).toEqual([]);
    expect(s.world.logged.join("\n")).toContain("is not where it was made");
  });
});

describe("with several nodes", () => {
  /** The second machine has the larger disk. With `shared`, both use the same storage. */
  async function nodes({ shared = false } = {}) {
    const store = new MemoryStore();
    const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
    const fake = { can: { sharedVolumes: shared, volumeSizes: !shared } };
    const storage: FakeStorage = new Map();
    const first = await setup({ store, signals, machine: "first", fake: { ...fake, storage } });
    const larger = { ...fake, capacity: { diskGb: 5000 }, storage: shared ? storage : new Map() };
    const second = await setup({ store, signals, machine: "second", found: first.world, fake: larger });
    const worlds = [first, second];
    await first.world.clock.advance(6000);
    return {
      first,
      second,
      async [Symbol.asyncDispose]() {
        for (const one of worlds) await one[Symbol.asyncDispose]();
      },
    };
  }

  test("one that is created elsewhere is made, grown and removed by the node of its machine", async () => {
    await using both = await nodes();
    const id = await made(both.first.world);
    await both.first.world.clock.advance(5000);
    expect(await both.second.compute.volumes!.list()).toEqual([{ id, sizeGb: 50, sizeEnforced: true }]);
    await both.first.world.call("PATCH", `${VOLUMES}/${id}`, { body: { size: 60 } });
    await both.first.world.clock.advance(5000);
    expect(await both.second.compute.volumes!.find(id)).toMatchObject({ sizeGb: 60 });
    expect((await both.first.world.call("GET", `${VOLUMES}/${id}`)).json.sizeEnforced).toBe(true);
    await both.first.world.call("DELETE", `${VOLUMES}/${id}`);
    await both.first.world.clock.advance(5000);
    expect(await both.second.compute.volumes!.list()).toEqual([]);
    expect(await both.first.compute.volumes!.list()).toEqual([]);
  });

  test("one on shared storage is made once, by whoever is first", async () => {
    await using both = await nodes({ shared: true });
    const id = await made(both.second.world);
    const found = { id, sizeGb: 50, shared: true, sizeEnforced: false };
    expect(await both.first.compute.volumes!.list()).toEqual([found]);
    await both.first.world.call("DELETE", `${VOLUMES}/${id}`);
    await both.first.world.clock.advance(5000);
    expect(await both.second.compute.volumes!.list()).toEqual([]);
  });
});

const spec = (volume: string) => ({
  ...{ kind: "worker" as const, account: "a", owner: "e", image: "i", entrypoint: [], cmd: [], env: {}, ports: [] },
  limits: { vcpu: 1, memoryMb: 1, diskGb: 1 },
  mounts: [{ volume, path: "/workspace" }],
});

describe("what is metered", () => {
  const spansOf = async ({ store }: World, id: string) => {
    const found = [];
    for await (const { doc } of new Collection(store, spans).all({ key: { name: "instance", value: id } }))
      found.push(doc);
    return found.toSorted((a, b) => a.from - b.from);
  };

  test("a volume from its creation to its deletion, by size and tier, whether anything uses it or not", async () => {
    await using s = await setup({ fake: { capacity: { diskGb: 2000 } } });
    const id = await made(s.world, { ...MODELS, size: 1000 });
    await s.world.clock.advance(1000);
    await s.world.call("PATCH", `${VOLUMES}/${id}`, { body: { name: "n" } });
    await s.world.call("PATCH", `${VOLUMES}/${id}`, { body: { size: 1500 } });
    await s.world.clock.advance(2000);
    await s.world.call("DELETE", `${VOLUMES}/${id}`);
    const told = (await spansOf(s.world, id)).map(({ from, to, price, tier }) => [
      to! - from,
      price.storage / 1e9,
      tier,
    ]);
    // Each GB costs 0.07 USD up to a TB, and 0.05 USD beyond.
    expect(told).toEqual([
      [1000, 70, "STANDARD"],
      [2000, 95, "STANDARD"],
    ]);
  });

  test("each span in the commit of its volume, and with the account's removal too", async () => {
    await using s = await setup();
    const id = await made(s.world);
    await s.world.services.volumes.removeAccount(s.world.owner.account);
    expect(await spansOf(s.world, id)).toMatchObject([{ kind: "volume", owner: id, to: s.world.clock.now() }]);
  });
});
