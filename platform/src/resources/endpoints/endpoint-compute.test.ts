/** The compute of an endpoint: GPUs by pool or type, CPU flavors, workers, scaling and the start command. */
import { describe, expect, test } from "vitest";
import { setup } from "../../../tests/world.ts";

const ENDPOINTS = "/v2/serverless";
const PLAIN = { name: "n", image: "busybox" };
const CPU = { ...PLAIN, cpu: [{ id: "cpu3c", vcpuCount: 2 }] };

async function create(body: object) {
  await using world = await setup();
  return await world.call("POST", ENDPOINTS, { body });
}

async function expectRefusal(body: object, status: number, reason: string): Promise<void> {
  const { status: got, json } = await create(body);
  expect([got, json.errors?.[0] ?? json.detail]).toEqual([status, reason]);
}

describe("exactly one of gpu and cpu", () => {
  test.each([[PLAIN], [{ ...CPU, gpu: { pools: ["ADA_24"] } }]])("400: %j", (body) =>
    expectRefusal(body, 400, "Exactly one of 'gpu' and 'cpu' must be set."),
  );

  test("a record shows the one it has", async () => {
    expect((await create(CPU)).json).not.toHaveProperty("gpu");
    expect((await create({ ...PLAIN, gpu: { pools: ["ADA_24"] } })).json).not.toHaveProperty("cpu");
  });
});

describe("gpu", () => {
  const shown = async (gpu: object) => (await create({ ...PLAIN, gpu })).json.gpu;

  test("pools are kept in the order in which they were sent, each once", async () => {
    expect(await shown({ pools: ["HOPPER_141", "ADA_24", "HOPPER_141"], count: 2 })).toEqual({
      pools: ["HOPPER_141", "ADA_24"],
      count: 2,
      allowedCudaVersions: [],
      minCudaVersion: null,
    });
  });

  test("types of the pools can be excluded, with spaces around them", async () => {
    const { pools, excludedTypes } = await shown({ pools: ["AMPERE_48"], excludedTypes: ["  NVIDIA A40 "] });
    expect([pools, excludedTypes]).toEqual([["AMPERE_48"], ["NVIDIA A40"]]);
  });

  test("an id means exactly that type: its pool without the others", async () => {
    const { pools, excludedTypes, count } = await shown({ id: "NVIDIA L4", count: 4 });
    expect([pools, excludedTypes, count]).toEqual([["AMPERE_24"], ["NVIDIA GeForce RTX 3090", "NVIDIA RTX A5000"], 4]);
  });

  test("a type that stands in no pool is a pool of its own", async () => {
    const gpu = await shown({ id: "NVIDIA A30" });
    expect([gpu.pools, gpu.excludedTypes]).toEqual([["NVIDIA A30"], undefined]);
    expect(await shown({ pools: ["NVIDIA A30"] })).toEqual(gpu);
  });

  test("CUDA versions are listed or have a least one", async () => {
    expect(await shown({ pools: ["ADA_24"], allowedCudaVersions: ["12.8", "12.4"] })).toMatchObject({
      allowedCudaVersions: ["12.8", "12.4"],
      minCudaVersion: null,
    });
    expect(await shown({ pools: ["ADA_24"], minCudaVersion: "12.4" })).toMatchObject({
      allowedCudaVersions: [],
      minCudaVersion: "12.4",
    });
    expect(await shown({ pools: ["ADA_24"], minCudaVersion: "" })).toMatchObject({ minCudaVersion: null });
  });

  test.each([
    [{}, "$.gpu: one of 'pools' and 'id' is required"],
    [{ count: 1 }, "$.gpu: one of 'pools' and 'id' is required"],
    [{ excludedTypes: ["NVIDIA A40"] }, "$.gpu: 'excludedTypes' needs 'pools' beside it"],
    [{ pools: [] }, "$.gpu.pools: must have at least 1 item"],
    [{ pools: "ADA_24" }, "$.gpu.pools: must be array"],
    [
      { pools: ["ADA_24"], count: 0 },
      "$.gpu.count: must be >= 1; write 'cpu' in place of 'gpu' for compute without GPUs",
    ],
    [{ pools: ["ADA_24"], bogus: 1 }, "$.gpu: additional properties 'bogus' not allowed"],
    [{ pools: ["ADA_48_PRO"], excludedTypes: ["-NVIDIA L40"] }, "$.gpu.excludedTypes[0]: must match ^\\s*[^-\\s]"],
    [
      { pools: ["ADA_48_PRO"], excludedTypes: ["NVIDIA L40", "NVIDIA L40"] },
      "$.gpu.excludedTypes: items 0 and 1 are the same",
    ],
    [{ pools: ["ADA_24"], minCudaVersion: "12" }, "$.gpu.minCudaVersion: must match ^(\\d+\\.\\d+)?$"],
    [{ pools: ["ADA_24"], allowedCudaVersions: ["new"] }, "$.gpu.allowedCudaVersions[0]: must match ^\\d+\\.\\d+$"],
  ])("422: %j", (gpu, error) => expectRefusal({ ...PLAIN, gpu }, 422, error));

  test.each([
    [{ pools: ["SPARC_8"] }, "There is no GPU pool 'SPARC_8'; there are "],
    [{ id: "NVIDIA L5" }, "There is no GPU type 'NVIDIA L5'."],
    [{ id: "NVIDIA L4", pools: ["ADA_24"] }, "'gpu.id' stands alone: it cannot be combined with 'gpu.pools'."],
    [{ pools: ["ADA_24"], excludedTypes: ["NVIDIA L4"] }, "'gpu.excludedTypes' names 'NVIDIA L4', which is in none"],
    [{ pools: ["ADA_24"], excludedTypes: ["NVIDIA GeForce RTX 4090"] }, "'gpu.excludedTypes' leaves no GPU type."],
    [
      { pools: ["ADA_24"], allowedCudaVersions: ["12.8"], minCudaVersion: "12.4" },
      "'gpu.allowedCudaVersions' and 'gpu.minCudaVersion' exclude each other",
    ],
  ])("400: %j", async (gpu, detail) => {
    const { status, json } = await create({ ...PLAIN, gpu });
    expect([status, json.detail]).toEqual([400, expect.stringContaining(detail)]);
  });
});

