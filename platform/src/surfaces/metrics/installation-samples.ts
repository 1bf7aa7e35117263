/** The metrics of the whole installation, which every node gives alike. */
import type { Amount, InstallationFigures } from "../../resources/installation/figures.ts";
import type { Sample, Samples } from "./text.ts";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const BILLIONTH = 1e-9;

export function installationSamples(figures: InstallationFigures): Samples {
  const { longest, perHour } = figures;
  return {
    millrace_jobs: jobsIn({}, figures),
    millrace_jobs_waiting: by("reason", figures.waiting),
    millrace_queue_oldest_job_seconds: [[{}, figures.oldestMs / 1000]],
    millrace_endpoints_busy: [[{}, figures.endpoints]],
    millrace_endpoint_jobs: longest.flatMap((queue) => jobsIn({ endpoint: queue.endpoint }, queue)),
    millrace_endpoint_oldest_job_seconds: longest.map(({ endpoint, oldestMs }) => [{ endpoint }, oldestMs / 1000]),
    millrace_workers: by("state", figures.workers),
    millrace_pods: by("status", figures.pods),
    millrace_nodes: by("state", figures.nodes),
    millrace_machines: by("state", figures.machines),
    millrace_machines_away: by("images", figures.away),
    millrace_gpus: [...figures.gpus].flatMap(([type, amount]) => parts(amount, { type })),
    millrace_vcpus: parts(figures.vcpu),
    millrace_memory_bytes: parts(figures.memoryMb, {}, MIB),
    millrace_disk_bytes: parts(figures.diskGb, {}, GIB),
    millrace_spend_usd_per_hour: [
      [{ for: "instances" }, perHour.instances * BILLIONTH],
      [{ for: "storage" }, perHour.storage * BILLIONTH],
    ],
  };
}

const jobsIn = (labels: Record<string, string>, { inQueue, inProgress }: { inQueue: number; inProgress: number }) => [
  [{ ...labels, state: "IN_QUEUE" }, inQueue] as const,
  [{ ...labels, state: "IN_PROGRESS" }, inProgress] as const,
];

const by = (label: string, counts: ReadonlyMap<string, number>): Sample[] =>
  [...counts].map(([name, count]) => [{ [label]: name }, count]);

const parts = ({ total, free }: Amount, labels: Record<string, string> = {}, unit = 1): Sample[] => [
  [{ ...labels, part: "total" }, total * unit],
  [{ ...labels, part: "free" }, free * unit],
];
