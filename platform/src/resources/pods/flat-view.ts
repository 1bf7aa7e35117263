/** What REST v1 and GraphQL show of a Pod in addition to its own fields: one of three statuses, its machine, cost and ports. */
import { cpuFlavor, dataCenter, gpuType } from "../../catalog/compute.ts";
import { onceInCatalog } from "../../catalog/once-in-catalog.ts";
import { dateText, timestamp } from "../../kernel/clock.ts";
import { onceFor } from "../../kernel/once-for.ts";
import { sshUser } from "../ssh/logins.ts";
import type { PodStatus } from "./lifecycle.ts";
import type { KeptPod, LastPlace } from "./model.ts";
import { portsOf } from "./ports.ts";
import type { PodItem } from "./records.ts";
import type { BriefView, PodViews } from "./view.ts";

export type DesiredStatus = "RUNNING" | "EXITED" | "TERMINATED";

/** The older surfaces have no status for a Pod that is about to run, or that cannot run. */
const desired: Record<PodStatus, DesiredStatus> = {
  PROVISIONING: "RUNNING",
  STARTING: "RUNNING",
  RUNNING: "RUNNING",
  EXITED: "EXITED",
  ERROR: "EXITED",
  TERMINATED: "TERMINATED",
};

const desiredStatusOf = ({ status }: { status: PodStatus }): DesiredStatus => desired[status];

export interface FlatPort {
  ip: string;
  isIpPublic: boolean;
  privatePort: number;
  publicPort: number;
  type: "http" | "tcp";
}

export interface FlatRuntime {
  uptimeInSeconds: number;
  container: { cpuPercent: number; memoryPercent: number };
  gpus: { id: string; gpuUtilPercent: number; memoryUtilPercent: number }[];
  ports: FlatPort[];
}

/** The CPUs of a CPU Pod. They are those of its flavor, because a machine's processors are not revealed. */
export interface FlatCpuType {
  id: string;
  displayName: string;
  groupId: string | null;
  cores: number;
  threadsPerCore: number;
}

export function flatCpuType(flavor: string | null, vcpu: number): FlatCpuType | null {
  if (flavor === null) return null;
  const { name = flavor, group = null } = cpuFlavor(flavor) ?? {};
  return { id: flavor, displayName: name, groupId: group, cores: Math.max(1, Math.round(vcpu)), threadsPerCore: 1 };
}

/** What is known of the Pod's machine. The id is empty if it has not had one yet. */
export interface FlatMachine {
  id: string;
  /** The user name for SSH logins, which never changes. */
  podHostId: string;
  dataCenterId: string | null;
  location: string | null;
  gpuTypeId: string | null;
  gpuDisplayName: string | null;
  cpuTypeId: string | null;
  cpuType: FlatCpuType | null;
  secureCloud: boolean;
  supportPublicIp: boolean;
  costPerHr: number;
  currentPricePerGpu: number | null;
}

export interface FlatPod {
  id: string;
  desiredStatus: DesiredStatus;
  /** A sentence that says who changed the status, when, and why. */
  lastStatusChange: string;
  createdAt: string;
  lastStartedAt: string | null;
  machineId: string;
  costPerHr: number;
  adjustedCostPerHr: number;
  gpuCount: number;
  gpuTypeId: string | null;
  cpuFlavorId: string | null;
  vcpuCount: number;
  memoryInGb: number;
  podType: "RESERVED" | "INTERRUPTABLE";
  publicIp: string | null;
  /** The outside port of each TCP port, by the number that names it. */
  portMappings: Record<string, number>;
  uptimeSeconds: number;
  /** Null until the program runs. */
  runtime: FlatRuntime | null;
  machine: FlatMachine;
}

const MB_PER_GB = 1024;

export function flatPod(item: PodItem, views: PodViews): FlatPod {
  const { machine, changedAt: _, ...record } = flatRecord(item);
  const changes = flatChanges(item, views);
  const { costPerHr } = changes;
  return {
    ...record,
    ...changes,
    machine: { ...machine, costPerHr, currentPricePerGpu: perGpu(costPerHr, record.gpuCount) },
  };
}

/**
 * Keeps what is made of a flat Pod for each record and catalog, because clients list many Pods again and again. Whoever reads it replaces
 * what changes.
 */
export const oncePerPod = <T>(make: (item: PodItem, flat: FlatPod) => T) =>
  onceFor((views: PodViews) =>
    onceInCatalog(
      (item: PodItem) => make(item, flatPod(item, views)),
      ({ doc }) => doc,
    ),
  );

/** The parts that change from moment to moment, beside what the machine costs. */
type FlatChanges = Pick<FlatPod, "lastStatusChange" | "costPerHr" | "adjustedCostPerHr" | "uptimeSeconds" | "runtime">;

