/** One model, many faces: every surface reads the same record, whichever surface made or changed it. */
import { describe, expect, test } from "vitest";
import { endpoints } from "../../tests/endpoint-faces.ts";
import type { Face, Resource } from "../../tests/faces.ts";
import { dataOf } from "../../tests/graphql.ts";
import { registries, templates, volumes } from "../../tests/plain-faces.ts";
import { pods } from "../../tests/pod-faces.ts";
import { setupPods } from "../../tests/pod-world.ts";
import type { World } from "../../tests/world.ts";
import { realRandom, SeededRandom } from "../kernel/random.ts";

const ROUNDS = 10;

// biome-ignore lint/suspicious/noExplicitAny: resources have different types, and only the faces of a resource read it
const resources: Record<string, Resource<any>> = {
  template: templates,
  "network volume": volumes,
  registry: registries,
  Pod: pods,
  endpoint: endpoints,
};

const cases = Object.entries(resources).flatMap(([what, resource]) =>
  Object.keys(resource.faces).map((surface) => [what, surface, resource] as const),
);

describe.each(cases)("a %s that was made through %s", (_what, maker, { any, change, faces }) => {
  const changing = Object.entries(faces).filter(
    (entry): entry is [string, Required<Face<object>>] => !!entry[1].change,
  );

  test("reads the same through every surface, and so does each change that one of them makes", async () => {
    const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());
    console.log(`MILLRACE_TEST_SEED=${seed}`);
    const random = new SeededRandom(seed);
    await using world = await setupPods({ machine: LARGE });
    for (let i = 0; i < ROUNDS; i++) {
      let thing = any(random);
      const id = await faces[maker]!.make(world, thing);
      await world.settle();
      const seen = async () => {
        const read = Object.entries(faces).map(async ([surface, face]) => [surface, await face.read(world, id)]);
        return Object.fromEntries(await Promise.all(read));
      };
      const everywhere = () => Object.fromEntries(Object.keys(faces).map((surface) => [surface, thing]));
      expect(await seen()).toEqual(everywhere());
      for (const [, face] of changing) {
        const said = change(random, thing);
        await face.change(world, id, said);
        await world.settle();
        thing = { ...thing, ...said };
        expect(await seen()).toEqual(everywhere());
      }
    }
  });
});

describe("a record of REST v1 that is sent back as it is changes nothing:", () => {
  const CPU = { computeType: "CPU", cpuFlavorIds: ["cpu3c"] };
  const sent: [string, string, object][] = [
    ["a template", "templates", { name: "t", imageName: "busybox" }],
    ["a network volume", "networkvolumes", { name: "v", size: 10, dataCenterId: "EU-RO-1" }],
    ["a Pod on CPUs", "pods", { name: "p", imageName: "host:/app", ...CPU }],
    ["a Pod on GPUs", "pods", { name: "g", imageName: "host:/app", gpuTypeIds: ["NVIDIA A40"] }],
    ["an endpoint on CPUs", "endpoints", { name: "c", templateId: "millrace-echo", ...CPU }],
    ["an endpoint on GPUs", "endpoints", { name: "e", templateId: "millrace-echo", gpuTypeIds: ["NVIDIA L4"] }],
  ];

  test.each(sent)("%s", async (_what, path, body) => {
    await using world = await setupPods({ machine: LARGE });
    const { id } = (await world.call("POST", `/v1/${path}`, { body })).json;
    await world.settle();
    const { json: before } = await world.call("GET", `/v1/${path}/${id}`);
    const { status, text } = await world.call("PATCH", `/v1/${path}/${id}`, { body: before });
    expect([status, text]).toEqual([200, expect.any(String)]);
    await world.settle();
    expect((await world.call("GET", `/v1/${path}/${id}`)).json).toEqual(before);
  });
});

describe("what an older surface cannot say of an endpoint it leaves", () => {
  const FINE = {
    ...{ name: "fine", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }], flashboot: "PRIORITY_FLASHBOOT" },
    ...{ scaling: { type: "QUEUE_DELAY", queueDelay: 0.5 }, workers: { max: 2, warmup: { input: { a: 1 } } } },
  };
  const SAVE = "mutation ($input: EndpointInput) { saveEndpoint(input: $input) { id } }";
  const READ =
    "{ myself { endpoints { id name scalerType scalerValue flashBootType templateId workersMin idleTimeout } } }";

  const patched = async (world: World, id: string, body: object) => {
    expect((await world.call("PATCH", `/v1/endpoints/${id}`, { body })).status).toBe(200);
  };
  const ways: [string, (world: World, id: string) => Promise<unknown>][] = [
    ["REST v1 that says another field", (world, id) => patched(world, id, { workersMax: 7 })],
    [
      "REST v1 that sends back what it was shown",
      async (world, id) => {
        const { json } = await world.call("GET", `/v1/endpoints/${id}`);
        await patched(world, id, { ...json, workersMax: 7 });
      },
    ],
    [
      "GraphQL that says another field",
      (world, id) => dataOf(world, SAVE, { variables: { input: { id, workersMax: 7 } } }),
    ],
    [
      "GraphQL that sends back what it was shown",
      async (world, id) => {
        const [shown] = (await dataOf(world, READ)).myself.endpoints;
        await dataOf(world, SAVE, { variables: { input: { ...shown, id, workersMax: 7 } } });
      },
    ],
  ];

  test.each(ways)("through %s", async (_how, change) => {
    await using world = await setupPods();
    const { json: made } = await world.call("POST", "/v2/serverless", { body: FINE });
    await change(world, made.id);
    const { json } = await world.call("GET", `/v2/serverless/${made.id}`);
    expect(json).toEqual({ ...made, workers: { ...made.workers, max: 7 } });
  });
});

const LARGE = {
  capacity: {
    ...{ vcpu: 512, memoryMb: 4_000_000, diskGb: 100_000, ceilings: false, cuda: "12.8" },
    gpus: [{ type: "NVIDIA A40", count: 64, virtual: false }],
  },
};
