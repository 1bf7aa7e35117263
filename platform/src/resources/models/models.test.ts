/** Models: how they are added, who may use them, what workers see of them and what they wait for. */
import { describe, expect, test } from "vitest";
import { type FleetOptions, type FleetWorld, setupFleet } from "../../../tests/fleet-world.ts";
import type { Files } from "../../ports/files/files.ts";
import { MemoryFiles } from "../../ports/files/memory-files.ts";
import { MemorySignals } from "../../ports/signals/memory-signals.ts";

const MODELS = "/v2/installation/models";
const PATH = "/runpod-volume/huggingface-cache/hub/models--org--name";

const folder = (text = "weights") => {
  const files = new MemoryFiles({ now: () => 0 });
  files.write("config.json", "{}");
  files.write("model.bin", text);
  return files;
};

const setup = (options: FleetOptions & { files?: Files } = {}) =>
  setupFleet({ openModelFolder: async () => options.files ?? folder(), ...options });

/** Adds a model and lets it be copied. */
async function add(world: FleetWorld, more: object = {}) {
  const made = await world.call("POST", MODELS, { body: { name: "org/name", folder: "/srv/model", ...more } });
  expect(made.status).toBe(201);
  await world.settle();
  return (await world.call("GET", `${MODELS}/${made.json.id}`)).json;
}

const name = (world: FleetWorld, modelReferences: string[]) => world.change({ modelReferences, workers: { min: 1 } });
const waits = async (world: FleetWorld) => (await world.records()).find(({ state }) => state === "WANTED")?.reason;

/** What a worker reads below the place of the model, as the public worker resolves it. */
function readAs(world: FleetWorld, file: string): string | undefined {
  const mounts = world.running()[0]?.instance.spec.mounts ?? [];
  const mount = mounts.find(({ path }) => path === PATH);
  const read = (path: string) => mount && world.compute.volumes!.read(mount.volume, path);
  return read(`snapshots/${read("refs/main")}/${file}`);
}

describe("a model", () => {
  test("is copied from a folder, and ready with its revision and size", async () => {
    await using world = await setup();
    const { json } = await world.call("POST", MODELS, { body: { name: "org/name", folder: "/srv/model" } });
    expect(json).toMatchObject({ status: "FILLING", revision: null, size: null, everyone: false, accounts: [] });
    await world.settle();
    const ready = (await world.call("GET", `${MODELS}/${json.id}`)).json;
    expect(ready).toMatchObject({
      status: "READY",
      statusReason: null,
      size: 9,
      files: 2,
      source: "folder /srv/model",
    });
    expect(ready.revision).toMatch(/^[0-9a-f]{40}$/);
    expect(ready.copies).toEqual([
      { machine: expect.any(String), status: "READY", statusReason: null, statusReasonCode: null, bytes: 9 },
    ]);
    expect((await world.call("GET", MODELS)).json.models).toEqual([ready]);
  });

  test("is copied from a network volume that a job filled", async () => {
    await using world = await setup();
    const body = { name: "v", size: 10, dataCenter: "EU-RO-1" };
    const volume = (await world.call("POST", "/v2/network-volumes", { body })).json.id;
    world.compute.volumes!.write(volume, "out/model.bin", "weights");
    const source = { folder: undefined, networkVolume: { id: volume, path: "out" } };
    expect(await add(world, source)).toMatchObject({ status: "READY", size: 7 });
    const foreign = { key: await world.strangersKey(), body };
    const theirs = (await world.call("POST", "/v2/network-volumes", foreign)).json.id;
    const refused = await world.call("POST", MODELS, { body: { name: "a/b", networkVolume: { id: theirs } } });
    expect(refused.status).toBe(404);
  });

  test("fails with the reason, which its operator reads and accounts do not", async () => {
    const files = folder();
    files.putLink("out", "/etc/passwd");
    await using world = await setup({ files });
    const failed = await add(world, { everyone: true });
    expect(failed).toMatchObject({ status: "FAILED", statusReasonCode: "model-failed" });
    expect(failed.statusReason).toBe(
      "model org/name could not be copied: the link 'out' leads to no file of the model's own folder",
    );
    const [seen] = (await world.call("GET", "/v2/catalog/models")).json.models;
    expect(seen).toMatchObject({ status: "FAILED", statusReason: "its files could not be copied: ask the operator" });
    expect(await world.compute.volumes!.list()).toEqual([]);
    await name(world, ["org/name"]);
    await world.pass(1);
    expect(await waits(world)).toMatchObject({ code: "model-failed" });
    expect((await waits(world))?.text).not.toContain("link");
  });

  test.each([
    ["neither source", {}, 400],
    ["both sources", { folder: "/a", networkVolume: { id: "v" } }, 400],
    ["a path that is not absolute", { folder: "a" }, 422],
    ["a way up", { networkVolume: { id: "v", path: "../x" } }, 404],
    ["a name without an owner", { name: "name", folder: "/a" }, 422],
    ["a name that leads elsewhere", { name: "../x", folder: "/a" }, 422],
    ["a revision that leads elsewhere", { folder: "/a", revision: "../x" }, 422],
  ])("is refused for %s", async (_, body, status) => {
    await using world = await setup();
    expect((await world.call("POST", MODELS, { body: { name: "org/name", ...body } })).status).toBe(status);
  });

  test("is for the installation's owner alone to add, see and delete", async () => {
    await using world = await setup();
    const { id } = await add(world);
    const key = await world.strangersKey();
    const calls = [
      ["POST", MODELS, { name: "a/b", folder: "/a" }],
      ["GET", MODELS],
      ["GET", `${MODELS}/${id}`],
      ["PATCH", `${MODELS}/${id}`, { everyone: true }],
      ["DELETE", `${MODELS}/${id}`],
    ] as const;
    for (const [method, path, body] of calls)
      expect([method, (await world.call(method, path, { key, ...(body && { body }) })).status]).toEqual([method, 403]);
    expect((await world.call("GET", "/v2/catalog/models", { key })).json.models).toEqual([]);
  });

  test("is copied again after a crash in the middle, and what was there is not trusted", async () => {
    const files = folder();
    const open = files.open;
    files.open = async (path) => {
      if (path.at(-1) === "model.bin") await new Promise(() => {});
      return open(path);
    };
    const world = await setup({ files });
    const { id, copies } = await add(world);
    expect(copies).toMatchObject([{ status: "FILLING" }]);
    await world.abandon();
    const left = world.compute.restarted();
    const options = {
      store: world.store,
      found: world,
      endpoint: world.endpoint,
      openModelFolder: async () => folder("new"),
    };
    await using next = await setupFleet({ ...options, beside: left });
    await next.settle();
    expect((await next.call("GET", `${MODELS}/${id}`)).json).toMatchObject({ status: "READY", size: 5 });
    await name(next, ["org/name"]);
    await next.pass(2);
    expect(readAs(next, "model.bin")).toBe("new");
  });
});

