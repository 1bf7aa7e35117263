/** Endpoints as older surfaces show them. Fields that a surface cannot say are not changed by it. */
import { describe, expect, test } from "vitest";
import { created, updated } from "./fields.ts";
import { endpointDialect } from "./flat.ts";
import { endpointTypeFrom, flashBootFrom, scalerTypeFrom } from "./flat-forms.ts";
import { flatEndpoint } from "./flat-view.ts";
import type { KeptEndpoint } from "./model.ts";

const ON_GPU = created({
  ...{ name: "e", image: "i", env: { A: "1" }, flashboot: "PRIORITY_FLASHBOOT", dataCenterIds: ["EU-SE-1", "EU-SE-2"] },
  gpu: { types: ["NVIDIA RTX A6000"], minCudaVersion: "12.4" },
  scaling: { type: "QUEUE_DELAY", queueDelay: 0.5 },
});

const shown = (doc: KeptEndpoint) => flatEndpoint({ id: "ep", account: "a", createdAt: 0, version: 1, doc }, "user");

test("one on GPUs, in the words and the numbers that public clients read", () => {
  expect(shown(ON_GPU)).toEqual({
    ...{ id: "ep", name: "e", userId: "user", createdAt: "1970-01-01T00:00:00.000Z", templateId: "ep", version: 0 },
    ...{
      type: "QB",
      computeType: "GPU",
      env: { A: "1" },
      gpuIds: "AMPERE_48,-NVIDIA A40",
      gpuTypeIds: ["NVIDIA RTX A6000"],
    },
    ...{ gpuCount: 1, allowedCudaVersions: [], minCudaVersion: "12.4", instanceIds: null },
    ...{
      dataCenterIds: ["EU-SE-1", "EU-SE-2"],
      locations: "SE",
      networkVolumeId: null,
      networkVolumeIds: [],
      networkVolumes: [],
    },
    ...{ workersMin: 0, workersMax: 3, workersStandby: 0, idleTimeout: 10, scalerType: "QUEUE_DELAY", scalerValue: 1 },
    ...{ executionTimeoutMs: 300_000, flashboot: true, flashBootType: "PRIORITY_FLASHBOOT" },
  });
});

test("one on CPUs, load-balancing, with volumes, that follows a template", () => {
  const volumePlaces = [{ id: "v", dataCenter: "EU-RO-1", machine: null }];
  const cpu = created({ name: "e", image: "i", type: "LOAD_BALANCER", cpu: [{ id: "cpu3c", vcpuCount: 2 }] });
  const doc = { ...cpu, template: "t", follows: true, networkVolumes: ["v"], volumePlaces, release: 3 };
  expect(shown(doc)).toMatchObject({
    ...{ templateId: "t", version: 2, type: "LB", computeType: "CPU", gpuIds: null, gpuTypeIds: null, gpuCount: 0 },
    ...{ instanceIds: ["cpu3c-2-4"], networkVolumeId: "v", networkVolumeIds: ["v"], locations: "" },
    networkVolumes: [{ networkVolumeId: "v", dataCenterId: "EU-RO-1" }],
    ...{ scalerType: "REQUEST_COUNT", scalerValue: 4, flashboot: false },
  });
});

describe("what an older surface cannot say", () => {
  const after = (flat: object) => ({ ...ON_GPU, ...updated(ON_GPU, endpointDialect.terms({ ...flat }, ON_GPU)) });

  test("stays where it says something else", () => {
    const doc = after({ workersMax: 9 });
    expect(doc).toEqual({ ...ON_GPU, workers: { ...ON_GPU.workers, max: 9 } });
  });

  test("stays where it sends back what it was shown", () => {
    const { scalerValue, scalerType, flashboot } = shown(ON_GPU);
    expect(after({ scalerValue, scalerType }).scaling).toEqual({ type: "QUEUE_DELAY", queueDelay: 0.5 });
    expect(flashBootFrom(flashboot, ON_GPU)).toBe("PRIORITY_FLASHBOOT");
  });

  test("goes where it says otherwise", () => {
    expect(after({ scalerValue: 2 }).scaling).toEqual({ type: "QUEUE_DELAY", queueDelay: 2 });
    expect(after({ scalerType: "REQUEST_COUNT" }).scaling).toEqual({ type: "REQUEST_COUNT", requestCount: 1 });
    expect([flashBootFrom(false, ON_GPU), flashBootFrom("FLASHBOOT", ON_GPU)]).toEqual(["OFF", "FLASHBOOT"]);
  });
});

test("words are read in any case, and an empty one says nothing", () => {
  expect([endpointTypeFrom("qb"), endpointTypeFrom("LB"), endpointTypeFrom("LOAD_BALANCER")]).toEqual([
    ...["QUEUE", "LOAD_BALANCER", "LOAD_BALANCER"],
  ]);
  expect([scalerTypeFrom("queue_delay"), flashBootFrom("flashboot"), flashBootFrom(true)]).toEqual([
    ...["QUEUE_DELAY", "FLASHBOOT", "FLASHBOOT"],
  ]);
  expect([endpointTypeFrom(""), scalerTypeFrom(" "), flashBootFrom("")]).toEqual([undefined, undefined, undefined]);
  expect(() => endpointTypeFrom("XL")).toThrow("'type' is one of QB, LB, and not 'XL'.");
  expect(() => flashBootFrom("fast")).toThrow(
    "'flashBootType' is one of OFF, FLASHBOOT, PRIORITY_FLASHBOOT, and not 'fast'.",
  );
});