describe("cpu", () => {
  test("flavors are kept in their order, each with the memory that belongs to it", async () => {
    const cpu = [
      { id: "cpu5m", vcpuCount: 4 },
      { id: "cpu3c", vcpuCount: 32 },
    ];
    expect((await create({ ...PLAIN, cpu })).json.cpu).toEqual([
      { id: "cpu5m", vcpuCount: 4, memory: 32 },
      { id: "cpu3c", vcpuCount: 32, memory: 64 },
    ]);
  });

  const two = { id: "cpu3c", vcpuCount: 2 };
  test.each([
    [[], "$.cpu: must have at least 1 item"],
    [[two, two], "$.cpu: items 0 and 1 are the same"],
    [[{ id: "cpu3c" }], "$.cpu[0]: property 'vcpuCount' is required"],
    [[{ ...two, memory: 4 }], "$.cpu[0]: additional properties 'memory' not allowed"],
    [[{ id: "cpu3c", vcpuCount: 1 }], "$.cpu[0].vcpuCount: must be >= 2"],
  ])("422: %j", (cpu, error) => expectRefusal({ ...PLAIN, cpu }, 422, error));

  test.each([
    [{ id: "cpu9z", vcpuCount: 2 }, "There is no CPU flavor 'cpu9z'."],
    [{ id: "cpu3c", vcpuCount: 6 }, "'vcpuCount' of 'cpu3c' must be a power of two from 2 to 32."],
    [{ id: "cpu3c", vcpuCount: 64 }, "'vcpuCount' of 'cpu3c' must be a power of two from 2 to 32."],
  ])("400: %j", (flavor, detail) => expectRefusal({ ...PLAIN, cpu: [flavor] }, 400, detail));
});

