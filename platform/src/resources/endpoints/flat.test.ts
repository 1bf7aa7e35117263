/** The flat dialect of endpoints, beyond what all dialects have in common. */
import { expect, test } from "vitest";
import { flatConformance } from "../../kernel/flat.conformance.ts";
import type { SeededRandom } from "../../kernel/random.ts";
import { failures } from "../../kernel/validate.ts";
import { anyGpu, cpuFrom } from "./compute.ts";
import { created, updated } from "./fields.ts";
import { endpointDialect } from "./flat.ts";
import { flashBootModes, type KeptEndpoint } from "./model.ts";

const { terms } = endpointDialect;

const whole: Required<KeptEndpoint> = {
  name: "e",
  type: "QUEUE",
  image: "example/image:1",
  args: "run it",
  entrypoint: [],
  cmd: ["run", "it"],
  disk: 7,
  env: { A: "b" },
  ports: ["8080/http"],
  registry: null,
  gpu: { types: anyGpu().types.slice(0, 2), count: 2, allowedCudaVersions: ["12.4"], minCudaVersion: null },
  cpu: cpuFrom([{ id: "cpu3c", vcpuCount: 4 }]),
  workers: { min: 1, max: 4, idleTimeout: 60, warmup: { input: { a: 1 } } },
  scaling: { type: "QUEUE_DELAY", queueDelay: 3 },
  dataCenterIds: ["EU-RO-1"],
  networkVolumes: [],
  modelReferences: ["org/name"],
  volumePlaces: [{ id: "v", dataCenter: "EU-RO-1", machine: null }],
  timeout: 60_000,
  flashboot: "FLASHBOOT",
  template: "aaaaaaaaaaaaaa",
  follows: true,
  templateName: "t",
  release: 3,
  claimsName: true,
  createdBy: "k",
  sharedAs: "a-model",
  apartSince: 1,
  hubReleaseId: "millrace.echo@1",
};

flatConformance("endpoints", {
  dialect: endpointDialect,
  whole: [whole, { ...whole, scaling: { type: "REQUEST_COUNT", requestCount: 2 } }],
  any: anyEndpoint,
  made: (said) => ({
    ...created(said),
    release: whole.release,
    createdBy: whole.createdBy,
    sharedAs: whole.sharedAs,
    apartSince: whole.apartSince,
    hubReleaseId: whole.hubReleaseId,
    claimsName: whole.claimsName,
  }),
});

test("an update says what it says and nothing else", () => {
  const { gpu: _, ...plain } = whole;
  const onCpu = { ...plain, workers: { min: 1, max: 4, idleTimeout: 60 } };
  expect(updated(onCpu, terms({ workersMax: 9 }, onCpu))).toMatchObject({ workers: { ...onCpu.workers, max: 9 } });
  expect(terms({ scalerValue: 8 }, onCpu)).toEqual({ scaling: { type: "QUEUE_DELAY", queueDelay: 8 } });
  expect(terms({ scalerType: "REQUEST_COUNT" }, onCpu)).toEqual({
    scaling: { type: "REQUEST_COUNT", requestCount: 3 },
  });
  expect(terms({ gpuCount: 2, gpuTypeIds: ["b", "a"] })).toEqual({ gpu: { count: 2, types: ["b", "a"] } });
});

test("the order of GPU types is the caller's, whatever their pools", () => {
  const types = anyGpu().types.toReversed().slice(0, 5);
  const { gpu } = created(terms({ name: "e", "template.imageName": "i", gpuTypeIds: types }));
  expect(gpu?.types).toEqual(types);
});

test("a flavor says its processors, and a machine of another name is none", () => {
  expect(terms({ instanceIds: ["cpu3c-4-8", "cpu5c-2"] })).toEqual({
    cpu: [
      { id: "cpu3c", vcpuCount: 4 },
      { id: "cpu5c", vcpuCount: 2 },
    ],
  });
  expect(failures(endpointDialect.create, { instanceIds: ["cpu3c"] })).not.toEqual([]);
});

function anyEndpoint(random: SeededRandom): KeptEndpoint {
  const { gpu, cpu, volumePlaces: _, follows: __, templateName: ___, ...plain } = whole;
  const allowedCudaVersions = random.chance(0.5) ? ["12.4", "12.8"] : [];
  const minCudaVersion = allowedCudaVersions.length === 0 && random.chance(0.5) ? "12.1" : null;
  const types = anyGpu().types.filter(() => random.chance(0.3));
  const onGpu = { ...gpu, types: types.length > 0 ? types : gpu.types, allowedCudaVersions, minCudaVersion };
  return {
    ...plain,
    ...(random.chance(0.5) ? { gpu: onGpu } : { cpu }),
    name: `e${random.below(1000)}`,
    template: random.chance(0.5) ? "aaaaaaaaaaaaaa" : null,
    disk: 1 + random.below(100),
    workers: { min: random.below(3), max: 3 + random.below(9), idleTimeout: 1 + random.below(100) },
    scaling: { type: "QUEUE_DELAY", queueDelay: 1 + random.below(60) },
    timeout: 5000 + random.below(100_000),
    flashboot: random.pick(flashBootModes),
  };
}
