/** What inputs of GraphQL say of a Pod, in the names of the flat dialect. */
import type { Flat } from "../../kernel/flat.ts";
import { compareVersions } from "../../machines/terms.ts";
import { envFrom, portsFrom } from "../../resources/container/forms.ts";
import { anyWithAtLeast, DEFAULT_VCPUS } from "../../resources/container/instance-ids.ts";
import { anyCloud } from "../../resources/pods/any-cloud.ts";
import { anyGpuType } from "../../resources/pods/any-gpu.ts";
import { podDialect } from "../../resources/pods/flat.ts";
import { given } from "./fields.ts";

type Said = Readonly<Record<string, unknown>>;
type Cloud = NonNullable<ReturnType<typeof anyCloud>>;

/** Clients send these empty where they have nothing to say. */
const EMPTY_IS_NOTHING = [
  ...["dataCenterId", "networkVolumeId", "templateId", "containerRegistryAuthId", "countryCode", "minCudaVersion"],
  ...["cudaVersion", "gpuTypeId", "instanceId", "imageName", "volumeMountPath", "ports"],
];

interface Pair {
  key?: string | null;
  value?: string | null;
}

/** The parts of a container that GraphQL says in another form than the dialect. Clients that always send a disk send 0 where none is chosen. */
export function containerOf({ env, ports, containerDiskInGb }: Said): Flat {
  return {
    ...(containerDiskInGb === 0 && { containerDiskInGb: undefined }),
    ...(env !== undefined && { env: envFrom((env as (Pair | null)[]).flatMap(pairOf)) }),
    ...(ports !== undefined && { ports: portsFrom(ports as string) }),
  };
}

const pairOf = (pair: Pair | null) => (pair?.key ? [{ key: pair.key, value: pair.value ?? "" }] : []);

/** Whatever the dialect calls as GraphQL does. */
export const sameNames = (said: Said, fields: object): Flat =>
  Object.fromEntries(Object.entries(said).filter(([name]) => name in fields));

/** A new Pod, on GPUs or on CPUs. */
export function newPodFlat(input: unknown, computeType?: "CPU"): Flat {
  // Of a new one an empty command says nothing too, and leaves that of the template.
  const said = { ...given(input, ...EMPTY_IS_NOTHING, "dockerArgs"), ...(computeType && { computeType }) };
  return given({
    ...sameNames(said, podDialect.fields),
    ...containerOf(said),
    ...placeOf(said),
    ...storageOf(said),
    ...(isOnCpus(said) ? cpusOf(said) : gpusOf(said)),
  });
}

const hasItems = (list: unknown) => Array.isArray(list) && list.length > 0;

/** A change of a Pod that is there: an empty command clears the one it has, and so does an empty list of variables. */
export function changedPodFlat(input: unknown): Flat {
  const said = given(input, ...EMPTY_IS_NOTHING);
  return given({ ...sameNames(said, podDialect.fields), ...containerOf(said), ...storageOf(said) });
}

/** Without a type of GPU, no count of them is a word for CPUs: some clients have no other. */
const isOnCpus = ({ computeType, instanceId, instanceIds, gpuTypeId, gpuTypeIdList, gpuCount }: Said) =>
  computeType === "CPU" ||
  instanceId !== undefined ||
  ((hasItems(instanceIds) || gpuCount === 0) && gpuTypeId === undefined && !hasItems(gpuTypeIdList));

function cpusOf(said: Said): Flat {
  const named = said.instanceId === undefined ? namesIn(said.instanceIds) : [said.instanceId];
  return { ...withoutGpus, instanceIds: named.length > 0 ? named : anyFor(said) };
}

/** Who names no flavor gets any that has what is asked for. A Pod on CPUs has no volume of its own, which clients send by default. */
const anyFor = ({ minVcpuCount, minMemoryInGb }: Said): string[] =>
  anyWithAtLeast({
    vcpus: (minVcpuCount as number | undefined) ?? DEFAULT_VCPUS,
    memoryGb: (minMemoryInGb as number | undefined) ?? 0,
  });

const withoutGpus: Flat = {
  gpuCount: undefined,
  volumeInGb: undefined,
  allowedCudaVersions: undefined,
  minCudaVersion: undefined,
};

/** What is asked for of the whole Pod is asked for of each of its GPUs in equal parts. */
function gpusOf(said: Said): Flat {
  const { gpuTypeId, gpuTypeIdList, gpuCount, minMemoryInGb, minVcpuCount } = said;
  const types = [...new Set([...(gpuTypeId === undefined ? [] : [gpuTypeId]), ...namesIn(gpuTypeIdList)])];
  const each = (amount: unknown) => Math.ceil((amount as number) / ((gpuCount as number | undefined) ?? 1));
  return {
    instanceIds: undefined,
    ...(types.length > 0 && { gpuTypeIds: types }),
    // So many of any.
    ...(types.length === 0 &&
      isMore(gpuCount) && { gpuTypeIds: anyGpuType(cloudOf(said), said.bidPerGpu !== undefined) }),
    ...(isMore(minMemoryInGb) && { minRAMPerGPU: each(minMemoryInGb) }),
    ...(isMore(minVcpuCount) && { minVCPUPerGPU: each(minVcpuCount) }),
    ...cudaOf(said),
  };
}

/** Some clients name the versions that will do and the least one beside them: then those of the list that are as new as that. */
function cudaOf({ allowedCudaVersions, cudaVersion, minCudaVersion }: Said): Flat {
  const listed = namesIn(allowedCudaVersions) as string[];
  const named = listed.length === 0 && cudaVersion !== undefined ? [cudaVersion as string] : listed;
  const least = minCudaVersion as string | undefined;
  const newer = named.filter((version) => least === undefined || compareVersions(version, least) >= 0);
  return newer.length === 0
    ? { allowedCudaVersions: named.length === 0 ? undefined : named }
    : { allowedCudaVersions: newer, minCudaVersion: undefined };
}

const isMore = (amount: unknown): boolean => typeof amount === "number" && amount > 0;

const namesIn = (list: unknown): unknown[] =>
  Array.isArray(list) ? list.filter((name) => name !== null && name !== "") : [];

/** `ALL` leaves the choice to us. */
const cloudOf = (said: Said): Cloud | undefined =>
  said.cloudType === "ALL" ? anyCloud(payingIn(said)) : (said.cloudType as Cloud | undefined);

const payingIn = ({ gpuTypeId, gpuTypeIdList, gpuCount = 1, bidPerGpu, deployCost }: Said) => ({
  types: namesIn([gpuTypeId ?? null, ...namesIn(gpuTypeIdList)]) as string[],
  count: gpuCount as number,
  bidPerGpu: bidPerGpu as number | undefined,
  mostPerHour: isMore(deployCost) ? (deployCost as number) : undefined,
});

const placeOf = ({ dataCenterId, countryCode, ...said }: Said): Flat => ({
  cloudType: cloudOf(said),
  ...(dataCenterId !== undefined && { dataCenterIds: [dataCenterId] }),
  ...(countryCode !== undefined && { countryCodes: [countryCode] }),
});

/** None is said by 0; a network volume stands in the place of the Pod's own. */
const storageOf = ({ volumeInGb, networkVolumeId }: Said): Flat => ({
  volumeInGb: volumeInGb === 0 || networkVolumeId !== undefined ? undefined : volumeInGb,
});
