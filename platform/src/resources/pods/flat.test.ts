/** The flat dialect of Pods, beyond what all dialects have in common. */
import { expect, test } from "vitest";
import { flatConformance } from "../../kernel/flat.conformance.ts";
import type { SeededRandom } from "../../kernel/random.ts";
import { cpuFrom } from "../endpoints/compute.ts";
import { created } from "./fields.ts";
import { podDialect } from "./flat.ts";
import { podLifecycle } from "./lifecycle.ts";
import type { KeptPod } from "./model.ts";

const state = {
  status: podLifecycle.begin("PROVISIONING"),
  reason: null,
  lastStatusChange: 1,
  startedAt: 1,
  instance: "i",
  last: null,
  machines: [],
  crashes: null,
  publicPorts: {},
  portsAt: null,
  address: null,
  cluster: { id: "c", rank: 1, members: 2, gpusEach: 1, role: null },
  claimsName: true,
  withoutGpu: false,
  mountPath: "/workspace",
  createdBy: "k",
  span: null,
  spans: 0,
  meteredUntil: 0,
} as const satisfies Partial<KeptPod>;

const whole: Required<KeptPod> = {
  name: "p",
  image: "example/image:1",
  args: "run it",
  entrypoint: [],
  cmd: ["run", "it"],
  disk: 7,
  env: { A: "b" },
  ports: ["8080/http"],
  registry: null,
  gpu: {
    types: ["NVIDIA L40", "NVIDIA L40S"],
    count: 2,
    allowedCudaVersions: ["12.4"],
    minCudaVersion: null,
    minRamPerGpu: 8,
    minVcpuPerGpu: null,
  },
  cpu: cpuFrom([{ id: "cpu3c", vcpuCount: 4 }]),
  cloud: "COMMUNITY",
  dataCenterIds: ["EU-RO-1"],
  countryCodes: ["RO"],
  mounts: { persistent: { size: 10, path: "/workspace" } },
  locked: true,
  globalNetworking: false,
  startSsh: true,
  startJupyter: false,
  template: "aaaaaaaaaaaaaa",
  idleTimeout: null,
  stopAfter: 5,
  terminateAfter: null,
  interruptible: true,
  bidPerGpu: 0.2,
  ...state,
  machines: [...state.machines],
};

const onNetwork = { ...whole, mounts: { network: [{ volumeId: "v", path: "/data" }] } };

flatConformance("Pods", {
  dialect: podDialect,
  whole: [whole, onNetwork],
  any: anyPod,
  made: (terms) => ({ ...created(terms), ...state, machines: [] }),
});

test("a volume's size and path are one mount; where one is said, the other stays", () => {
  const atDefault = (mounts: object) => ({ mounts, isDefaultPath: true });
  expect(podDialect.terms({ volumeInGb: 20 })).toEqual(atDefault({ persistent: { size: 20, path: "/workspace" } }));
  expect(podDialect.terms({ volumeInGb: 1 })).toEqual(atDefault({ persistent: { size: 10, path: "/workspace" } }));
  expect(podDialect.terms({ volumeMountPath: "/w" }, whole)).toEqual({
    mounts: { persistent: { size: 10, path: "/w" } },
  });
  expect(podDialect.terms({ networkVolumeId: "v", volumeInGb: 20 })).toEqual(
    atDefault({ network: [{ volumeId: "v", path: "/workspace" }] }),
  );
});

/** A random Pod that covers every choice at creation. */
function anyPod(random: SeededRandom): KeptPod {
  const is = () => random.bytes(1)[0]! < 128;
  const { gpu, cpu, ...plain } = whole;
  const onGpu = is();
  const mounts = onGpu && is() ? whole.mounts : is() ? onNetwork.mounts : {};
  return {
    ...plain,
    ...(onGpu ? { gpu } : { cpu }),
    mounts,
    locked: is(),
    interruptible: is(),
    stopAfter: is() ? 7 : null,
    bidPerGpu: is() ? 0.5 : null,
    countryCodes: is() ? [] : ["US", "RO"],
  };
}
