/** Pods through REST v1: creating them in every form, finding and changing them. */
import { describe, expect, test } from "vitest";
import { CHEAP_AND_DEAR, type PodWorld, type PodWorldOptions, setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";
import type { Grant } from "../../kernel/scope.ts";

const PODS = "/v1/pods";
const GPU = { name: "box", imageName: "host:/app", gpuTypeIds: ["NVIDIA A40"] };
const CPU = { name: "box", imageName: "host:/app", computeType: "CPU" };

interface OldWorld extends PodWorld {
  post(body: object): ReturnType<PodWorld["call"]>;
  made(body?: object): Promise<Awaited<ReturnType<PodWorld["call"]>>["json"]>;
}

async function world(options: PodWorldOptions = { machine: TWO_GPUS }): Promise<OldWorld> {
  const base = await setupPods(options);
  const post = (body: object) => base.call("POST", PODS, { body });
  const made = async (body: object = GPU) => {
    const { status, json, text } = await post(body);
    if (status !== 201) throw new Error(text);
    await base.settle();
    return json;
  };
  return { ...base, post, made };
}

describe("a new Pod", () => {
  test("is answered with 201 and all that strict clients read, in whole numbers where they are integers", async () => {
    await using there = await world();
    const { status, json } = await there.post(GPU);
    expect(status).toBe(201);
    expect(json).toMatchObject({
      ...{ id: expect.any(String), name: "box", image: "host:/app", imageName: "host:/app", desiredStatus: "RUNNING" },
      ...{ consumerUserId: expect.any(String), machineId: "machine", volumeEncrypted: false, locked: false },
      ...{ gpuCount: 1, interruptible: false, env: {}, machine: {} },
      ...{ containerDiskInGb: 50, volumeInGb: 20, volumeMountPath: "/workspace", ports: ["8888/http", "22/tcp"] },
      gpu: { id: "NVIDIA A40", count: 1, displayName: "A40", securePrice: 0.44 },
      lastStatusChange: expect.stringMatching(/^Rented by User: /),
    });
    for (const field of ["vcpuCount", "memoryInGb", "containerDiskInGb", "volumeInGb", "gpuCount"])
      expect(Number.isInteger(json[field]), field).toBe(true);
    expect(json.adjustedCostPerHr).toBeGreaterThan(json.costPerHr);
    expect(json).not.toHaveProperty("cpuFlavorId");
  });

  test("without a choice of GPUs takes the cheapest that fits", async () => {
    await using there = await world({ machine: CHEAP_AND_DEAR });
    const any = { name: "any", imageName: "host:/app", volumeInGb: 0 };
    expect((await there.made(any)).gpu.id).toBe("NVIDIA RTX A4000");
    expect((await there.made({ ...any, name: "two", gpuCount: 2 })).gpu.id).toBe("NVIDIA A40");
  });

  test("is in the list at once", async () => {
    await using there = await world();
    const { json } = await there.post(GPU);
    expect((await there.call("GET", `${PODS}?name=box`)).json).toMatchObject([{ id: json.id, name: "box" }]);
  });

  test("without GPUs reads no GPU field, and has no volume of its own by default", async () => {
    await using there = await world();
    const body = {
      ...CPU,
      gpuTypeIds: ["NVIDIA A40"],
      gpuCount: 2,
      volumeInGb: 20,
      cpuFlavorIds: ["cpu3c"],
      vcpuCount: 4,
    };
    expect(await there.made(body)).toMatchObject({
      ...{ cpuFlavorId: "cpu3c", vcpuCount: 4, memoryInGb: 8, gpuCount: 0, volumeInGb: 0, computeType: "CPU" },
    });
    expect(await there.made({ ...CPU, name: "other" })).toMatchObject({ vcpuCount: 2, volumeInGb: 0 });
  });

  test("without GPUs that asks for a volume is told why it gets none", async () => {
    await using there = await world();
    const { status, json } = await there.post({ ...CPU, volumeInGb: 50 });
    expect([status, json.message]).toEqual([400, expect.stringContaining("goes with GPU Pods")]);
  });

  test("that names CPU flavors and no GPU is one without GPUs", async () => {
    await using there = await world();
    const { computeType: _, ...body } = CPU;
    expect(await there.made({ ...body, cpuFlavorIds: ["cpu3g"] })).toMatchObject({ cpuFlavorId: "cpu3g", gpuCount: 0 });
  });

  test.each([
    ["a list of types, the first with room", { gpuTypeIds: ["NVIDIA L4", "NVIDIA A40"] }, { gpuTypeId: "NVIDIA A40" }],
    ["types that there are not", { gpuTypeIds: ["Tesla T4", "NVIDIA A40", "House"] }, { gpuTypeId: "NVIDIA A40" }],
    ["places that there are not", { dataCenterIds: ["XX-1", "EU-RO-1"] }, { gpuTypeId: "NVIDIA A40" }],
    [
      "CUDA versions and a least one",
      { allowedCudaVersions: ["12.8", "11.8"], minCudaVersion: "12.4" },
      { allowedCudaVersions: ["12.8"], minCudaVersion: null },
    ],
    ["one type", { gpuTypeIds: undefined, gpuTypeId: "NVIDIA A40" }, { gpuTypeId: "NVIDIA A40" }],
    ["no type: any", { gpuTypeIds: undefined, gpuTypeId: "" }, { gpuTypeId: "NVIDIA A40" }],
    ["env as pairs", { env: [{ key: "A", value: "1" }] }, { env: { A: "1" } }],
    ["env as a map", { env: { A: "1" } }, { env: { A: "1" } }],
    ["ports as one text", { ports: "80/http,22/tcp" }, { ports: ["80/http", "22/tcp"] }],
    ["a command as one text", { dockerArgs: "sleep 1" }, { dockerStartCmd: ["sleep", "1"], dockerEntrypoint: [] }],
    ["a command in lists", { dockerEntrypoint: ["sh"], dockerStartCmd: ["-c"] }, { dockerEntrypoint: ["sh"] }],
    ["fields that nobody knows", { minCudaVersion: "12.0", bogus: 1 }, { name: "box" }],
    ["empty ids", { templateId: "", networkVolumeId: "", containerRegistryAuthId: "" }, { volumeInGb: 20 }],
    ["no volume", { volumeInGb: 0 }, { volumeInGb: 0, volumeMountPath: "/workspace" }],
    ["a path of none", { volumeInGb: 0, volumeMountPath: "/data" }, { volumeInGb: 0, volumeMountPath: "/data" }],
    ["null for a default", { containerDiskInGb: null, volumeInGb: null, supportPublicIp: null }, { volumeInGb: 20 }],
    ["a disk of 0 for none chosen", { containerDiskInGb: 0 }, { containerDiskInGb: 50 }],
    ["two GPUs", { gpuCount: 2 }, { gpuCount: 2 }],
  ])("takes %s", async (_what, said, shown) => {
    await using there = await world();
    expect(await there.made({ ...GPU, ...said })).toMatchObject(shown);
  });

  test("needs an image, or a template: 400", async () => {
    await using there = await world();
    const { status, json } = await there.post({ name: "box", computeType: "CPU" });
    expect([status, json.message]).toEqual([400, expect.stringContaining("imageName")]);
  });

  test("has of its template what its body does not say, and no default in the place of it", async () => {
    await using there = await world();
    const template = { name: "t", imageName: "host:/app", containerDiskInGb: 7, volumeInGb: 12, ports: ["1/tcp"] };
    const { id } = (await there.call("POST", "/v1/templates", { body: template })).json;
    const { imageName: _, ...rest } = GPU;
    const pod = await there.made({ ...rest, templateId: id });
    expect(pod).toMatchObject({ templateId: id, containerDiskInGb: 7, volumeInGb: 12, ports: ["1/tcp"] });
    const { json } = await there.call("GET", `${PODS}/${pod.id}?includeTemplate=true`);
    expect(json.template).toMatchObject({ id, imageName: "host:/app" });
  });

  test.each([
    ["a size", { volumeInGb: 40 }, { volumeInGb: 40, volumeMountPath: "/data" }],
    ["a path", { volumeMountPath: "/own" }, { volumeInGb: 12, volumeMountPath: "/own" }],
    ["both", { volumeInGb: 40, volumeMountPath: "/own" }, { volumeInGb: 40, volumeMountPath: "/own" }],
    ["a size below the least", { volumeInGb: 1 }, { volumeInGb: 10, volumeMountPath: "/data" }],
    ["no volume", { volumeInGb: 0 }, { volumeInGb: 0, volumeMountPath: "" }],
    ["a path of none", { volumeInGb: 0, volumeMountPath: "/own" }, { volumeInGb: 0, volumeMountPath: "/own" }],
    ["a path of CPUs", { computeType: "CPU", volumeMountPath: "/own" }, { volumeInGb: 0, volumeMountPath: "/own" }],
  ])("has %s in the place of its template's", async (_what, said, shown) => {
    await using there = await world();
    const template = { name: "t", imageName: "busybox", volumeInGb: 12, volumeMountPath: "/data" };
    const { id: templateId } = (await there.call("POST", "/v1/templates", { body: template })).json;
    const { status, json } = await there.post({ name: "box", gpuTypeIds: ["NVIDIA A40"], templateId, ...said });
    expect([status, json]).toEqual([201, expect.objectContaining(shown)]);
  });

  test("mounts a network volume where its template has storage", async () => {
    await using there = await world();
    const volume = { name: "models", size: 50, dataCenterId: "EU-RO-1" };
    const networkVolumeId = (await there.call("POST", "/v1/networkvolumes", { body: volume })).json.id;
    const template = { name: "t", imageName: "busybox", volumeMountPath: "/data" };
    const { id: templateId } = (await there.call("POST", "/v1/templates", { body: template })).json;
    const { status, json } = await there.post({ name: "box", computeType: "CPU", templateId, networkVolumeId });
    expect([status, json.networkVolumeId, json.volumeMountPath]).toEqual([201, networkVolumeId, "/data"]);
  });

  test("mounts a network volume in the place of its own", async () => {
    await using there = await world();
    const volume = { name: "models", size: 50, dataCenterId: "EU-RO-1" };
    const { id } = (await there.call("POST", "/v1/networkvolumes", { body: volume })).json;
    const { status, json, text } = await there.post({ ...GPU, networkVolumeId: id });
    expect([status, text]).toEqual([201, text]);
    expect(json).toMatchObject({ networkVolumeId: id, volumeInGb: 0, volumeMountPath: "/workspace" });
    const found = await there.call("GET", `${PODS}/${json.id}?includeNetworkVolume=true`);
    expect(found.json.networkVolume).toMatchObject({ id, ...volume });
    expect((await there.call("GET", `${PODS}?networkVolumeId=${id}`)).json).toHaveLength(1);
  });

  test("that finds no room: 500, in the words that clients know, with the reason", async () => {
    await using there = await world();
    const { status, json } = await there.post({ ...GPU, gpuCount: 3 });
    expect(status).toBe(500);
    expect(json.message).toMatch(/^create pod: There are no instances currently available\. .*2/);
    expect((await there.call("GET", PODS)).json).toEqual([]);
  });

  test("of a type that its cloud does not offer: the same, and 400 of a type that there is not", async () => {
    await using there = await world();
    const elsewhere = await there.post({ ...GPU, cloudType: "COMMUNITY" });
    const words = "create pod: There are no instances currently available. 'NVIDIA A40' is not offered";
    expect([elsewhere.status, elsewhere.json.message]).toEqual([500, expect.stringContaining(words)]);
    const unknown = await there.post({ ...GPU, gpuTypeIds: ["House"] });
    expect([unknown.status, unknown.json.message]).toEqual([400, "There is no GPU type 'House'."]);
  });
});

describe("names", () => {
  test("are unique on creation and on a change, and one that nobody gave gets a suffix", async () => {
    await using there = await world();
    const { name: _, ...unnamed } = CPU;
    expect((await there.made(unnamed)).name).toBe("my pod");
    expect((await there.made(unnamed)).name).toMatch(/^my pod-[a-z0-9]{6}$/);
    const { id } = await there.made(CPU);
    expect(await there.post(CPU)).toMatchObject({ status: 400, json: { message: expect.stringContaining("'box'") } });
    expect((await there.call("PATCH", `${PODS}/${id}`, { body: { name: "my pod" } })).status).toBe(400);
  });
});

describe("a change", () => {
  test.each(["PATCH ", "POST /update"])("by %s leaves what is not sent as it is", async (how) => {
    await using there = await world();
    const pod = await there.made({ ...GPU, env: { A: "1" }, containerDiskInGb: 30 });
    const [method, end] = how.split(" ") as [string, string];
    const change = async (body: object) => (await there.call(method, `${PODS}/${pod.id}${end}`, { body })).json;
    expect(await change({ name: "new" })).toMatchObject({ name: "new", env: { A: "1" }, containerDiskInGb: 30 });
    expect((await there.pod(pod.id)).status).toBe("RUNNING");
    const lastStatusChange = expect.stringContaining("restarts: env changed");
    const env = [{ key: "B", value: "2" }];
    expect(await change({ env })).toMatchObject({ env: { B: "2" }, volumeInGb: 20, lastStatusChange });
    expect(await change({ dockerStartCmd: ["a"] })).toMatchObject({ dockerStartCmd: ["a"] });
    expect(await change({ volumeInGb: 30 })).toMatchObject({ volumeInGb: 30, volumeMountPath: "/workspace" });
    expect(await change({ gpuTypeIds: ["NVIDIA L4"], templateId: "x" })).toMatchObject({ gpuTypeId: "NVIDIA A40" });
  });
});

describe("a list", () => {
  test("is a bare array, the newest first, and every filter narrows it", async () => {
    await using there = await world();
    const box = await there.made();
    await there.clock.advance(1);
    const mill = await there.made({ ...CPU, name: "mill", cpuFlavorIds: ["cpu3c"], imageName: "host:/other" });
    await there.call("POST", `${PODS}/${mill.id}/stop`);
    const ids = async (query: string) =>
      (await there.call("GET", `${PODS}?${query}`)).json.map(({ id }: { id: string }) =>
        id === box.id ? "box" : "mill",
      );
    expect(await ids("")).toEqual(["mill", "box"]);
    for (const [query, found] of [
      ["computeType=GPU", ["box"]],
      ["computeType=CPU", ["mill"]],
      ["gpuTypeId=NVIDIA%20L4&gpuTypeId=NVIDIA%20A40", ["box"]],
      ["cpuFlavorId=cpu3c", ["mill"]],
      ["dataCenterId=EU-RO-1", ["mill", "box"]],
      ["dataCenterId=US-KS-2", []],
      ["desiredStatus=EXITED", ["mill"]],
      ["desiredStatus=TERMINATED", []],
      ["name=mill", ["mill"]],
      [`id=${box.id}`, ["box"]],
      ["imageName=host:/other", ["mill"]],
      ["templateId=&gpuTypeId=&name=mill", ["mill"]],
      ["templateId=x", []],
      ["endpointId=x", []],
    ] as const)
      expect([query, await ids(query)]).toEqual([query, found]);
  });

  test("shows the machine where it is asked for", async () => {
    await using there = await world();
    await there.made();
    const [pod] = (await there.call("GET", `${PODS}?includeMachine=true&includeSavingsPlans=true`)).json;
    expect(pod).toMatchObject({
      machine: { gpuTypeId: "NVIDIA A40", gpuType: { displayName: "A40" }, dataCenterId: "EU-RO-1", secureCloud: true },
      savingsPlans: [],
    });
  });

  test.each([
    ["includeTemplate", "templates:read"],
    ["includeNetworkVolume", "network-volumes:read"],
    ["includeWorkers", "serverless:read"],
  ] as const)("%s needs the scope of what it shows", async (include, scope) => {
    await using there = await world();
    const { id } = await there.made(CPU);
    for (const path of [PODS, `${PODS}/${id}`]) {
      const asked = async (scopes: Grant[]) =>
        there.call("GET", `${path}?${include}=true`, { key: await there.newKey({ scopes }) });
      const { status, json } = await asked(["pods:read"]);
      expect([status, json.message]).toEqual([403, expect.stringContaining(`'${scope}'`)]);
      expect((await asked(["pods:read", scope])).status).toBe(200);
    }
  });

  test("a query that is none: 400", async () => {
    await using there = await world();
    expect((await there.call("GET", `${PODS}?desiredStatus=HAPPY`)).status).toBe(400);
  });
});

test("gpuCount 0 is 400", async () => {
  await using there = await world();
  const { status, json } = await there.post({ ...GPU, gpuCount: 0 });
  expect([status, json.message]).toEqual([400, expect.stringContaining("$.gpuCount: must be >= 1")]);
});

test("its machine has every field that clients know", async () => {
  await using there = await world();
  const { id } = await there.made({ ...CPU, ports: [] });
  const { machine } = (await there.call("GET", `${PODS}/${id}?includeMachine=true`)).json;
  const unsaid = ["diskThroughputMBps", "maxDownloadSpeedMbps", "maxUploadSpeedMbps", "gpuAvailable", "note"];
  for (const field of [...unsaid, "maintenanceStart", "maintenanceEnd", "maintenanceNote"])
    expect(machine).toHaveProperty(field, null);
  expect(machine.cpuType).toEqual({
    ...{ id: "cpu3c", displayName: "Compute-Optimized", groupId: "Gen 3", cores: 2, threadsPerCore: 1 },
  });
});

test("a path without a volume can be changed in place, and stays", async () => {
  await using there = await world();
  const { id } = await there.made({ ...GPU, volumeInGb: 0 });
  const before = there.started.length;
  const { json } = await there.call("PATCH", `${PODS}/${id}`, { body: { volumeMountPath: "/data" } });
  await there.settle();
  expect([json.volumeMountPath, there.started.length]).toEqual(["/data", before]);
});
