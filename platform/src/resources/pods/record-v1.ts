/** A Pod as REST v1 shows it. */
import { gpuType } from "../../catalog/compute.ts";
import type { Flat } from "../../kernel/flat.ts";
import { type FlatMachine, type FlatPod, flatChanges, flatPod, oncePerPod } from "./flat-view.ts";
import { podShapes } from "./operations-v1.ts";
import type { PodItem } from "./records.ts";
import type { PodViews } from "./view.ts";

export interface Including {
  includeMachine?: boolean;
  includeSavingsPlans?: boolean;
}

export function podRecord(item: PodItem, views: PodViews, including: Including): Flat {
  const { includeMachine, includeSavingsPlans } = including;
  if (includeMachine) return wholeRecord(item, flatPod(item, views), including);
  const record = { ...lastingRecord(views)(item), ...flatChanges(item, views) };
  return includeSavingsPlans ? { ...record, savingsPlans: [] } : record;
}

const lastingRecord = oncePerPod((item, flat) => wholeRecord(item, flat, {}));

export function wholeRecord(item: PodItem, flat: FlatPod, including: Including): Flat {
  const { account, doc } = item;
  const { volumeInGb = 0, volumeMountPath = "", containerRegistryAuthId: auth, ...said } = podShapes.of(doc);
  return {
    ...said,
    ...(auth !== null && { containerRegistryAuthId: auth }),
    ...instanceRecord(flat, including),
    image: doc.image,
    ...{ dockerEntrypoint: doc.entrypoint, dockerStartCmd: doc.cmd, volumeInGb, volumeMountPath },
    computeType: doc.gpu ? "GPU" : "CPU",
    consumerUserId: account,
    ...(including.includeSavingsPlans && { savingsPlans: [] }),
  };
}

/** What Pods and workers have in common. Fields without a value are left out. */
export function instanceRecord(view: Omit<FlatPod, "podType">, { includeMachine }: Including): Flat {
  const { gpuTypeId, cpuFlavorId, machine, ...rest } = view;
  return {
    ...rest,
    volumeEncrypted: false,
    ...(gpuTypeId !== null && { gpuTypeId, gpu: gpuOf(gpuTypeId, view.gpuCount) }),
    ...(cpuFlavorId !== null && { cpuFlavorId }),
    dataCenterId: machine.dataCenterId,
    machine: includeMachine ? machineRecord(machine, view) : {},
  };
}

/** Fields that clients look for and that machines here do not report. */
const UNKNOWN_OF_MACHINES = {
  ...{ diskThroughputMBps: null, maxDownloadSpeedMbps: null, maxUploadSpeedMbps: null, gpuAvailable: null },
  ...{ maintenanceStart: null, maintenanceEnd: null, maintenanceNote: null, note: null },
};

function machineRecord(
  { podHostId: _, ...machine }: FlatMachine,
  { gpuCount, vcpuCount }: Omit<FlatPod, "podType">,
): Flat {
  const { gpuTypeId } = machine;
  return {
    ...machine,
    ...(gpuTypeId !== null && { gpuType: gpuOf(gpuTypeId, gpuCount) }),
    ...UNKNOWN_OF_MACHINES,
    cpuCount: vcpuCount,
    minPodGpuCount: gpuTypeId === null ? 0 : 1,
  };
}

function gpuOf(id: string, count: number): Flat {
  const { name: displayName = id, price } = gpuType(id) ?? {};
  return {
    ...{ id, count, displayName, securePrice: price?.secure ?? null, communityPrice: price?.community ?? null },
    ...{ secureSpotPrice: price?.secureSpot ?? null, communitySpotPrice: price?.communitySpot ?? null },
    ...{ oneWeekPrice: null, oneMonthPrice: null, threeMonthPrice: null, sixMonthPrice: null },
  };
}
