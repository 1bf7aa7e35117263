/** A Pod as a GraphQL row: its flat record, with lists as texts and the fields that clients expect. */
import { envLines, portsText } from "../../resources/container/forms.ts";
import { podDialect } from "../../resources/pods/flat.ts";
import { type FlatPod, flatChanges, flatPod, oncePerPod } from "../../resources/pods/flat-view.ts";
import type { PodItem } from "../../resources/pods/records.ts";
import type { PodViews } from "../../resources/pods/view.ts";

export type PodRow = Readonly<Record<string, unknown>> & { id: string };

export const FULL_POWER = 100;

/** Each GPU has an id made from the Pod's id and a counter. */
export const gpuRows = (podId: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: `${podId}-${i}`, podId }));

export function podRow(item: PodItem, views: PodViews): PodRow {
  const { row, costPerHr } = lastingRow(views)(item);
  const changes = flatChanges(item, views);
  // What the machine costs is a part of the row too.
  if (costPerHr !== changes.costPerHr) return rowOf(item, flatPod(item, views));
  const { lastStatusChange, adjustedCostPerHr, uptimeSeconds, runtime } = changes;
  // Named one by one: a second spread took a tenth longer.
  return { ...row, lastStatusChange, adjustedCostPerHr, uptimeSeconds, runtime };
}

const lastingRow = oncePerPod((item, flat) => ({ row: rowOf(item, flat), costPerHr: flat.costPerHr }));

function rowOf(item: PodItem, flat: FlatPod): PodRow {
  const { id, account, doc } = item;
  const { env, ports, mounts, cluster, address, status, lastStatusChange } = doc;
  return {
    ...podDialect.of(doc),
    ...flat,
    env: envLines(env),
    ports: portsText(ports),
    volumeInGb: mounts.persistent?.size ?? 0,
    volumeEncrypted: false,
    consumerUserId: account,
    gpuPowerLimitPercent: FULL_POWER,
    gpus: gpuRows(id, flat.gpuCount),
    machineType: flat.gpuCount > 0 ? "GPU" : "CPU",
    machine: { ...flat.machine, machineSystem: { cudaVersion: doc.last?.cuda ?? null } },
    ...(cluster && { clusterId: cluster.id, clusterIdx: cluster.rank, clusterRole: cluster.role, clusterIp: address }),
    savingsPlans: [],
    latestTelemetry: { state: status === "RUNNING" ? "running" : "exited", time: lastStatusChange },
  };
}
