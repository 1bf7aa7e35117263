/** A trial field added to a model by one line: every face shows it, it is kept, changed and cleared, and old records get its default. */
import { describe, expect, test, vi } from "vitest";
import type * as Kit from "../src/kernel/resource.ts";
import { dataOf } from "./graphql.ts";
import { setupPods, TWO_GPUS } from "./pod-world.ts";
import type { World } from "./world.ts";

// Adds one line each to `given` of these models, before anything is made of them. The mock applies only to this file.
vi.mock("../src/kernel/resource.ts", async (original) => {
  const kit = await original<typeof Kit>();
  const { nullable, t } = await import("../src/kernel/schema.ts");
  const probe = t.Optional(t.Integer({ minimum: 0, maximum: 100, description: "Put in by a test.", "x-boot": false }));
  const note = t.Optional({
    ...nullable(t.String({ maxLength: 100 })),
    default: null,
    description: "Put in by a test.",
    "x-boot": false,
  });
  const probed = ["Template", "NetworkVolume", "Endpoint", "Pod", "Cluster", "Secret"];
  const resource: typeof kit.resource = (name, fields) =>
    kit.resource(name, probed.includes(name) ? { ...fields, given: { ...fields.given, probe, note } } : fields);
  return { ...kit, resource };
});

/** One surface: it makes a thing with a probe value, reads the value, and changes it. Each answers with the record. */
interface Face {
  make(world: World, probe: number | string): Promise<Shown>;
  read(world: World, id: string): Promise<Shown>;
  change(world: World, id: string, probe: number): Promise<Shown>;
}

interface Shown {
  id: string;
  probe?: number;
  note?: string | null;
}

const rest = (path: string, body: object): Face => ({
  make: async (world, probe) => ok(await world.call("POST", path, { body: { ...body, probe } })),
  read: async (world, id) => ok(await world.call("GET", `${path}/${id}`)),
  change: async (world, id, probe) => ok(await world.call("PATCH", `${path}/${id}`, { body: { probe } })),
});

function ok({ status, json, text }: Awaited<ReturnType<World["call"]>>): Shown {
  if (status >= 300) throw new Error(`${status}: ${text}`);
  return json;
}

interface Named {
  make: string;
  change: string;
  /** The name of the id in an input. */
  id: string;
  input: object;
  list: string;
}

const graphql = ({ make, change, id: named, input, list }: Named): Face => {
  const done = async (world: World, field: string, said: object) =>
    (await dataOf(world, `mutation { done: ${field}(input: ${literal(said)}) { id probe } }`)).done;
  return {
    make: (world, probe) => done(world, make, { ...input, probe }),
    change: (world, id, probe) => done(world, change, { [named]: id, probe }),
    read: async (world, id) => {
      const { myself } = await dataOf(world, `{ myself { ${list} { id probe } } }`);
      return myself[list].find((one: Shown) => one.id === id);
    },
  };
};

