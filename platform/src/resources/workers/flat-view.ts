/** A worker as REST v1 and GraphQL show it: its share of the machine, in the terms of a Pod. */
import { cpuPrice, dataCenter, gpuPrice, gpuType } from "../../catalog/compute.ts";
import { dateText, timestamp } from "../../kernel/clock.ts";
import { type Reason, withPlacesHidden } from "../../kernel/reason.ts";
import { type FlatMachine, type FlatPod, flatCpuType } from "../pods/flat-view.ts";
import type { KeptWorker, WorkerState } from "./model.ts";
import type { WorkerItem } from "./records.ts";

const MB_PER_GB = 1024;
const ENDED: readonly WorkerState[] = ["FAILED", "GONE"];

export const hasEnded = ({ doc }: WorkerItem): boolean => ENDED.includes(doc.state);

/** `loss` says why the worker's machine is silent, if it is. */
export function flatWorker(worker: WorkerItem, loss: Reason | undefined): Omit<FlatPod, "podType"> {
  const { id, createdAt, doc } = worker;
  const { machine, gpuType: type, gpuCount, flavor, vcpu, memoryMb, startedAt } = doc;
  const reason = withPlacesHidden(loss ?? doc.reason);
  const isOver = hasEnded(worker);
  const costPerHr = machine === null || isOver ? 0 : costOf(doc);
  const at = dateText(startedAt ?? createdAt);
  return {
    id,
    desiredStatus: isOver ? "EXITED" : "RUNNING",
    lastStatusChange: `${isOver ? "Exited by Millrace" : "Rented by User"}: ${at}${reason === null ? "" : ` (${reason.text})`}`,
    createdAt: timestamp(createdAt),
    lastStartedAt: startedAt === null ? null : timestamp(startedAt),
    machineId: machine ?? "",
    costPerHr,
    adjustedCostPerHr: costPerHr,
    ...{ gpuCount, gpuTypeId: type, cpuFlavorId: flavor },
    ...{ vcpuCount: Math.round(vcpu), memoryInGb: Math.round(memoryMb / MB_PER_GB) },
    ...{ publicIp: null, portMappings: {}, uptimeSeconds: 0, runtime: null },
    machine: machineOf(worker, costPerHr),
  };
}

function machineOf({ id, doc }: WorkerItem, costPerHr: number): FlatMachine {
  const { machine, dataCenter: center, gpuType: type, gpuCount, flavor, vcpu } = doc;
  return {
    ...{ id: machine ?? "", podHostId: id, dataCenterId: center },
    location: (center !== null && dataCenter(center)?.country) || null,
    ...{ gpuTypeId: type, gpuDisplayName: type && (gpuType(type)?.name ?? type), cpuTypeId: flavor },
    cpuType: flatCpuType(flavor, vcpu),
    ...{ secureCloud: true, supportPublicIp: false, costPerHr },
    currentPricePerGpu: gpuCount === 0 ? null : costPerHr / gpuCount,
  };
}

const costOf = ({ gpuType: type, gpuCount, flavor, vcpu }: KeptWorker): number =>
  type === null ? (flavor === null ? 0 : cpuPrice(flavor, "worker") * vcpu) : gpuPrice.worker(type) * gpuCount;
