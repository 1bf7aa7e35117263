/** Translates bodies of REST v1 for a Pod into the names of the flat dialect and the terms of the service. */
import type { Cloud } from "../../catalog/words.ts";
import type { Flat } from "../../kernel/flat.ts";
import { withOneCuda } from "../container/cuda-versions.ts";
import { containerFrom } from "../container/face-v1.ts";
import { anyOfSize } from "../container/instance-ids.ts";
import { withKnownChoices } from "../known-choices.ts";
import { v1Defaults } from "../v1-defaults.ts";
import { anyGpuType } from "./any-gpu.ts";
import { defaultDiskGb } from "./disk-limit.ts";
import type { PodTerms } from "./fields.ts";
import type { KeptPod } from "./model.ts";
import { podShapes } from "./operations-v1.ts";

const defaults = v1Defaults.pod;

/** Ids that clients send as an empty text to mean none. */
const EMPTY_IS_NONE = ["templateId", "networkVolumeId", "gpuTypeId", "volumeMountPath"];
/** Fields that only GPU Pods have. They are ignored for CPU Pods. */
const OF_GPUS = ["gpuCount", "gpuTypeIds", "allowedCudaVersions", "minCudaVersion", "minRAMPerGPU", "minVCPUPerGPU"];

export function newPodTerms(body: Flat): PodTerms {
  const said = saidIn(body);
  const isCpu = isOnCpus(said);
  const stored = storageIn(said, isCpu);
  const flat = { ...defaultsFor(said, isCpu), ...(isCpu ? cpusIn(stored) : gpusIn(stored)) };
  const { disk, ...terms } = podShapes.created(flat);
  return { ...terms, ...noStorageIn(said), ...diskIn(said, disk, terms.cpu), ...commandIn(said) };
}

/** Fields that are not sent stay unchanged. */
export function changedPodTerms(body: Flat, before: KeptPod): PodTerms {
  const { volumeInGb, ...said } = saidIn(body);
  const isNone = volumeInGb === 0 && !before.mounts.persistent;
  const flat = { ...said, ...(volumeInGb !== undefined && !isNone && { volumeInGb }) };
  return { ...podShapes.updated(flat, before), ...commandIn(said) };
}

/** Leaves out fields for which an empty text means none, and choices that there are not. */
function saidIn(body: Flat): Flat {
  const said = Object.entries(containerFrom(withKnownChoices(body)));
  return Object.fromEntries(said.filter(([name, value]) => !(value === "" && EMPTY_IS_NONE.includes(name))));
}

const listIn = (list: unknown): string[] => (Array.isArray(list) ? (list as string[]) : []);

/** CPU flavors without GPUs mean a CPU Pod. */
function isOnCpus({ computeType, cpuFlavorIds, instanceIds, gpuTypeIds: types, gpuTypeId }: Flat): boolean {
  if (computeType !== undefined) return computeType === "CPU";
  return listIn(cpuFlavorIds ?? instanceIds).length > 0 && listIn(types).length === 0 && gpuTypeId === undefined;
}

/** A template brings its own container fields, so those get no defaults here. */
function defaultsFor({ templateId }: Flat, isCpu: boolean): Flat {
  const { name, containerDiskInGb, volumeInGb, volumeMountPath, ports } = defaults;
  if (templateId !== undefined) return { name };
  return { name, containerDiskInGb, volumeMountPath, ports: [...ports], ...(!isCpu && { volumeInGb }) };
}

/** The default of this API is larger than the limit of small CPU Pods, so it is reduced for them. */
function diskIn({ containerDiskInGb }: Flat, disk: number | undefined, cpu: PodTerms["cpu"]): Pick<PodTerms, "disk"> {
  if (disk === undefined) return {};
  return { disk: containerDiskInGb === undefined && cpu ? defaultDiskGb(disk, cpu) : disk };
}

/** 0 also means none of the template's storage, which an empty list of volumes says. */
const noStorageIn = ({ volumeInGb, networkVolumeId, templateId }: Flat): Pick<PodTerms, "mounts"> =>
  volumeInGb === 0 && networkVolumeId === undefined && templateId !== undefined ? { mounts: { network: [] } } : {};

/** 0 means no storage. A CPU Pod has none, so the default that clients send for one is ignored. */
function storageIn({ volumeInGb, ...said }: Flat, isCpu: boolean): Flat {
  const isUnmeant = isCpu && volumeInGb === defaults.volumeInGb;
  if (volumeInGb === undefined || isUnmeant) return said;
  return { ...said, volumeInGb: volumeInGb === 0 ? undefined : volumeInGb };
}

function cpusIn({ cpuFlavorIds, instanceIds, vcpuCount = defaults.vcpuCount, ...said }: Flat): Flat {
  const size = vcpuCount as number;
  const flavors = listIn(cpuFlavorIds).map((id) => `${id}-${size}`);
  const others = Object.entries(said).filter(([name]) => !OF_GPUS.includes(name));
  const sized = listIn(instanceIds).length > 0 ? instanceIds : flavors.length > 0 ? flavors : anyOfSize(size);
  return { ...Object.fromEntries(others), instanceIds: sized };
}

function gpusIn({ gpuTypeId, gpuTypeIds: types, gpuCount = defaults.gpuCount, ...said }: Flat): Flat {
  const any = () => anyGpuType(said.cloudType as Cloud | undefined, said.interruptible === true);
  const named = listIn(types).length > 0 ? listIn(types) : gpuTypeId === undefined ? any() : [gpuTypeId];
  return { ...withOneCuda(said), gpuCount, gpuTypeIds: named, instanceIds: undefined };
}

/** The dialect has the command as one text only, so its lists are passed on separately. */
const commandIn = ({ dockerEntrypoint, dockerStartCmd }: Flat): Pick<PodTerms, "entrypoint" | "cmd"> => ({
  ...(Array.isArray(dockerEntrypoint) && { entrypoint: dockerEntrypoint as string[] }),
  ...(Array.isArray(dockerStartCmd) && { cmd: dockerStartCmd as string[] }),
});