describe("workers and scaling", () => {
  test("one setting of the workers leaves the others at their defaults", async () => {
    expect((await create({ ...CPU, workers: { max: 9 } })).json.workers).toEqual({ min: 0, max: 9, idleTimeout: 10 });
  });

  test("no workers at all is a way to pause", async () => {
    expect((await create({ ...CPU, workers: { max: 0 } })).json.workers).toMatchObject({ min: 0, max: 0 });
  });

  test("400: more workers at least than at most", () =>
    expectRefusal({ ...CPU, workers: { min: 4 } }, 400, "'workers.min' is larger than 'workers.max'."));

  test.each([
    [{ min: -1 }, "$.workers.min: must be >= 0"],
    [{ max: -1 }, "$.workers.max: must be >= 0"],
    [{ idleTimeout: 0 }, "$.workers.idleTimeout: must be >= 1"],
    [{ idleTimeout: 3601 }, "$.workers.idleTimeout: must be <= 3600"],
    [{ bogus: 1 }, "$.workers: additional properties 'bogus' not allowed"],
  ])("422: workers %j", (workers, error) => expectRefusal({ ...CPU, workers }, 422, error));

  test.each([
    [{ type: "QUEUE_DELAY" }, "$.scaling: property 'queueDelay' is required"],
    [{ type: "QUEUE_DELAY", queueDelay: 0.4 }, "$.scaling.queueDelay: must be >= 0.5"],
    [
      { type: "QUEUE_DELAY", queueDelay: 1, requestCount: 1 },
      "$.scaling: additional properties 'requestCount' not allowed",
    ],
    [{ type: "REQUEST_COUNT", requestCount: 0 }, "$.scaling.requestCount: must be >= 1"],
    [
      { type: "REQUEST_COUNT", requestCount: 1, queueDelay: 1 },
      "$.scaling: additional properties 'queueDelay' not allowed",
    ],
    [{ type: "MAGIC" }, "$.scaling.type: must be one of QUEUE_DELAY, REQUEST_COUNT"],
  ])("422: scaling %j", (scaling, error) => expectRefusal({ ...CPU, scaling }, 422, error));

  test("a queue scaled by requests idles a fixed time: none is shown, and none can be set", async () => {
    const scaling = { type: "REQUEST_COUNT", requestCount: 2 };
    expect((await create({ ...CPU, scaling })).json).toMatchObject({ workers: { min: 0, max: 3 }, scaling });
    expect((await create({ ...CPU, scaling })).json.workers).not.toHaveProperty("idleTimeout");
    const { status, json } = await create({ ...CPU, scaling, workers: { idleTimeout: 5 } });
    expect([status, json.detail]).toEqual([400, expect.stringContaining("'workers.idleTimeout' does not apply")]);
  });

  test("a load balancer counts requests by default, idles as told, and takes no other scaling", async () => {
    const balancer = { ...CPU, type: "LOAD_BALANCER" };
    expect((await create({ ...balancer, workers: { idleTimeout: 7 } })).json).toMatchObject({
      type: "LOAD_BALANCER",
      scaling: { type: "REQUEST_COUNT", requestCount: 4 },
      workers: { idleTimeout: 7 },
    });
    await expectRefusal(
      { ...balancer, scaling: { type: "QUEUE_DELAY", queueDelay: 4 } },
      422,
      "$.scaling: a LOAD_BALANCER endpoint takes REQUEST_COUNT scaling only",
    );
  });
});

describe("the start command", () => {
  const command = async (given: object) => {
    const { args, entrypoint, cmd } = (await create({ ...CPU, ...given })).json;
    return { args, entrypoint, cmd };
  };

  test("a shell line is a command, and comes back as it was sent", async () => {
    const args = `python -u "my handler.py"  --level 'very high'`;
    const cmd = ["python", "-u", "my handler.py", "--level", "very high"];
    expect(await command({ args })).toEqual({ args, entrypoint: [], cmd });
  });

  test("JSON text with entrypoint and cmd is taken apart", async () => {
    const args = '{"entrypoint": ["/bin/sh"], "cmd": ["-c", "true"]}';
    expect(await command({ args })).toEqual({ args, entrypoint: ["/bin/sh"], cmd: ["-c", "true"] });
  });

  test("lists are put together into args", async () => {
    expect(await command({ entrypoint: ["python"], cmd: ["a b.py"] })).toEqual({
      args: '{"entrypoint":["python"],"cmd":["a b.py"]}',
      entrypoint: ["python"],
      cmd: ["a b.py"],
    });
  });

  test("args beside lists must say the same", async () => {
    expect((await command({ args: "run me", cmd: ["run", "me"] })).args).toBe("run me");
    const { status, json } = await create({ ...CPU, args: "run me", cmd: ["run", "you"] });
    expect([status, json.detail]).toEqual([400, expect.stringContaining("describe different commands")]);
  });

  test.each([["[1,2]"], ["5"], ["null"], ['"x"'], ['{"cmd":"sh"}'], ['{"bogus":[]}'], ['{"entrypoint":[1]}']])(
    "%s is a shell line like any other",
    async (args) => {
      const { entrypoint, cmd } = await command({ args });
      expect([entrypoint, cmd.length]).toEqual([[], 1]);
    },
  );
});
