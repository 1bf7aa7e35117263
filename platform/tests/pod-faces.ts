/** Pods in the form of each surface. */
import { type Answered, anyContainer, type Container, containerWords, graphql, type Resource, rest } from "./faces.ts";

interface Pod extends Container {
  name: string;
  /** GPUs of a type, or a CPU flavor with a number of vCPUs. */
  compute: { gpu: string; count: number } | { flavor: string; vcpus: number };
}

const names = (() => {
  let made = 0;
  return () => `pod ${made++} ä`;
})();

const GPU = "NVIDIA A40";
const onCpu = (compute: Pod["compute"]): compute is { flavor: string; vcpus: number } => "flavor" in compute;

const v1Compute = ({ compute }: Partial<Pod>) => {
  if (!compute) return {};
  if (onCpu(compute)) return { computeType: "CPU", cpuFlavorIds: [compute.flavor], vcpuCount: compute.vcpus };
  return { computeType: "GPU", gpuTypeIds: [compute.gpu], gpuCount: compute.count, volumeInGb: 0 };
};

const graphqlCompute = ({ compute }: Partial<Pod>) => {
  if (!compute) return {};
  if (onCpu(compute)) return { instanceId: `${compute.flavor}-${compute.vcpus}-${2 * compute.vcpus}` };
  return { gpuTypeId: compute.gpu, gpuCount: compute.count };
};

const v2Compute = ({ compute }: Partial<Pod>) => {
  if (!compute) return {};
  if (onCpu(compute)) return { cpu: { id: compute.flavor, vcpuCount: compute.vcpus } };
  return { gpu: { id: compute.gpu, count: compute.count } };
};

const flatCompute = (row: Answered): Pod["compute"] =>
  row.gpuCount > 0 ? { gpu: GPU, count: row.gpuCount } : { flavor: row.cpuFlavorId, vcpus: row.vcpuCount };

export const pods: Resource<Pod> = {
  any: (random) => ({
    ...anyContainer(random),
    ...{ name: names(), image: "host:/app" },
    compute: random.chance(0.5)
      ? { gpu: GPU, count: 1 + random.below(2) }
      : { flavor: "cpu3c", vcpus: random.pick([2, 4]) },
  }),
  change(random) {
    const { env, command, disk, ...others } = anyContainer(random);
    // In GraphQL, an empty text for ports means that they are not changed.
    const ports = others.ports.length > 0 ? others.ports : ["80/http"];
    return random.pick([{ env }, { ports }, { command }, { disk }, { env, disk }]);
  },
  faces: {
    "REST v2": rest("/v2/pods", {
      said: (pod) => ({ ...(pod.name && { name: pod.name }), ...containerWords.v2.said(pod), ...v2Compute(pod) }),
      shown: (record) => ({
        ...containerWords.v2.shown(record),
        name: record.name,
        compute: record.gpu
          ? { gpu: record.gpu.id, count: record.gpu.count }
          : { flavor: record.cpu.id, vcpus: record.cpu.vcpuCount },
      }),
    }),
    "REST v1": rest("/v1/pods", {
      said: (pod) => ({ ...(pod.name && { name: pod.name }), ...containerWords.v1.said(pod), ...v1Compute(pod) }),
      shown: (record) => ({ ...containerWords.v1.shown(record), name: record.name, compute: flatCompute(record) }),
    }),
    GraphQL: graphql({
      make: ({ compute }) =>
        onCpu(compute)
          ? ["deployCpuPod", "deployCpuPodInput"]
          : ["podFindAndDeployOnDemand", "PodFindAndDeployOnDemandInput"],
      change: ["podEditJob", "PodEditJobInput"],
      id: "podId",
      said: (pod) => ({
        ...(pod.name && { name: pod.name }),
        ...containerWords.graphql.said(pod),
        ...graphqlCompute(pod),
      }),
      list: "pods",
      selection: `${containerWords.graphql.selection} env name gpuCount vcpuCount cpuFlavorId`,
      shown: (row) => ({
        ...containerWords.graphql.shown(row),
        env: Object.fromEntries(row.env.map((line: string) => splitOnce(line))),
        ...{ name: row.name, compute: flatCompute(row) },
      }),
    }),
  },
};

function splitOnce(line: string): [string, string] {
  const at = line.indexOf("=");
  return [line.slice(0, at), line.slice(at + 1)];
}
