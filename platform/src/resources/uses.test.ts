/** When a thing is deleted at the moment something begins to use it, one of the two is refused, whichever comes first. */
import { expect, test } from "vitest";
import { CPU_POD, type PodWorld, setupPods } from "../../tests/pod-world.ts";
import { InterceptedStore } from "../../tests/world.ts";

const GPUS = { capacity: { gpus: [{ type: "NVIDIA A40", count: 8, virtual: false }], cuda: "12.8" } };
const CLUSTER = { name: "c", type: "TRAINING", compute: { gpuTypeId: "NVIDIA A40", gpuCountPerPod: 1, podCount: 2 } };
const SERVERLESS_CPU = { name: "e", cpu: [CPU_POD.cpu] };
const IMAGE = { image: "host:/app" };

interface Used {
  path: string;
  body: object;
  gone: string;
}

const POD_TEMPLATE: Used = { path: "/v2/templates", body: { name: "t", ...IMAGE }, gone: "template not found" };
const TEMPLATE: Used = { ...POD_TEMPLATE, body: { name: "t", image: "example/t:1", serverless: true } };
const REGISTRY: Used = {
  path: "/v2/registries",
  body: { name: "r", username: "u", password: "p" },
  gone: "registry not found",
};
const VOLUME: Used = {
  path: "/v2/network-volumes",
  body: { name: "v", size: 10, dataCenter: "EU-RO-1" },
  gone: "network volume not found",
};

type User = [string, Used, string, (id: string) => object];

const users: User[] = [
  ["a Pod from a template", POD_TEMPLATE, "/v2/pods", (templateId) => ({ name: "p", cpu: CPU_POD.cpu, templateId })],
  ["a cluster from a template", POD_TEMPLATE, "/v2/clusters", (templateId) => ({ ...CLUSTER, templateId })],
  ["a Pod with a registry", REGISTRY, "/v2/pods", (registry) => ({ ...CPU_POD, registry })],
  [
    "a Pod with a volume",
    VOLUME,
    "/v2/pods",
    (volumeId) => ({ ...CPU_POD, mounts: { network: [{ volumeId, path: "/models" }] } }),
  ],
  ["an endpoint from a template", TEMPLATE, "/v2/serverless", (templateId) => ({ ...SERVERLESS_CPU, templateId })],
  [
    "an endpoint with a registry",
    REGISTRY,
    "/v2/serverless",
    (registry) => ({ ...SERVERLESS_CPU, ...IMAGE, registry }),
  ],
  [
    "an endpoint with a volume",
    VOLUME,
    "/v2/serverless",
    (id) => ({ ...SERVERLESS_CPU, ...IMAGE, networkVolumes: [id] }),
  ],
  [
    "an endpoint that follows a template",
    TEMPLATE,
    "/v1/endpoints",
    (templateId) => ({ name: "e", templateId, computeType: "CPU", vcpuCount: 2 }),
  ],
];

async function setup({ path, body }: Used) {
  const store = new InterceptedStore();
  const world = await setupPods({ store, machine: GPUS });
  const { status, json, text } = await world.call("POST", path, { body });
  if (status !== 201) throw new Error(text);
  return { world, store, used: json.id as string };
}

/** Runs `act` right before the first commit that inserts or removes a record of these kinds. */
function before(
  store: InterceptedStore,
  does: "insert" | "remove",
  kinds: readonly string[],
  act: () => Promise<unknown>,
) {
  store.beforeCommit = async (writes) => {
    const isMeant = writes.some((write) =>
      write.do === "insert"
        ? does === "insert" && kinds.includes(write.record.kind)
        : does === write.do && kinds.includes(write.kind),
    );
    if (!isMeant) return;
    store.beforeCommit = () => {};
    await act();
  };
}

const make = (world: PodWorld, path: string, body: object) => world.call("POST", path, { body });

test.each(users)("%s: what is deleted before it is made refuses it", async (_, thing, path, body) => {
  const { world, store, used } = await setup(thing);
  await using _world = world;
  let deleted: number | undefined;
  before(store, "insert", ["pod", "endpoint"], async () => {
    deleted = (await world.call("DELETE", `${thing.path}/${used}`)).status;
  });
  const made = await make(world, path, body(used));
  expect(deleted).toBe(204);
  expect([made.status, made.json.detail ?? made.json.message]).toEqual([404, thing.gone]);
  expect((await world.call("GET", path)).text).not.toContain(used);
});

test.each(users)("%s: what is made before the deletion refuses that", async (_, thing, path, body) => {
  const { world, store, used } = await setup(thing);
  await using _world = world;
  let made: number | undefined;
  before(store, "remove", ["template", "registry", "network-volume"], async () => {
    made = (await make(world, path, body(used))).status;
  });
  const deleted = await world.call("DELETE", `${thing.path}/${used}`);
  expect(made).toBe(path.startsWith("/v1") ? 200 : 201);
  expect([deleted.status, deleted.json.detail]).toEqual([400, expect.stringContaining("is in use by")]);
  expect((await world.call("GET", `${thing.path}/${used}`)).status).toBe(200);
});

test("a Pod that is given a template while that is deleted is refused, and stays what it was", async () => {
  const { world, store, used } = await setup(POD_TEMPLATE);
  await using _world = world;
  const { id } = await world.create({ ...CPU_POD, image: "host:/other" });
  let isOver = false;
  store.beforeCommit = async (writes) => {
    if (isOver || !writes.some((write) => write.do === "patch" && write.kind === "pod")) return;
    isOver = true;
    expect((await world.call("DELETE", `/v2/templates/${used}`)).status).toBe(204);
  };
  const changed = await world.change(id, { templateId: used });
  expect([changed.status, changed.json.detail]).toEqual([404, "template not found"]);
  expect((await world.pod(id)).image).toBe("host:/other");
});
