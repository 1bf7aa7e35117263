/** A worker as REST v1 and GraphQL show it: as a Pod that belongs to an endpoint. */
import { cpuPrice, dataCenter, gpuPrice, gpuType } from "../../catalog/compute.ts";
import { timestamp } from "../../kernel/clock.ts";
import { hostName } from "../container/variables.ts";
import type { KeptWorker } from "./model.ts";
import type { WorkerItem } from "./records.ts";

const MB_PER_GB = 1024;

/** Whether there is something of it to show. */
export const isShown = ({ doc }: WorkerItem): boolean => doc.state !== "FAILED" && doc.state !== "GONE";

/** One that stands still takes no time of a processor, and costs none. */
export function flatWorker({ id, account, createdAt, doc }: WorkerItem) {
  const { machine, gpuCount, vcpu, memoryMb, image, release, startedAt, diskGb, state } = doc;
  const costPerHr = state === "FROZEN" ? 0 : priceOf(doc);
  return {
    id,
    desiredStatus: state === "FROZEN" ? ("EXITED" as const) : ("RUNNING" as const),
    imageName: image,
    machineId: machine ?? "",
    consumerUserId: account,
    endpointId: doc.owner,
    /** The first is 0. */
    slsVersion: release - 1,
    gpuCount,
    vcpuCount: Math.round(vcpu),
    memoryInGb: Math.round(memoryMb / MB_PER_GB),
    containerDiskInGb: doc.containerGb ?? diskGb,
    costPerHr,
    adjustedCostPerHr: costPerHr,
    createdAt: timestamp(createdAt),
    lastStartedAt: startedAt === null ? null : timestamp(startedAt),
    lastStatusChange: doc.reason ?? "",
    machine: machineOf(id, doc, costPerHr),
  };
}

function machineOf(id: string, { machine, dataCenter: center, gpuType: type, flavor }: KeptWorker, costPerHr: number) {
  return {
    id: machine ?? "",
    podHostId: hostName(id),
    dataCenterId: center,
    location: (center && dataCenter(center)?.country) ?? null,
    gpuTypeId: type,
    gpuDisplayName: (type && (gpuType(type)?.name ?? type)) ?? null,
    cpuTypeId: flavor,
    secureCloud: true,
    costPerHr,
  };
}

const NANO = 1e9;

/** USD per hour; with a GPU its share of CPU and memory comes along. */
function priceOf({ gpuType: type, gpuCount, flavor, vcpu }: KeptWorker): number {
  const price =
    type === null ? (flavor === null ? 0 : cpuPrice(flavor, "worker") * vcpu) : gpuPrice.worker(type) * gpuCount;
  return Math.round(price * NANO) / NANO;
}
