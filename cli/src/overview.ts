/** Everything of an account that runs, in one reading: Pods, endpoints with their queues, and workers. */
import type { ApiClient, Called } from "./api.ts";
import { Refusal } from "./failure.ts";
import { listed } from "./names.ts";

interface Pod {
  id: string;
  name: string;
  status: string;
  statusReason: string | null;
  gpu?: { id: string; count: number };
  cpu?: { id: string; vcpuCount: number };
  cost: number;
  runtime: {
    uptime: number;
    gpus: { util: number; memoryUtil: number }[];
    cpu: { util: number };
    memory: { util: number };
  } | null;
}

interface Worker {
  id: string;
  status: string;
  reason: string | null;
  gpuTypeId: string | null;
  gpuCount: number;
  uptimeSeconds: number | null;
}

interface Health {
  jobs: { inQueue: number; inProgress: number; completed: number; failed: number };
  workers: Record<string, number>;
  waitReason?: string;
}

export interface EndpointView {
  id: string;
  name: string;
  type: string;
  max: number;
  health: Health | undefined;
  workers: readonly Worker[];
}

export interface Overview {
  pods: readonly Pod[];
  endpoints: readonly EndpointView[];
}

/** Written out, and compared with the operations by a test: loading their schemas would take as long as the requests themselves. */
export const asked = {
  listPods: { method: "GET", path: "/v2/pods" },
  listEndpoints: { method: "GET", path: "/v2/serverless" },
  listEndpointWorkers: { method: "GET", path: "/v2/serverless/{id}/workers" },
  getEndpointHealth: { method: "GET", path: "/v2/{endpoint_id}/health" },
} satisfies Record<string, Called>;

/** A key sees what it may see: what it may not is left out. */
export async function overviewOf(api: ApiClient): Promise<Overview> {
  const [pods, endpoints] = await Promise.all([
    seen(async () => (await listed(api, asked.listPods)).pods as Pod[]),
    seen(async () => (await listed(api, asked.listEndpoints)).endpoints as Endpoint[]),
  ]);
  if (!pods && !endpoints) await api.call(asked.listPods);
  return { pods: pods ?? [], endpoints: await Promise.all((endpoints ?? []).map((one) => endpointView(api, one))) };
}

interface Endpoint {
  id: string;
  name: string;
  type: string;
  workers: { max: number };
}

async function endpointView(api: ApiClient, { id, name, type, workers: { max } }: Endpoint): Promise<EndpointView> {
  const [listing, health] = await Promise.all([
    seen(() => api.call(asked.listEndpointWorkers, { params: { id } })),
    // The paths of a load-balancing endpoint are its application's: asking it would start a worker and wait for it.
    type === "QUEUE" ? seen(() => api.call(asked.getEndpointHealth, { params: { endpoint_id: id } })) : undefined,
  ]);
  const { workers = [] } = (listing ?? {}) as { workers?: readonly Worker[] };
  return { id, name, type, max, health: health as Health | undefined, workers };
}

/** Something may be deleted between two requests. */
async function seen<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Refusal && error.status !== 401 && error.status < 500) return undefined;
    throw error;
  }
}

/** `90061` as `1d 1h`. */
function durationText(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return "";
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  if (days > 0) return `${days}d ${hours}h`;
  if (hours > 0) return `${hours}h ${minutes}m`;
  return minutes > 0 ? `${minutes}m ${Math.floor(seconds) % 60}s` : `${Math.floor(seconds)}s`;
}

const gpuText = (gpu: { id: string; count: number } | undefined) =>
  gpu === undefined ? "" : `${gpu.count} x ${gpu.id.replace(/^NVIDIA (GeForce )?/, "")}`;

type Row = Record<string, unknown>;

export function podRows({ pods }: Overview): Row[] {
  return pods.map(({ id, name, status, statusReason, gpu, cpu, runtime }) => ({
    ...{ kind: "pod", id, name, status, on: gpuText(gpu) || (cpu ? `${cpu.vcpuCount} vCPU` : "") },
    up: durationText(runtime?.uptime),
    note: status === "RUNNING" ? "" : (statusReason ?? ""),
    gpu: runtime?.gpus.map(({ util, memoryUtil }) => `${util}% (${memoryUtil}%)`).join(" ") ?? "",
    cpu: runtime ? `${runtime.cpu.util}%` : "",
    memory: runtime ? `${runtime.memory.util}%` : "",
  }));
}

export function endpointRow({ id, name, type, max, health, workers }: EndpointView): Row {
  const { inQueue = 0, inProgress = 0, completed = 0, failed = 0 } = health?.jobs ?? {};
  const status = health ? `${inQueue} queued, ${inProgress} running` : type;
  return {
    ...{ kind: "endpoint", id, name, status, on: `${workers.length} of ${max} workers`, up: "" },
    ...{ note: health?.waitReason ?? "", inQueue, inProgress, completed, failed },
  };
}

export function workerRows({ name, workers }: EndpointView): Row[] {
  return workers.map(({ id, status, reason, gpuTypeId, gpuCount, uptimeSeconds }) => ({
    ...{ kind: "worker", id, name, status, up: durationText(uptimeSeconds), note: reason ?? "" },
    on: gpuTypeId === null ? "" : gpuText({ id: gpuTypeId, count: gpuCount }),
  }));
}
