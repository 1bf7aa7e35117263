/** The one word and the one sentence about an endpoint. */
import type { Worker } from "@millrace/platform/resources/workers/model.ts";
import { describe, expect, it } from "vitest";
import { computeText, costNow, countsOf, type EndpointHealth, stateOf } from "./state.ts";

const settings = { workers: { min: 0, max: 3 } };
const health = (jobs: Partial<EndpointHealth["jobs"]> = {}, wait?: [string, string]): EndpointHealth => ({
  jobs: { completed: 0, failed: 0, inProgress: 0, inQueue: 0, retried: 0, ...jobs },
  workers: { idle: 0, initializing: 0, ready: 0, running: 0, throttled: 0, unhealthy: 0 },
  ...(wait && { waitReason: wait[0], waitReasonCode: wait[1] }),
});
const worker = (status: Worker["status"], more: Partial<Worker> = {}): Worker => ({
  id: status,
  status,
  actions: [],
  isStale: false,
  gpuCount: 1,
  version: 1,
  ...more,
});

describe("the state of an endpoint", () => {
  it("is asleep without workers and without jobs", () => {
    expect(stateOf(settings, health(), [])).toMatchObject({ status: "ASLEEP", tone: "idle" });
  });

  it("is paused where it may have no workers", () => {
    expect(stateOf({ workers: { min: 0, max: 0 } }, health(), [])).toMatchObject({ status: "PAUSED", code: "paused" });
  });

  it("is failing where the program does not come up, and says the reason of the loop rather than of one worker", () => {
    const waits = health({ inQueue: 2 }, ["crash loop: exit 1", "crash-loop"]);
    const failed = worker("UNHEALTHY", { reason: "exit 1", reasonCode: "program-ended" });
    expect(stateOf(settings, waits, [failed])).toMatchObject({ status: "FAILING", reason: "crash loop: exit 1" });
    expect(stateOf(settings, health(), [failed])).toMatchObject({ status: "FAILING", code: "program-ended" });
  });

  it("is failing also while it is started once more", () => {
    const waits = health({ inQueue: 2 }, ["crash loop: exit 1", "crash-loop"]);
    expect(stateOf(settings, waits, [worker("INITIALIZING")]).status).toBe("FAILING");
  });

  it("is waiting while no machine has room", () => {
    const wanted = worker("THROTTLED", { reason: "no capacity", reasonCode: "no-capacity" });
    expect(stateOf(settings, health({ inQueue: 1 }), [wanted])).toMatchObject({
      status: "WAITING",
      code: "no-capacity",
    });
  });

  it("is running while workers have jobs, though others failed", () => {
    const all = [worker("RUNNING"), worker("UNHEALTHY")];
    expect(stateOf(settings, health({ inProgress: 1 }), all).status).toBe("RUNNING");
  });

  it("is starting, then ready", () => {
    expect(stateOf(settings, health(), [worker("INITIALIZING")]).status).toBe("STARTING");
    expect(stateOf(settings, health(), [worker("IDLE")]).status).toBe("READY");
  });
});

it("counts workers from the list, or from the health where the list was not read", () => {
  expect(countsOf(undefined, [worker("IDLE"), worker("IDLE")])).toMatchObject({ idle: 2, running: 0 });
  expect(countsOf({ ...health(), workers: { ...health().workers, running: 4 } }, undefined).running).toBe(4);
});

describe("the cost of an endpoint now", () => {
  const prices = {
    gpus: [{ id: "A40", price: { secure: 1, community: 1, serverless: 0.5 } }],
    cpus: [{ id: "cpu3c", price: { securePerVcpu: 1, serverlessPerVcpu: 0.02 } }],
  };

  it("is that of the programs that run", () => {
    const runs = worker("RUNNING", { gpuTypeId: "A40", gpuCount: 2, uptimeSeconds: 5 });
    const frozen = worker("IDLE", { gpuTypeId: "A40", uptimeSeconds: 5, frozen: true });
    const byHand = worker("IDLE", { version: null, uptimeSeconds: 5 });
    const wanted = worker("THROTTLED");
    const failed = worker("UNHEALTHY", { gpuTypeId: "A40", uptimeSeconds: 5, reasonCode: "program-ended" });
    expect(costNow([runs, frozen, byHand, wanted, failed], {}, prices)).toBe(1);
  });

  it("counts the vCPU of a worker without a GPU", () => {
    const runs = worker("IDLE", { gpuCount: 0, uptimeSeconds: 5 });
    expect(costNow([runs], { cpu: [{ id: "cpu3c", vcpuCount: 4, memory: 8 }] }, prices)).toBeCloseTo(0.08);
  });

  it("is not known where a price is not", () => {
    expect(costNow([worker("RUNNING", { gpuTypeId: "?", uptimeSeconds: 1 })], {}, prices)).toBeUndefined();
  });
});

it("names compute in a few words", () => {
  const gpu = { pools: ["ADA_24"], count: 2, allowedCudaVersions: [], minCudaVersion: null };
  expect(computeText({ gpu }, [{ name: "RTX 4090" }, { name: "L4" }, { name: "A5000" }])).toBe(
    "2x RTX 4090, L4 and 1 more",
  );
  expect(computeText({ cpu: [{ id: "cpu3c", vcpuCount: 4, memory: 8 }] }, [])).toBe("cpu3c, 4 vCPU");
});
