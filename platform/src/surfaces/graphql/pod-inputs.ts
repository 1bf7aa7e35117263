/** Translates GraphQL inputs for a Pod into the names of the flat dialect. */
import type { Flat } from "../../kernel/flat.ts";
import { withOneCuda } from "../../resources/container/cuda-versions.ts";
import { envFrom, portsFrom } from "../../resources/container/forms.ts";
import { anyWithAtLeast, DEFAULT_VCPUS } from "../../resources/container/instance-ids.ts";
import { withKnownChoices } from "../../resources/known-choices.ts";
import { anyCloud } from "../../resources/pods/any-cloud.ts";
import { anyGpuType } from "../../resources/pods/any-gpu.ts";
import { podDialect } from "../../resources/pods/flat.ts";
import { given } from "./fields.ts";

type Said = Readonly<Record<string, unknown>>;
type Cloud = NonNullable<ReturnType<typeof anyCloud>>;

/** Clients send these fields empty when they have no value for them. */
const EMPTY_IS_NOTHING = [
  ...["dataCenterId", "networkVolumeId", "templateId", "containerRegistryAuthId", "countryCode", "minCudaVersion"],
  ...["cudaVersion", "gpuTypeId", "instanceId", "imageName", "volumeMountPath", "ports"],
];

interface Pair {
  key?: string | null;
  value?: string | null;
}

/** Translates the container fields that have another form in GraphQL. Clients that always send a disk send 0 when none is chosen. */
export function containerOf({ env, ports, containerDiskInGb }: Said): Flat {
  return {
    ...(containerDiskInGb === 0 && { containerDiskInGb: undefined }),
    ...(env !== undefined && { env: envFrom((env as (Pair | null)[]).flatMap(pairOf)) }),
    ...(ports !== undefined && { ports: portsFrom(ports as string) }),
  };
}

const pairOf = (pair: Pair | null) => (pair?.key ? [{ key: pair.key, value: pair.value ?? "" }] : []);

/** Keeps the fields that have the same name in the dialect. */
export const sameNames = (said: Said, fields: object): Flat =>
  Object.fromEntries(Object.entries(said).filter(([name]) => name in fields));

/** Translates a new Pod, on GPUs or on CPUs. */
export function newPodFlat(input: unknown, computeType?: "CPU"): Flat {
  // An empty command of a new Pod counts as not given, so it keeps the template's command.
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

/** Translates a change of an existing Pod: an empty command, or an empty list of variables, clears the Pod's own. */
export function changedPodFlat(input: unknown): Flat {
  const said = given(input, ...EMPTY_IS_NOTHING);
  return given({ ...sameNames(said, podDialect.fields), ...containerOf(said), ...storageOf(said) });
}

/** Without a GPU type, a count of 0 means CPUs. Some clients have no other way to say so. */
const isOnCpus = ({ computeType, instanceId, instanceIds, gpuTypeId, gpuTypeIdList, gpuCount }: Said) =>
  computeType === "CPU" ||
  instanceId !== undefined ||
  ((hasItems(instanceIds) || gpuCount === 0) && gpuTypeId === undefined && !hasItems(gpuTypeIdList));

function cpusOf(said: Said): Flat {
  const named = said.instanceId === undefined ? namesIn(said.instanceIds) : [said.instanceId];
  return { ...withoutGpus, instanceIds: named.length > 0 ? named : anyFor(said) };
}

/**
 * A Pod that names no flavor gets any that has what it asks for. It has no volume of its own: clients send that by default, and it is
 * dropped.
 */
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

/** The memory and vCPUs asked for the whole Pod are divided equally among its GPUs. */
function gpusOf(said: Said): Flat {
  const { gpuTypeId, gpuTypeIdList, gpuCount, minMemoryInGb, minVcpuCount } = said;
  const types = [...new Set([...(gpuTypeId === undefined ? [] : [gpuTypeId]), ...namesIn(gpuTypeIdList)])];
  const each = (amount: unknown) => Math.ceil((amount as number) / ((gpuCount as number | undefined) ?? 1));
  return {
    instanceIds: undefined,
    ...(types.length > 0 && withKnownChoices({ gpuTypeIds: types })),
    // A count without a type means any type.
    ...(types.length === 0 &&
      isMore(gpuCount) && { gpuTypeIds: anyGpuType(cloudOf(said), said.bidPerGpu !== undefined) }),
    ...(isMore(minMemoryInGb) && { minRAMPerGPU: each(minMemoryInGb) }),
    ...(isMore(minVcpuCount) && { minVCPUPerGPU: each(minVcpuCount) }),
    ...cudaOf(said),
  };
}

/** One version may also come under a name of its own. An empty list says nothing. */
function cudaOf({ allowedCudaVersions, cudaVersion, minCudaVersion }: Said): Flat {
  const listed = namesIn(allowedCudaVersions);
  const named = listed.length === 0 && cudaVersion !== undefined ? [cudaVersion] : listed;
  return withOneCuda({ allowedCudaVersions: named.length === 0 ? undefined : named, minCudaVersion });
}

const isMore = (amount: unknown): boolean => typeof amount === "number" && amount > 0;

const namesIn = (list: unknown): unknown[] =>
  Array.isArray(list) ? list.filter((name) => name !== null && name !== "") : [];

/** With `ALL` the server chooses. */
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

/** A size of 0 counts as not given. A network volume takes the place of the Pod's own. */
const storageOf = ({ volumeInGb, networkVolumeId }: Said): Flat => ({
  volumeInGb: volumeInGb === 0 || networkVolumeId !== undefined ? undefined : volumeInGb,
});
