/** A worker's variables: where it finds its endpoint, what it runs on, and which of them its owner can change. */
import { describe, expect, test } from "vitest";
import { withUserEnv, workerEnv } from "./worker-env.ts";

const place = { url: "http://10.0.0.1:7420", endpoint: "ep1", worker: "w1", key: "mlr_key", callKey: "mlr_call" };
const cpu = { vcpu: 4, memoryMb: 8192, gpuType: null, gpuCount: 0 };
const gpu = { vcpu: 8, memoryMb: 49_152, gpuType: "NVIDIA RTX A6000", gpuCount: 2 };

test("a worker started by hand is told who it is and where its routes are", () => {
  expect(workerEnv(place)).toEqual({
    MILLRACE_URL: "http://10.0.0.1:7420",
    MILLRACE_ENDPOINT_ID: "ep1",
    MILLRACE_WORKER_ID: "w1",
    MILLRACE_WORKER_KEY: "mlr_key",
    MILLRACE_API_KEY: "mlr_call",
    MILLRACE_ENDPOINT_BASE_URL: "http://10.0.0.1:7420/v2",
    RUNPOD_API_KEY: "mlr_call",
    RUNPOD_WEBHOOK_GET_JOB: "http://10.0.0.1:7420/v2/ep1/job-take/w1?gpu=none",
    RUNPOD_WEBHOOK_POST_OUTPUT: "http://10.0.0.1:7420/v2/ep1/job-done/w1/$ID?gpu=none",
    RUNPOD_WEBHOOK_POST_STREAM: "http://10.0.0.1:7420/v2/ep1/job-stream/w1/$ID?gpu=none",
    RUNPOD_WEBHOOK_JOB_STREAM: "http://10.0.0.1:7420/v2/ep1/job-stream/w1/$ID?gpu=none",
    RUNPOD_WEBHOOK_PING: "http://10.0.0.1:7420/v2/ep1/ping/w1?gpu=none",
    RUNPOD_PING_INTERVAL: "10000",
    RUNPOD_AI_API_KEY: "mlr_key",
    RUNPOD_POD_ID: "w1",
    RUNPOD_POD_HOSTNAME: "w1-60c5590f",
    RUNPOD_ENDPOINT_ID: "ep1",
    RUNPOD_ENDPOINT_BASE_URL: "http://10.0.0.1:7420/v2",
    RUNPOD_DEBUG_LEVEL: "INFO",
    RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: "true",
  });
});

test.each(["MILLRACE", "RUNPOD"])("a worker of the fleet knows its share of the machine as %s_…", (prefix) => {
  const site = { dataCenter: "EU-RO-1", publicIp: "203.0.113.5" };
  const env = workerEnv({ ...place, compute: gpu, site, volume: "vol1" });
  const names = ["CPU_COUNT", "MEM_GB", "GPU_COUNT", "GPU_NAME", "GPU_SIZE", "DC_ID", "VOLUME_ID", "PUBLIC_IP"];
  expect(Object.fromEntries(names.map((name) => [name, env[`${prefix}_${name}`]]))).toEqual({
    ...{ CPU_COUNT: "8", MEM_GB: "48", GPU_COUNT: "2", GPU_NAME: "NVIDIA+RTX+A6000", GPU_SIZE: "48" },
    ...{ DC_ID: "EU-RO-1", VOLUME_ID: "vol1", PUBLIC_IP: "203.0.113.5" },
  });
});

test("a worker without a volume or an address of its own has an empty one and none", () => {
  const env = workerEnv({ ...place, compute: cpu, site: { dataCenter: "EU-RO-1" }, volume: "" });
  expect(env).toMatchObject({ MILLRACE_VOLUME_ID: "", RUNPOD_VOLUME_ID: "" });
  expect(Object.keys(env).filter((name) => name.endsWith("PUBLIC_IP"))).toEqual([]);
});

test.each(["http://10.0.0.1:7420/", "http://10.0.0.1:7420//"])("the address %s leads to the same place", (url) => {
  expect(workerEnv({ ...place, url })).toEqual(workerEnv(place));
});

test("a CPU worker has no GPU and no name of one", () => {
  const env = workerEnv({ ...place, compute: cpu });
  expect(env).toMatchObject({ RUNPOD_GPU_COUNT: "0", RUNPOD_CPU_COUNT: "4" });
  expect(Object.keys(env).filter((name) => /GPU_(NAME|SIZE)/.test(name))).toEqual([]);
});

test("the GPU stands in every URL, with its spaces as plus signs", () => {
  const env = workerEnv({ ...place, compute: gpu });
  const urls = Object.entries(env).filter(([name]) => name.startsWith("RUNPOD_WEBHOOK_"));
  expect(urls).toHaveLength(5);
  for (const [, url] of urls) expect(url).toMatch(/\?gpu=NVIDIA\+RTX\+A6000$/);
});

test.each([
  [{}, "true"],
  [{ compute: gpu }, "true"],
  [{ isOnline: true }, "true"],
  [{ compute: { ...gpu, memoryMb: 5119 }, isOnline: true }, "true"],
  [{ compute: { ...gpu, memoryMb: 5120 }, isOnline: true }, "false"],
])("the public package's own checks are skipped unless they are known to pass: %j -> %s", (known, skipped) => {
  expect(workerEnv({ ...place, ...known }).RUNPOD_SKIP_AUTO_SYSTEM_CHECKS).toBe(skipped);
});

describe("the endpoint's own variables", () => {
  const ours = workerEnv({ ...place, compute: cpu });

  test("come beside ours, also under our prefixes", () => {
    const given = { MODEL: "small", RUNPOD_INIT_TIMEOUT: "60", MILLRACE_MINE: "m" };
    expect(withUserEnv(ours, given)).toEqual({ ...ours, ...given });
  });

  test("tune what is theirs to tune", () => {
    const given = {
      ...{ RUNPOD_PING_INTERVAL: "5000", RUNPOD_DEBUG_LEVEL: "DEBUG", RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: "false" },
      ...{ RUNPOD_API_KEY: "mlr_own", MILLRACE_API_KEY: "mlr_other" },
    };
    expect(withUserEnv(ours, given)).toEqual({ ...ours, ...given });
  });

  test.each(
    Object.keys(ours).filter((name) => !/INTERVAL|DEBUG|SKIP|_API_KEY$/.test(name) || name === "RUNPOD_AI_API_KEY"),
  )("do not change %s", (name) => {
    expect(withUserEnv(ours, { [name]: "http://elsewhere" })).toEqual(ours);
  });

  test("add no routes of the link that we do not have", () => {
    expect(withUserEnv(ours, { RUNPOD_WEBHOOK_ELSEWHERE: "http://elsewhere" })).toEqual(ours);
  });
});
