/** Says what to write instead of words of older APIs, and of their clients, that a body of REST v2 cannot have. */

type Kind = "pods" | "serverless" | "templates" | "clusters" | "network-volumes";

interface Hint {
  /** What to write, for each kind of resource that has it. */
  instead: string | Partial<Record<Kind, string>>;
  /** Limits the hint to some values. If absent, it applies to all. */
  of?: (value: unknown) => boolean;
}

const PERSISTENT = '\'mounts\': {"persistent": {"size": 20, "path": "/workspace"}}';
const NETWORK = '\'mounts\': {"network": [{"volumeId": "…", "path": "/workspace"}]}';
const GPU: Hint["instead"] = {
  pods: '\'gpu\': {"id": "NVIDIA A40", "count": 1}, of one type',
  serverless: '\'gpu\': {"pools": ["AMPERE_48"], "count": 1}, or {"id": "NVIDIA A40"} for exactly one type',
  clusters: "'compute.gpuTypeId', of one type",
};
const CPU: Hint["instead"] = {
  pods: '\'cpu\': {"id": "cpu3c", "vcpuCount": 2}',
  serverless: '\'cpu\': [{"id": "cpu3c", "vcpuCount": 2}]',
};
const COMPUTE = "'gpu' or 'cpu', which says it by itself";
const SCALING = '\'scaling\': {"type": "QUEUE_DELAY", "queueDelay": 4} or {"type": "REQUEST_COUNT", "requestCount": 4}';
const IDLE = "'workers.idleTimeout', in seconds";
const AT_THE_TOP = "'templateId' at the top of the body";
const SEVERAL_PLACES = "'dataCenterIds', a list";
const NO_GPUS = "'cpu' in place of 'gpu' for compute without GPUs";

const to = (instead: Hint["instead"], of?: Hint["of"]): Hint => ({ instead, ...(of && { of }) });
const isBoolean = (value: unknown) => typeof value === "boolean";
const isText = (value: unknown) => typeof value === "string";

/** Keyed by the place in the body. */
const HINTS: Readonly<Record<string, Hint>> = {
  "$.imageName": to("'image'"),
  "$.containerDiskInGb": to("'disk'"),
  "$.dockerArgs": to("'args', or the lists 'entrypoint' and 'cmd'"),
  "$.dockerEntrypoint": to("'entrypoint'"),
  "$.dockerStartCmd": to("'cmd'"),
  "$.containerRegistryAuthId": to('\'registry\': {"id": "…"}'),
  "$.env": to('an object of names and values, {"KEY": "value"}', Array.isArray),
  "$.ports": to('a list, ["8888/http", "22/tcp"]', isText),
  "$.volumeInGb": to({ pods: PERSISTENT, templates: PERSISTENT, serverless: "'networkVolumes', a list of ids" }),
  "$.volumeMountPath": to({ pods: `${PERSISTENT} or ${NETWORK}`, templates: PERSISTENT, clusters: NETWORK }),
  "$.networkVolumeId": to({ pods: NETWORK, clusters: NETWORK, serverless: "'networkVolumes', a list of ids" }),
  "$.networkVolumeIds": to({ pods: NETWORK, clusters: NETWORK, serverless: "'networkVolumes', a list of ids" }),
  "$.gpuTypeId": to(GPU),
  "$.gpuTypeIds": to(GPU),
  "$.gpuIds": to(GPU),
  "$.gpuCount": to({ pods: "'gpu.count'", serverless: "'gpu.count'", clusters: "'compute.gpuCountPerPod'" }),
  "$.gpu.count": to(NO_GPUS, (value) => value === 0),
  "$.allowedCudaVersions": to("'gpu.allowedCudaVersions'"),
  "$.minCudaVersion": to("'gpu.minCudaVersion'"),
  "$.minRAMPerGPU": to({ pods: "'gpu.minRamPerGpu'" }),
  "$.minVCPUPerGPU": to({ pods: "'gpu.minVcpuCountPerGpu'" }),
  "$.cpuFlavorIds": to(CPU),
  "$.instanceId": to(CPU),
  "$.instanceIds": to(CPU),
  "$.vcpuCount": to(CPU),
  "$.computeType": to({ pods: COMPUTE, serverless: COMPUTE }),
  "$.cloudType": to({ pods: "'cloud'" }),
  "$.dataCenterId": to({
    ...{ pods: SEVERAL_PLACES, serverless: SEVERAL_PLACES, clusters: SEVERAL_PLACES },
    "network-volumes": "'dataCenter'",
  }),
  "$.dataCenterIds": to({ "network-volumes": "'dataCenter', of one data center" }),
  "$.workersMin": to({ serverless: "'workers.min'" }),
  "$.workersMax": to({ serverless: "'workers.max'" }),
  "$.idleTimeout": to({ serverless: IDLE }),
  "$.scaling.idleTimeout": to({ serverless: IDLE }),
  "$.scaling.value": to({
    serverless: "'scaling.queueDelay' for QUEUE_DELAY, 'scaling.requestCount' for REQUEST_COUNT",
  }),
  "$.scalerType": to({ serverless: SCALING }),
  "$.scalerValue": to({ serverless: SCALING }),
  "$.executionTimeoutMs": to({ serverless: "'timeout', in milliseconds" }),
  "$.flashboot": to({ serverless: "FLASHBOOT for true, and OFF for false" }, isBoolean),
  "$.flashBootType": to({ serverless: "'flashboot'" }),
  "$.template": to({ pods: "'templateId'", serverless: "'templateId'", clusters: "'templateId'" }),
  "$.gpu.templateId": to(AT_THE_TOP),
  "$.compute.templateId": to(AT_THE_TOP),
  "$.workers.templateId": to(AT_THE_TOP),
  "$.templateId": to({ templates: "'id' of the template in the path, PATCH /v2/templates/{id}" }),
  "$.isServerless": to({ templates: "'serverless'" }),
  "$.isPublic": to({ templates: "'public'" }),
  "$.clusterName": to({ clusters: "'name'" }),
  "$.podCount": to({ clusters: "'compute.podCount'" }),
  "$.gpuCountPerPod": to({ clusters: "'compute.gpuCountPerPod'" }),
};

const UNKNOWN = /^(\$[^:]*): additional properties '([^']*)' not allowed$/;
const PLACE = /^(\$[^:]*): /;

/** Adds to a failure what to write instead, for callers who are used to another API. */
export function withInstead(path: string, body: unknown, failure: string): string {
  const unknown = UNKNOWN.exec(failure);
  const place = unknown ? `${unknown[1]}.${unknown[2]}` : PLACE.exec(failure)?.[1];
  if (place === undefined || !Object.hasOwn(HINTS, place)) return failure;
  const { instead, of } = HINTS[place]!;
  // A field that the body may have needs no other word. Only its value may.
  if (of ? !of(valueAt(place, body)) : !unknown) return failure;
  const text = isText(instead) ? instead : instead[path.split("/")[2] as Kind];
  return text === undefined ? failure : `${failure}; write ${text}`;
}

const valueAt = (place: string, body: unknown): unknown =>
  place
    .split(".")
    .slice(1)
    .reduce<unknown>((inner, name) => (inner as Record<string, unknown> | null | undefined)?.[name], body);
