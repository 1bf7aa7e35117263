/** What is started for a worker: its endpoint's container with the variables, secrets and limits of this one boot. */
import type { InstanceSpec } from "../ports/compute/compute.ts";
import type { Item } from "../ports/store/collection.ts";
import { type Listening, listeningOf } from "../resources/endpoints/listening.ts";
import type { KeptEndpoint } from "../resources/endpoints/model.ts";
import { workerEnv } from "../resources/endpoints/worker-env.ts";
import { type Reveal, resolveEnv } from "../resources/secrets/placeholders.ts";
import type { KeptWorker } from "../resources/workers/model.ts";
import type { WorkerItem } from "./plan.ts";

export interface Boot {
  endpoint: Item<KeptEndpoint>;
  worker: WorkerItem;
  /** Where the worker reaches the server. */
  url: string;
  key: string;
}

/** The secrets are those of this moment; the text of a failure names what is missing. */
export async function instanceSpec({ endpoint, worker, url, key }: Boot, reveal: Reveal): Promise<InstanceSpec> {
  const { doc } = endpoint;
  const { vcpu, memoryMb, gpus } = worker.doc;
  const given = await resolveEnv(endpoint.account, doc.env, reveal);
  const listening = doc.type === "LOAD_BALANCER" ? listeningOf(given) : undefined;
  const ours = { ...workerEnv({ url, endpoint: endpoint.id, worker: worker.id, key }), ...placeEnv(worker.doc) };
  return {
    kind: "worker",
    account: endpoint.account,
    owner: endpoint.id,
    image: doc.image,
    entrypoint: doc.entrypoint,
    cmd: doc.cmd,
    env: withoutOverrides(ours, { ...(listening && portEnv(listening)), ...given }),
    limits: { vcpu, memoryMb, diskGb: doc.disk },
    gpus,
    ports: portsOf(doc, listening),
  };
}

function portsOf({ ports }: KeptEndpoint, listening: Listening | undefined): number[] {
  const named = ports.map((port) => Number.parseInt(port, 10));
  return [...new Set([...named, ...(listening ? [listening.port, listening.healthPort] : [])])];
}

/** An application need not know the ports that are meant when nothing is said. */
const portEnv = ({ port, healthPort }: Listening) => ({ PORT: String(port), PORT_HEALTH: String(healthPort) });

/** Of our variables a user may tune some; those by which the worker finds its way and proves who it is are ours alone. */
function withoutOverrides(ours: Record<string, string>, given: Record<string, string>): Record<string, string> {
  const own = Object.entries(ours).filter(([name]) => !TUNABLE.has(name));
  return { ...ours, ...given, ...Object.fromEntries(own) };
}

const TUNABLE = new Set(["RUNPOD_PING_INTERVAL", "RUNPOD_DEBUG_LEVEL", "RUNPOD_SKIP_AUTO_SYSTEM_CHECKS"]);

/** What the worker was given of its machine, under our own names and the established ones. */
function placeEnv({ vcpu, memoryMb, gpuType, gpuCount }: KeptWorker): Record<string, string> {
  const place = {
    CPU_COUNT: String(vcpu),
    MEM_GB: String(Math.round(memoryMb / 1024)),
    GPU_COUNT: String(gpuCount),
    ...(gpuType === null ? {} : { GPU_NAME: gpuType.replaceAll(" ", "+") }),
  };
  const named = (prefix: string) => Object.entries(place).map(([name, value]) => [`${prefix}_${name}`, value]);
  return Object.fromEntries([...named("MILLRACE"), ...named("RUNPOD")]);
}

const DEFAULT_INIT_TIMEOUT_S = 420;

/** How long a worker of this endpoint may take from its start to its first ask for work. */
export function initTimeoutMs({ env }: Pick<KeptEndpoint, "env">): number {
  const given = Number(env.MILLRACE_INIT_TIMEOUT ?? env.RUNPOD_INIT_TIMEOUT);
  return (given > 0 ? given : DEFAULT_INIT_TIMEOUT_S) * 1000;
}