/** A value as a document writes it. */
function literal(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(literal).join()}]`;
  return `{${Object.entries(value).map(([name, inner]) => `${name}: ${literal(inner)}`)}}`;
}

const POD = { name: "2", image: "host:/app", cpu: { id: "cpu3c", vcpuCount: 2 } };

const faces: Record<string, { model: string; of: Record<string, Face> }> = {
  template: {
    model: "Template",
    of: {
      "REST v2": rest("/v2/templates", { name: "2", image: "busybox" }),
      "REST v1": rest("/v1/templates", { name: "1", imageName: "busybox" }),
      GraphQL: graphql({
        ...{ make: "saveTemplate", change: "saveTemplate", id: "id", list: "podTemplates" },
        input: { name: "G", imageName: "busybox" },
      }),
    },
  },
  "network volume": {
    model: "NetworkVolume",
    of: {
      "REST v2": rest("/v2/network-volumes", { name: "2", size: 10, dataCenter: "EU-RO-1" }),
      "REST v1": rest("/v1/networkvolumes", { name: "1", size: 10, dataCenterId: "EU-RO-1" }),
      GraphQL: graphql({
        ...{ make: "createNetworkVolume", change: "updateNetworkVolume", id: "id", list: "networkVolumes" },
        input: { name: "G", size: 10, dataCenterId: "EU-RO-1" },
      }),
    },
  },
  endpoint: {
    model: "Endpoint",
    of: {
      "REST v2": rest("/v2/serverless", { name: "2", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] }),
      "REST v1": rest("/v1/endpoints", { name: "1", templateId: "millrace-echo", computeType: "CPU" }),
      GraphQL: graphql({
        ...{ make: "saveEndpoint", change: "saveEndpoint", id: "id", list: "endpoints" },
        input: { name: "G", instanceIds: ["cpu3c-2-4"], template: { name: "t", imageName: "busybox" } },
      }),
    },
  },
  Pod: {
    model: "Pod",
    of: {
      "REST v2": rest("/v2/pods", POD),
      "REST v1": rest("/v1/pods", { name: "1", imageName: "host:/app", computeType: "CPU", cpuFlavorIds: ["cpu3c"] }),
      GraphQL: graphql({
        ...{ make: "deployCpuPod", change: "podEditJob", id: "podId", list: "pods" },
        input: { name: "G", imageName: "host:/app", instanceId: "cpu3c-2-4" },
      }),
    },
  },
};

describe.each(Object.entries(faces))("a field of a %s", (_what, { of }) => {
  test.each(Object.entries(of))("that is said by %s is read by all, and changed by all", async (_surface, maker) => {
    await using world = await setupPods();
    const { id, probe } = await maker.make(world, 1);
    expect(probe).toBe(1);
    const surfaces = Object.values(of);
    for (const [i, surface] of surfaces.entries()) {
      expect((await surface.change(world, id, 10 + i)).probe).toBe(10 + i);
      for (const reader of surfaces) expect((await reader.read(world, id)).probe).toBe(10 + i);
    }
  });

  test.each(Object.entries(of))("is held to its schema by %s", async (_surface, maker) => {
    await using world = await setupPods();
    await expect(maker.make(world, 101)).rejects.toThrow(/probe/);
    await expect(maker.make(world, "1")).rejects.toThrow(/probe|Int/);
  });
});

test.each(Object.values(faces).map(({ model, of }) => [model, Object.keys(of)] as const))(
  "a field of a %s is in the OpenAPI documents",
  async (model, surfaces) => {
    await using world = await setupPods();
    for (const version of [1, 2]) {
      if (!surfaces.includes(`REST v${version}`)) continue;
      const { schemas } = (await world.call("GET", `/v${version}/openapi.json`)).json.components;
      const having = Object.keys(schemas).filter((name) => schemas[name].properties?.probe !== undefined);
      const shapes =
        version === 1
          ? [`${model}CreateInput`, `${model}UpdateInput`]
          : [`Create${model}Request`, `Update${model}Request`];
      expect(having).toEqual(expect.arrayContaining([model, ...shapes]));
    }
  },
);

/** By path in REST v2: the kind of its records, and a body that makes one. */
const things: Record<string, [kind: string, body: object]> = {
  templates: ["template", { name: "2", image: "busybox" }],
  "network-volumes": ["network-volume", { name: "2", size: 10, dataCenter: "EU-RO-1" }],
  serverless: ["endpoint", { name: "2", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] }],
  pods: ["pod", POD],
  clusters: [
    "cluster",
    {
      ...{ name: "2", type: "APPLICATION", image: "host:/app" },
      compute: { gpuTypeId: "NVIDIA A40", gpuCountPerPod: 1, podCount: 2 },
    },
  ],
  "account/secrets": ["secret", { name: "two", value: "v" }],
};

describe.each(Object.entries(things))("a field that may be null, of /v2/%s", (path, [kind, body]) => {
  const setUp = () => setupPods({ machine: TWO_GPUS });
  const at = `/v2/${path}`;

  test("has its default where nobody says it, is kept, changed, and cleared", async () => {
    await using world = await setUp();
    const { id, note } = ok(await world.call("POST", at, { body }));
    expect(note).toBeNull();
    for (const said of ["first", "second", null, "third"]) {
      expect(ok(await world.call("PATCH", `${at}/${id}`, { body: { note: said } })).note).toBe(said);
      expect(ok(await world.call("GET", `${at}/${id}`)).note).toBe(said);
    }
  });

  test("is said at creation, and listed", async () => {
    await using world = await setUp();
    const made = ok(await world.call("POST", at, { body: { ...body, note: "said" } }));
    expect(made.note).toBe("said");
    const [listed] = Object.values((await world.call("GET", at)).json).find(Array.isArray)!;
    expect(listed).toMatchObject({ id: made.id, note: "said" });
  });

  test("is at its default in a record that is older than the field", async () => {
    await using world = await setUp();
    const { id } = ok(await world.call("POST", at, { body }));
    const { version, doc, ...record } = (await world.store.get(kind, id))!;
    expect(doc).toHaveProperty("note", null);
    await world.store.commit([
      { do: "remove", kind, id },
      { do: "insert", record: { ...record, doc: { ...doc, note: undefined }, unique: [] } },
    ]);
    expect(ok(await world.call("GET", `${at}/${id}`)).note).toBeNull();
  });

  test("is held to its schema", async () => {
    await using world = await setUp();
    const { status, text } = await world.call("POST", at, { body: { ...body, note: "x".repeat(101) } });
    expect([status, text]).toEqual([422, expect.stringContaining("$.note")]);
  });
});