describe("an endpoint", () => {
  test("shows the models that it names on every surface, and a change of them makes a release", async () => {
    await using world = await setup();
    await add(world);
    const named = ["https://huggingface.co/org/name:main"];
    await world.change({ modelReferences: named });
    expect((await world.call("GET", `/v2/serverless/${world.endpoint}`)).json.modelReferences).toEqual(named);
    expect((await world.call("GET", `/v1/endpoints/${world.endpoint}`)).json.modelReferences).toEqual(named);
    const query = "{ myself { endpoints { modelReferences } } }";
    const { json } = await world.call("POST", "/graphql", { body: { query } });
    expect(json.data.myself.endpoints).toEqual([{ modelReferences: named }]);
    const releases = (await world.call("GET", `/v2/serverless/${world.endpoint}/releases`)).json;
    expect(releases.releases[0].diff).toEqual([{ field: "modelReferences", old: [], new: named }]);
    const cleared = await world.call("PATCH", `/v1/endpoints/${world.endpoint}`, { body: { modelReferences: [] } });
    expect(cleared.json.modelReferences ?? []).toEqual([]);
  });

  test("is refused an unknown model, one that is not for its account, and one twice", async () => {
    await using world = await setup();
    const { id } = await add(world);
    const key = await world.strangersKey();
    const body = { name: "e", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }], modelReferences: ["org/name"] };
    const create = (more = {}) => world.call("POST", "/v2/serverless", { key, body: { ...body, ...more } });
    const refused = await create();
    expect([refused.status, refused.json.detail]).toEqual([
      400,
      "'modelReferences' names 'org/name', which is no model that this account may use (there are none). The operator of the installation adds models.",
    ]);
    const account = (await world.call("GET", "/v2/account", { key })).json.id;
    await world.call("PATCH", `${MODELS}/${id}`, { body: { accounts: [account] } });
    expect((await world.call("GET", "/v2/catalog/models", { key })).json.models).toMatchObject([{ name: "org/name" }]);
    expect((await create()).status).toBe(201);
    expect((await create({ modelReferences: ["org/name", "org/name:main"] })).json.detail).toContain("twice");
    expect((await create({ modelReferences: ["org/name:other"] })).json.detail).toContain("such as org/name");
    expect((await create({ modelReferences: ["../../etc"] })).status).toBe(422);
  });

  test("keeps its model from being deleted, and the refusal names it", async () => {
    await using world = await setup();
    const { id } = await add(world);
    await world.change({ modelReferences: ["org/name"] });
    const { status, json } = await world.call("DELETE", `${MODELS}/${id}`);
    expect([status, json.detail]).toEqual([400, expect.stringContaining(`(${world.endpoint}) of account`)]);
    await world.change({ modelReferences: [] });
    expect((await world.call("DELETE", `${MODELS}/${id}`)).status).toBe(204);
    await world.settle();
    expect(await world.compute.volumes!.list()).toEqual([]);
    expect(await world.services.modelRecords.copiesOf(id)).toEqual([]);
  });

  test("cannot get a model by a key that is narrowed to it", async () => {
    await using world = await setup();
    await add(world);
    const key = await world.newKey({ scopes: ["serverless:write"], endpoints: [world.endpoint] });
    const body = { modelReferences: ["org/name"] };
    const patch = () => world.call("PATCH", `/v2/serverless/${world.endpoint}`, { key, body });
    expect((await patch()).status).toBe(403);
    await world.change(body);
    expect((await patch()).status).toBe(200);
  });
});

