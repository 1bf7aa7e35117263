/** Bodies that cannot make a Pod, each with the exact refusal. */
import { describe, expect, test } from "vitest";
import { CPU_POD, GPU_POD, setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";

const invalid = (...errors: string[]) => ({ status: 422, detail: "Request validation failed.", errors });
const broken = (detail: string) => ({ status: 400, detail });
const { name, image, gpu, cpu } = { ...CPU_POD, ...GPU_POD };
const PERSISTENT = { persistent: { size: 10, path: "/workspace" } };

const wrong: [string, object, object][] = [
  ["a space in its image", { ...GPU_POD, image: "a b:1" }, invalid("$.image: must have no spaces, not 'a b:1'")],
  [
    "a space in a variable's name",
    { ...GPU_POD, env: { "A B": "1" } },
    invalid("$.env: names must have no spaces, not 'A B'"),
  ],
  ["no name", { image, gpu }, invalid("$: property 'name' is required")],
  ["no image", { name, gpu }, invalid("$: property 'image' is required unless 'templateId' is given")],
  ["neither gpu nor cpu", { name, image }, broken("Exactly one of 'gpu' and 'cpu' must be set.")],
  ["both gpu and cpu", { name, image, gpu, cpu }, broken("Exactly one of 'gpu' and 'cpu' must be set.")],
  ["an unknown property", { ...GPU_POD, bogus: 1 }, invalid("$: additional properties 'bogus' not allowed")],
  ["an unknown GPU", { name, image, gpu: { id: "GTX 9" } }, broken("There is no GPU type 'GTX 9'.")],
  [
    "vCPUs that are no power of two",
    { name, image, cpu: { id: "cpu3c", vcpuCount: 3 } },
    broken("'vcpuCount' of 'cpu3c' must be a power of two from 2 to 32."),
  ],
  [
    "a type that the cloud does not offer",
    { name, image, cloud: "COMMUNITY", gpu: { id: "NVIDIA A40" } },
    broken("'NVIDIA A40' is not offered in the COMMUNITY cloud: choose another type or cloud."),
  ],
  [
    "more GPUs than are sold at once",
    { name, image, gpu: { id: "NVIDIA A40", count: 11 } },
    broken("'gpu.count' is 11, and a Pod in the SECURE cloud has at most 10 of 'NVIDIA A40'."),
  ],
  [
    "two rules for CUDA",
    { name, image, gpu: { ...gpu, allowedCudaVersions: ["12.8"], minCudaVersion: "12.1" } },
    broken("'gpu.allowedCudaVersions' and 'gpu.minCudaVersion' exclude each other; send one of them."),
  ],
  [
    "both mounts",
    { ...GPU_POD, mounts: { ...PERSISTENT, network: [{ volumeId: "v", path: "/data" }] } },
    broken("'mounts' takes one of 'persistent' and 'network', not both."),
  ],
  [
    "a persistent mount on a CPU Pod",
    { ...CPU_POD, mounts: PERSISTENT },
    broken("'mounts.persistent' goes with GPU Pods; a CPU Pod takes a network volume."),
  ],
  [
    "a small persistent mount",
    { ...GPU_POD, mounts: { persistent: { size: 9, path: "/workspace" } } },
    invalid("$.mounts.persistent.size: must be >= 10"),
  ],
  [
    "a mount over the system",
    { ...GPU_POD, mounts: { persistent: { size: 10, path: "/usr/lib" } } },
    invalid(
      "$.mounts.persistent.path: nothing can be mounted at '/usr/lib': programs on the host have the machine's own /usr; choose a folder of its own, such as /workspace",
    ),
  ],
  [
    "a data center that is not there",
    { ...GPU_POD, dataCenterIds: ["XX-1"] },
    broken("There is no data center 'XX-1'."),
  ],
  ["a port twice", { ...GPU_POD, ports: ["80/http", "80/tcp"] }, broken("'ports' names port 80 twice.")],
  [
    "a port without a protocol",
    { ...GPU_POD, ports: ["80"] },
    invalid("$.ports[0]: must match ^([1-9]\\d{0,4})/(http|tcp)$"),
  ],
];

describe("a Pod cannot be made with", () => {
  test.each(wrong)("%s", async (_, body, refusal) => {
    await using world = await setupPods();
    const { status, json } = await world.call("POST", "/v2/pods", { body });
    expect([status, json]).toEqual([json.status, expect.objectContaining(refusal)]);
    expect((await world.call("GET", "/v2/pods")).json.pods).toEqual([]);
  });

  test("more than 102400 bytes, which is said to those alone who may make one, with what is left of their limits", async () => {
    await using world = await setupPods({ rateLimits: "600,18000,200000" });
    const body = { ...GPU_POD, env: { A: "x".repeat(102_400) } };
    for (const path of ["/v2/pods", "/v1/pods"]) {
      expect((await world.call("POST", path, { body, key: null })).status).toBe(401);
      const { status, headers } = await world.call("POST", path, { body });
      expect([path, status]).toEqual([path, 413]);
      expect(headers.has("ratelimit")).toBe(true);
    }
  });
});

test("what a PATCH cannot do", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await world.create({ ...GPU_POD, mounts: PERSISTENT });
  const refused = async (body: object) => {
    const { status, json } = await world.change(id, body);
    return [status, json.detail];
  };
  expect(await refused({ mounts: { persistent: { size: 9, path: "/w" } } })).toEqual([422, expect.anything()]);
  expect(await refused({ mounts: { network: [] } })).toEqual([
    400,
    "'mounts.network' cannot be emptied: a Pod keeps the volume that it was made with.",
  ]);
  expect(await refused({ mounts: { network: [{ volumeId: "v", path: "/data" }] } })).toEqual([
    400,
    "This Pod was made without 'mounts.network', and cannot get it later.",
  ]);
  expect(await refused({ gpu: { id: "NVIDIA A40" } })).toEqual([422, expect.anything()]);
  await world.change(id, { mounts: { persistent: { size: 20, path: "/w" } } });
  expect(await refused({ mounts: { persistent: { size: 15, path: "/w" } } })).toEqual([
    400,
    "'mounts.persistent.size' is 20 GB and cannot become smaller.",
  ]);
  expect((await world.change(id, {})).status).toBe(200);
  expect((await world.change(id, { mounts: {} })).json.mounts).toEqual({ persistent: { size: 20, path: "/w" } });
});

test("an action that its status does not have is 409, an unknown one 422, another account's Pod 404", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  expect(await world.act(id, "start")).toMatchObject({ status: 409, json: { detail: "cannot start while RUNNING" } });
  expect((await world.act(id, "reset")).status).toBe(422);
  const key = await world.strangersKey();
  const foreign = (method: string, path: string, body?: object) =>
    world.call(method, `/v2/pods/${id}${path}`, { key, body });
  const statuses = await Promise.all([
    foreign("GET", ""),
    foreign("PATCH", "", { name: "x" }),
    foreign("DELETE", ""),
    foreign("POST", "/action", { action: "stop" }),
    foreign("GET", "/logs"),
  ]);
  expect(statuses.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
  expect((await world.pod(id)).status).toBe("RUNNING");
});
