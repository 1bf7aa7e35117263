/** The flat dialect says all of an endpoint, and what it says is the same endpoint. */
import { expect, test } from "vitest";
import { realRandom, SeededRandom } from "../../kernel/random.ts";
import { anyGpu, cpuFrom } from "./compute.ts";
import { created, updated } from "./fields.ts";
import { flatFields, flatOf, termsOf, unsaid } from "./flat.ts";
import { flashBootModes, type KeptEndpoint } from "./model.ts";

/** With every field there is: the compiler asks for new ones. */
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
  gpu: { types: anyGpu.types.slice(0, 2), count: 2, allowedCudaVersions: ["12.4"], minCudaVersion: null },
  cpu: cpuFrom([{ id: "cpu3c", vcpuCount: 4 }]),
  workers: { min: 1, max: 4, idleTimeout: 60, warmup: { input: { a: 1 } } },
  scaling: { type: "QUEUE_DELAY", queueDelay: 3 },
  dataCenterIds: ["EU-RO-1"],
  networkVolumes: [],
  timeout: 60_000,
  flashboot: "FLASHBOOT",
  release: 3,
};

/** Names of all fields, those of objects with theirs. */
function pathsOf(value: unknown, path: string): string[] {
  if (Array.isArray(value) && typeof value[0] === "object") return pathsOf(value[0], path);
  const isOpen = ["env", "workers.warmup"].includes(path);
  if (typeof value !== "object" || value === null || Array.isArray(value) || isOpen) return [path];
  return Object.entries(value).flatMap(([name, inner]) => pathsOf(inner, path === "" ? name : `${path}.${name}`));
}

test("each field of an endpoint is in the dialect, or left out by its name", () => {
  const all = [...pathsOf(whole, ""), "scaling.requestCount"];
  const said = Object.values(flatFields).flatMap(({ says }) => says);
  expect(all.filter((path) => !said.includes(path) && !(path in unsaid))).toEqual([]);
  expect([...said, ...Object.keys(unsaid)].filter((path) => !all.includes(path))).toEqual([]);
});

test("an endpoint that is said in the dialect and made again is the same", () => {
  const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());
  console.log(`MILLRACE_TEST_SEED=${seed}`);
  const random = new SeededRandom(seed);
  for (let i = 0; i < 300; i++) {
    const endpoint = anyEndpoint(random);
    const { release: _, ...made } = created(termsOf(flatOf(endpoint)));
    expect({ ...made, release: endpoint.release }).toEqual(endpoint);
  }
});

test("an update says what it says and nothing else", () => {
  const { gpu: _, ...plain } = whole;
  const onCpu = { ...plain, workers: { min: 1, max: 4, idleTimeout: 60 } };
  expect(updated(onCpu, termsOf({ workersMax: 9 }, onCpu))).toMatchObject({ workers: { ...onCpu.workers, max: 9 } });
  expect(termsOf({ scalerValue: 8 }, onCpu)).toEqual({ scaling: { type: "QUEUE_DELAY", queueDelay: 8 } });
  expect(termsOf({ scalerType: "REQUEST_COUNT" }, onCpu)).toEqual({
    scaling: { type: "REQUEST_COUNT", requestCount: 3 },
  });
  expect(termsOf({ gpuCount: 2, gpuTypeIds: ["b", "a"] })).toEqual({ gpu: { count: 2, types: ["b", "a"] } });
});

test("the order of GPU types is the caller's, whatever their pools", () => {
  const types = anyGpu.types.toReversed().slice(0, 5);
  const { gpu } = created(termsOf({ name: "e", "template.imageName": "i", gpuTypeIds: types }));
  expect(gpu?.types).toEqual(types);
});

function anyEndpoint(random: SeededRandom): KeptEndpoint {
  const { gpu, cpu, ...plain } = whole;
  const allowedCudaVersions = random.chance(0.5) ? ["12.4", "12.8"] : [];
  const minCudaVersion = allowedCudaVersions.length === 0 && random.chance(0.5) ? "12.1" : null;
  const types = anyGpu.types.filter(() => random.chance(0.3));
  const onGpu = { ...gpu, types: types.length > 0 ? types : gpu.types, allowedCudaVersions, minCudaVersion };
  return {
    ...plain,
    ...(random.chance(0.5) ? { gpu: onGpu } : { cpu }),
    name: `e${random.below(1000)}`,
    disk: 1 + random.below(100),
    workers: { min: random.below(3), max: 3 + random.below(9), idleTimeout: 1 + random.below(100) },
    scaling: { type: "QUEUE_DELAY", queueDelay: 1 + random.below(60) },
    timeout: 5000 + random.below(100_000),
    flashboot: random.pick(flashBootModes),
  };
}