describe("its workers", () => {
  test("see it read-only where the public worker looks, also beside a network volume", async () => {
    await using world = await setup();
    const { id } = await add(world);
    const body = { name: "v", size: 10, dataCenter: "EU-RO-1" };
    const volume = (await world.call("POST", "/v2/network-volumes", { body })).json.id;
    await name(world, ["org/name"]);
    await world.pass(2);
    const model = { volume: `model-${id}`, path: PATH, readOnly: true };
    expect(world.running()[0]?.instance.spec.mounts).toEqual([model]);
    expect(readAs(world, "model.bin")).toBe("weights");
    await world.change({ networkVolumes: [volume] });
    await world.pass(20);
    expect(world.running().at(-1)?.instance.spec.mounts).toEqual([{ volume, path: "/runpod-volume" }, model]);
  });

  test("wait while it is copied and say how much is there, and start then", async () => {
    const held = Promise.withResolvers<void>();
    const files = folder();
    const open = files.open;
    files.open = async (path) => {
      if (path.at(-1) === "model.bin") await held.promise;
      return open(path);
    };
    await using world = await setup({ files });
    await add(world);
    await name(world, ["org/name"]);
    const job = await world.submit();
    await world.pass(2);
    expect(await waits(world)).toMatchObject({
      code: "model-filling",
      text: "model org/name is being copied: 0 % are there",
    });
    expect(await world.status(job)).toMatchObject({ waitReasonCode: "model-filling" });
    held.resolve();
    await world.pass(3);
    expect(readAs(world, "model.bin")).toBe("weights");
  });

  test("that are new see a newer revision, and a deletion of the older one waits for those that have it", async () => {
    let files = folder("one");
    await using world = await setup({ openModelFolder: async () => files } as FleetOptions);
    const first = await add(world, { revision: "r1" });
    await name(world, ["org/name"]);
    await world.pass(2);
    files = folder("two");
    await add(world, { revision: "r2" });
    expect((await world.call("DELETE", `${MODELS}/${first.id}`)).status).toBe(204);
    await world.pass(6);
    expect(readAs(world, "model.bin")).toBe("one");
    await world.change({ env: { A: "b" } });
    await world.pass(30);
    expect(readAs(world, "model.bin")).toBe("two");
    expect((await world.compute.volumes!.list()).length).toBe(1);
  });

  test("of an account that may no longer use it wait and say so", async () => {
    await using world = await setup();
    const { id } = await add(world);
    const key = await world.strangersKey();
    const account = (await world.call("GET", "/v2/account", { key })).json.id;
    await world.call("PATCH", `${MODELS}/${id}`, { body: { accounts: [account] } });
    const body = { name: "e", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }], modelReferences: ["org/name"] };
    const made = await world.call("POST", "/v2/serverless", { key, body });
    await world.call("PATCH", `${MODELS}/${id}`, { body: { accounts: [] } });
    await world.call("POST", `/v2/${made.json.id}/run`, { key, body: { input: {} } });
    await world.pass(2);
    expect(await waits(world)).toMatchObject({ code: "model-gone" });
  });

  test("run on the machine that has it until another node has got it from there, byte by byte", async () => {
    const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
    const machine = (name: string) => ({ machine: { name, capacity: { vcpu: 2, diskGb: 9000 } } });
    await using first = await setup({ signals, ...machine("first") });
    const more = { signals, store: first.store, found: first, endpoint: first.endpoint };
    await using second = await setupFleet({ ...more, ...machine("second") });
    const pass = async (seconds: number) => {
      for (let s = 0; s < seconds; s++) {
        await first.pass(1);
        await second.settle();
      }
    };
    await pass(6);
    const { id } = await add(first);
    await first.change({ modelReferences: ["org/name"], workers: { min: 2, max: 2 } });
    await pass(15);
    const { copies } = (await first.call("GET", `${MODELS}/${id}`)).json;
    const shown = copies.map(({ machine, status, bytes }: Record<string, unknown>) => [machine, status, bytes]);
    expect(shown.toSorted()).toEqual([
      ["first", "READY", 9],
      ["second", "READY", 9],
    ]);
    expect([readAs(first, "model.bin"), readAs(second, "model.bin")]).toEqual(["weights", "weights"]);
  });

  test("find no machine that has it if none mounts volumes", async () => {
    await using world = await setup({ machine: { can: { volumes: false } } });
    const added = await add(world);
    expect(added).toMatchObject({ status: "FILLING", copies: [], statusReasonCode: "model-filling" });
    expect(added.statusReason).toBe("no machine has begun to copy model org/name: it needs one that mounts volumes");
  });
});
