/** How an endpoint is, in one word and one sentence, from its settings, its counts and its workers. */
import type { Health } from "@millrace/platform/jobs/model.ts";
import type { Static } from "@millrace/platform/kernel/schema.ts";
import type { CpuType, GpuType } from "@millrace/platform/resources/catalog/model.ts";
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import type { Worker } from "@millrace/platform/resources/workers/model.ts";
import type { Tone } from "../../design/facts.tsx";

export type EndpointHealth = Static<typeof Health>;
export type EndpointStatus = "PAUSED" | "FAILING" | "WAITING" | "STARTING" | "RUNNING" | "READY" | "ASLEEP";

export interface EndpointState {
  status: EndpointStatus;
  tone: Tone;
  reason: string | undefined;
  code: string | undefined;
}

const TONE_OF: Record<EndpointStatus, Tone> = {
  PAUSED: "idle",
  FAILING: "bad",
  WAITING: "wait",
  STARTING: "wait",
  RUNNING: "good",
  READY: "good",
  ASLEEP: "idle",
};

/** What each state means, for the filter and for a hover. */
export const MEANING_OF: Record<EndpointStatus, string> = {
  PAUSED: "It may have no workers.",
  FAILING: "Its workers do not come up.",
  WAITING: "Jobs wait, and no worker can take them yet.",
  STARTING: "Its first worker is on its way.",
  RUNNING: "Workers have jobs.",
  READY: "Workers wait for jobs.",
  ASLEEP: "No worker runs. The first job starts one.",
};

type Settings = Pick<Endpoint, "workers">;

export function stateOf(
  { workers: { max } }: Settings,
  health: EndpointHealth | undefined,
  workers: readonly Worker[] | undefined,
): EndpointState {
  const failed = workers?.find(({ status }) => status === "UNHEALTHY");
  const throttled = workers?.find(({ status }) => status === "THROTTLED");
  const counts = countsOf(health, workers);
  const state = (status: EndpointStatus, reason?: string | null, code?: string | null): EndpointState => ({
    status,
    tone: TONE_OF[status],
    reason: reason ?? undefined,
    code: code ?? undefined,
  });
  const waits = [health?.waitReason, health?.waitReasonCode] as const;
  if (counts.running > 0) return state("RUNNING", ...waits);
  if (counts.idle > 0) return state("READY", ...waits);
  if (max === 0) return state("PAUSED", "paused: max workers is 0", "paused");
  // Also while it is started once more, so that the page does not change with every attempt.
  if (waits[1] && FAILURES.has(waits[1])) return state("FAILING", ...waits);
  if (failed !== undefined || counts.unhealthy > 0)
    return state("FAILING", failed?.reason ?? waits[0], failed?.reasonCode ?? waits[1]);
  if (throttled !== undefined || counts.throttled > 0)
    return state("WAITING", throttled?.reason ?? waits[0], throttled?.reasonCode ?? waits[1]);
  if (counts.initializing > 0) return state("STARTING", waits[0], waits[1]);
  return (health?.jobs.inQueue ?? 0) > 0 ? state("WAITING", ...waits) : state("ASLEEP");
}

/** Reasons that tell more of a failing program than its last worker does. */
const FAILURES: ReadonlySet<string> = new Set(["crash-loop", "worker-failed"]);

export interface WorkerCounts {
  running: number;
  idle: number;
  initializing: number;
  throttled: number;
  unhealthy: number;
}

const NONE: WorkerCounts = { running: 0, idle: 0, initializing: 0, throttled: 0, unhealthy: 0 };

/** The workers themselves are the newer truth, where they were read. */
export function countsOf(health: EndpointHealth | undefined, workers: readonly Worker[] | undefined): WorkerCounts {
  if (workers === undefined) return health ? { ...NONE, ...health.workers } : NONE;
  const counts = { ...NONE };
  for (const { status } of workers) counts[status.toLowerCase() as keyof WorkerCounts]++;
  return counts;
}

export interface Prices {
  gpus: readonly Pick<GpuType, "id" | "price">[];
  cpus: readonly Pick<CpuType, "id" | "price">[];
}

/** USD an hour of what runs now. Frozen workers, failed ones and those started by hand cost nothing. */
export function costNow(
  workers: readonly Worker[],
  { cpu }: Pick<Endpoint, "cpu">,
  { gpus, cpus }: Prices,
): number | undefined {
  let sum = 0;
  for (const worker of workers.filter(isPaid)) {
    const { gpuTypeId, gpuCount } = worker;
    const price = gpuTypeId ? workerPrice(gpus, gpuTypeId) * gpuCount : cpuPrice(cpus, cpu?.[0]);
    if (Number.isNaN(price)) return undefined;
    sum += price;
  }
  return sum;
}

/** Unhealthy workers with one of these reasons still run. All others of them have ended. */
const STILL_RUNS: ReadonlySet<string> = new Set(["unhealthy", "getting-ready", "worker-silent", "at-lost-job"]);

function isPaid({ status, uptimeSeconds, version, frozen, reasonCode }: Worker): boolean {
  if (frozen || version === null || uptimeSeconds === null || uptimeSeconds === undefined) return false;
  return status !== "UNHEALTHY" || STILL_RUNS.has(reasonCode ?? "");
}

const workerPrice = (gpus: Prices["gpus"], type: string): number => {
  const price = gpus.find(({ id }) => id === type)?.price;
  return price ? (price.serverless ?? price.secure) : Number.NaN;
};

const cpuPrice = (cpus: Prices["cpus"], flavor: { id: string; vcpuCount: number } | undefined): number => {
  const price = cpus.find(({ id }) => id === flavor?.id)?.price.serverlessPerVcpu;
  return price === undefined || flavor === undefined ? Number.NaN : price * flavor.vcpuCount;
};

/** `2x RTX 4090, L4`, or `cpu3c, 4 vCPU`. */
export function computeText(
  { gpu, cpu }: Pick<Endpoint, "gpu" | "cpu">,
  chosen: readonly Pick<GpuType, "name">[],
): string {
  if (cpu?.[0]) return `${cpu[0].id}, ${cpu[0].vcpuCount} vCPU${cpu.length > 1 ? ` and ${cpu.length - 1} more` : ""}`;
  if (!gpu) return "";
  const names = chosen.length > 0 ? chosen.map(({ name }) => name) : gpu.pools;
  const shown = names.slice(0, 2).join(", ");
  return `${gpu.count > 1 ? `${gpu.count}x ` : ""}${shown}${names.length > 2 ? ` and ${names.length - 2} more` : ""}`;
}
