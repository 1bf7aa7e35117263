/** The values that REST v1 fills in at creation if neither the caller nor a template sets them. The services set all other defaults. */

import { DEFAULT_VCPUS } from "./container/instance-ids.ts";

const PORTS = ["8888/http", "22/tcp"];

export const v1Defaults = {
  pod: {
    name: "my pod",
    computeType: "GPU",
    gpuCount: 1,
    vcpuCount: DEFAULT_VCPUS,
    containerDiskInGb: 50,
    volumeInGb: 20,
    volumeMountPath: "/workspace",
    ports: PORTS,
  },
  endpoint: {
    computeType: "GPU",
    gpuCount: 1,
    vcpuCount: DEFAULT_VCPUS,
    workersMin: 0,
    workersMax: 3,
    idleTimeout: 5,
    scalerType: "QUEUE_DELAY",
    scalerValue: 4,
    executionTimeoutMs: 600_000,
  },
  template: { containerDiskInGb: 50, volumeInGb: 20, volumeMountPath: "/workspace", ports: PORTS },
} as const;
