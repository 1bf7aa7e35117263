/** Instances are translated into container requests, and containers back into instances. */
import { expect, test } from "vitest";
import type { InstanceSpec } from "../../ports/compute/compute.ts";
import { statusOf } from "../machine/exit-status.ts";
import { type Container, type ContainerPlace, containerRequest, instanceOf } from "./container.ts";
import { registryOf } from "./image-lookup.ts";

const spec: InstanceSpec = {
  kind: "worker",
  account: "account",
  owner: "endpoint",
  image: "image:1",
  entrypoint: [],
  cmd: [],
  env: { A: "1" },
  limits: { vcpu: 2, memoryMb: 512, diskGb: 3 },
  ports: [80, 8_080],
};
const place: ContainerPlace = {
  installation: "home",
  network: "net",
  processors: 8,
  podman: false,
  gpus: [
    { id: "GPU-1", type: "NVIDIA L4", virtual: false },
    { id: "GPU-2", type: "NVIDIA L4", virtual: false },
    { id: "virtual-1", type: "NVIDIA L4", virtual: true },
  ],
  limitsDisk: true,
};

test("a container gets the real devices of its instance, by their ids, and no virtual one", () => {
  const requested = (ids: string[]) => {
    const gpus = place.gpus.filter(({ id }) => ids.includes(id));
    return containerRequest("i", spec, { ...place, gpus }).HostConfig.DeviceRequests;
  };
  expect(requested(["GPU-2", "virtual-1"])).toEqual([{ DeviceIDs: ["GPU-2"], Capabilities: [["gpu"]] }]);
  expect(requested(["virtual-1"])).toBeUndefined();
});

test("containers weigh by their processors, and no one as much as a server beside them", () => {
  const sharesOf = (vcpu: number) =>
    containerRequest("i", { ...spec, limits: { ...spec.limits, vcpu } }, place).HostConfig.CpuShares;
  expect([0.01, 2, 8, 1000].map(sharesOf)).toEqual([2, 128, 512, 512]);
});

test("the disk is limited where the engine can", () => {
  expect(containerRequest("i", spec, place).HostConfig.StorageOpt).toEqual({ size: "3G" });
  expect(containerRequest("i", spec, { ...place, limitsDisk: false }).HostConfig).not.toHaveProperty("StorageOpt");
});

test("an absent entrypoint and an absent command leave those of the image", () => {
  expect(containerRequest("i", spec, place)).not.toHaveProperty("Entrypoint");
  expect(containerRequest("i", spec, place)).not.toHaveProperty("Cmd");
});

const container = (state: Partial<Container["State"]>): Container => ({
  Id: "c",
  Created: "2026-01-01T00:00:00.5Z",
  State: {
    Status: "exited",
    Running: false,
    Paused: false,
    OOMKilled: false,
    ExitCode: 0,
    Error: "",
    StartedAt: "2026-01-01T00:00:01.123456789Z",
    FinishedAt: "2026-01-01T00:00:02Z",
    ...state,
  },
  Config: { Labels: containerRequest("i", spec, place).Labels },
  HostConfig: { Memory: 512 * 1024 * 1024 },
  NetworkSettings: { Networks: {} },
});

test("an instance is read back from its container", () => {
  const startedAt = Date.UTC(2026, 0, 1, 0, 0, 1, 123);
  const devices = place.gpus.map(({ id }) => id);
  const named = { id: "i", kind: "worker", owner: "endpoint", startedAt, devices };
  const at = Date.UTC(2026, 0, 1, 0, 0, 2);
  expect(instanceOf(container({ Running: true }))).toEqual({ ...named, state: "running" });
  expect(instanceOf(container({ Running: true, Paused: true }))).toEqual({ ...named, state: "frozen" });
  expect(instanceOf(container({ ExitCode: 7 }))).toEqual({ ...named, state: "exited", exit: { code: 7, at } });
});

test("an exit says what the engine knows beyond its status", () => {
  const exit = (state: Partial<Container["State"]>) => instanceOf(container(state)).exit;
  expect(exit({ ExitCode: 137, OOMKilled: true })).toMatchObject({
    code: null,
    signal: "SIGKILL",
    reason: "out of memory: may use 512 MB",
  });
  expect(exit({ ExitCode: 255, Error: "the device went away" })).toMatchObject({
    code: 255,
    reason: "the device went away",
  });
  const never = { Status: "created", StartedAt: "0001-01-01T00:00:00Z", FinishedAt: "0001-01-01T00:00:00Z" };
  expect(exit(never)).toMatchObject({ code: null, at: Date.UTC(2026, 0, 1, 0, 0, 0, 500), reason: /never started/ });
});

test("128 and a signal's number are that signal, other statuses a code", () => {
  expect(statusOf(143)).toEqual({ code: null, signal: "SIGTERM" });
  for (const status of [0, 1, 127, 128, 255]) expect(statusOf(status)).toEqual({ code: status });
});

test("a credential is for the registry that the image names", () => {
  expect(registryOf("alpine")).toBe("https://index.docker.io/v1/");
  expect(registryOf("someone/image:1")).toBe("https://index.docker.io/v1/");
  expect(registryOf("registry.example/image")).toBe("registry.example");
  expect(registryOf("localhost/image")).toBe("localhost");
  expect(registryOf("127.0.0.1:5000/a/b:1")).toBe("127.0.0.1:5000");
});