export function flatChanges(item: PodItem, views: PodViews): FlatChanges {
  const view = views.brief(item);
  return {
    lastStatusChange: lastChange(item.doc, flatRecord(item).changedAt, view.statusReason),
    costPerHr: view.cost,
    adjustedCostPerHr: usd(view.cost + views.storageCost(item)),
    uptimeSeconds: view.use?.uptime ?? 0,
    runtime: view.use && runtimeOf(item, view.use),
  };
}

/** The part that only depends on the record. It is cached per record, because clients list many Pods again and again. */
const flatRecord = onceFor(
  ({ id, createdAt, doc }: PodItem) => ({
    id,
    desiredStatus: desiredStatusOf(doc),
    changedAt: dateText(doc.lastStatusChange),
    createdAt: timestamp(createdAt),
    lastStartedAt: doc.startedAt === null ? null : timestamp(doc.startedAt),
    machineId: doc.last?.machine ?? "",
    ...sizeOf(doc),
    podType: doc.interruptible ? ("INTERRUPTABLE" as const) : ("RESERVED" as const),
    publicIp: doc.portsAt?.ip ?? null,
    portMappings: doc.publicPorts,
    machine: machineOf(id, doc),
  }),
  ({ doc }) => doc,
);

const perGpu = (costPerHr: number, gpus: number) => (gpus === 0 ? null : usd(costPerHr / gpus));

/** Rounds a sum of prices to nine digits. */
const usd = (amount: number) => Math.round(amount * 1e9) / 1e9;

/** What the Pod has, or would have. The numbers are whole, because clients read them into integers. */
function sizeOf({ gpu, withoutGpu, cpu = [], last }: KeptPod) {
  const flavor = cpu.find(({ id }) => id === last?.flavor) ?? cpu[0];
  return {
    gpuCount: withoutGpu ? 0 : (gpu?.count ?? 0),
    gpuTypeId: gpu ? (last?.gpuType ?? gpu.types[0] ?? null) : null,
    cpuFlavorId: flavor?.id ?? null,
    vcpuCount: Math.round(last?.vcpu ?? flavor?.vcpuCount ?? 0),
    memoryInGb: Math.round(last ? last.memoryMb / MB_PER_GB : (flavor?.memory ?? 0)),
  };
}

/** Clients look at the beginning to see who did it. The reason comes at the end. */
function lastChange({ status, reason: kept }: KeptPod, at: string, reason: string | null): string {
  const why = reason === null || reason === "" ? "" : ` (${reason})`;
  if (desiredStatusOf({ status }) === "RUNNING") return `Rented by User: ${at}${why}`;
  return kept?.code === "stopped-by-owner"
    ? `Exited by User: ${at}${reason === kept.text ? "" : why}`
    : `Exited by Millrace: ${at}${why}`;
}

function runtimeOf({ doc }: PodItem, use: NonNullable<BriefView["use"]>): FlatRuntime {
  return {
    uptimeInSeconds: use.uptime,
    container: { cpuPercent: use.cpu.util, memoryPercent: use.memory.util },
    gpus: use.gpus.map(({ util, memoryUtil }, i) => ({
      id: String(i),
      gpuUtilPercent: util,
      memoryUtilPercent: memoryUtil,
    })),
    ports: flatPorts(doc),
  };
}

const LOOPBACK = "127.0.0.1";

/** HTTP ports are reached through the proxy by host name, so this shows their inside ports. */
const flatPorts = onceFor((doc: KeptPod): FlatPort[] =>
  portsOf(doc).flatMap(({ named, type, inside = named, outside }) => {
    if (type === "http")
      return { ip: doc.address ?? LOOPBACK, isIpPublic: false, privatePort: inside, publicPort: inside, type };
    if (outside === undefined) return [];
    return { ip: doc.portsAt?.ip ?? LOOPBACK, isIpPublic: true, privatePort: inside, publicPort: outside, type };
  }),
);

function machineOf(id: string, doc: KeptPod): Omit<FlatMachine, "costPerHr" | "currentPricePerGpu"> {
  const { last, cloud, withoutGpu } = doc;
  const { gpuTypeId } = sizeOf(doc);
  const place = last && dataCenter(last.dataCenter);
  return {
    id: last?.machine ?? "",
    podHostId: sshUser(id),
    dataCenterId: last?.dataCenter ?? null,
    location: place?.country ?? null,
    gpuTypeId: withoutGpu ? null : gpuTypeId,
    gpuDisplayName: displayNameOf(last, gpuTypeId),
    cpuTypeId: last?.flavor ?? null,
    cpuType: flatCpuType(last?.flavor ?? null, last?.vcpu ?? 0),
    secureCloud: cloud === "SECURE",
    supportPublicIp: (doc.portsAt?.ip ?? null) !== null,
  };
}

function displayNameOf(last: LastPlace | null, gpuTypeId: string | null): string | null {
  if (gpuTypeId !== null) return gpuType(gpuTypeId)?.name ?? gpuTypeId;
  return last?.flavor ? (cpuFlavor(last.flavor)?.name ?? last.flavor) : null;
}
