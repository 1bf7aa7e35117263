/** Builds the instance of a worker: its endpoint's container with the variables, secrets and limits of this boot. */
import type { Site } from "../../../machines/own-machine.ts";
import type { InstanceSpec } from "../../../ports/compute/compute.ts";
import type { Item } from "../../../ports/store/collection.ts";
import { initTimeoutMs } from "../../endpoints/init-timeout.ts";
import { type Listening, listeningOf } from "../../endpoints/listening.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import { WORKER_VOLUME_PATH } from "../../endpoints/volumes.ts";
import { withUserEnv, workerEnv } from "../../endpoints/worker-env.ts";
import { type Reveal, resolveEnv } from "../../secrets/placeholders.ts";
import type { WorkerItem } from "./plan.ts";

export interface Boot {
  endpoint: Item<KeptEndpoint>;
  worker: WorkerItem;
  /** The URL at which the worker reaches the server. */
  url: string;
  key: string;
  callKey: string;
  site: Site;
}

/** Uses the current values of secrets. The message of a failure names what is missing. */
export async function instanceSpec(boot: Boot, reveal: Reveal): Promise<InstanceSpec> {
  const { endpoint, worker, url, key, callKey, site } = boot;
  const { doc } = endpoint;
  const { vcpu, memoryMb, gpuType, gpuCount, box, dataCenter } = worker.doc;
  const given = await resolveEnv(endpoint.account, doc.env, reveal);
  // Throws if a secret put something in here that is not a time. The keeper reads the value again when it waits for the worker.
  initTimeoutMs(given);
  const listening = doc.type === "LOAD_BALANCER" ? listeningOf(given) : undefined;
  // A machine may stand in several data centers; this is the one that the worker was placed in.
  const where = { ...site, dataCenter: dataCenter ?? site.dataCenter };
  const [volume] = worker.doc.volumes ?? [];
  const mounts = [
    ...(volume === undefined ? [] : [{ volume, path: WORKER_VOLUME_PATH }]),
    ...(worker.doc.models ?? []).map((model) => ({ ...model, readOnly: true })),
  ];
  const place = { url, endpoint: endpoint.id, worker: worker.id, site: where, volume: volume ?? "" };
  const ours = workerEnv({ ...place, key, callKey, compute: worker.doc });
  return {
    kind: "worker",
    account: endpoint.account,
    owner: endpoint.id,
    image: doc.image,
    entrypoint: doc.entrypoint,
    cmd: doc.cmd,
    env: withUserEnv(ours, { ...(listening && portEnv(listening)), ...given }),
    limits: { vcpu, memoryMb, diskGb: doc.disk },
    ...(gpuType !== null && { gpu: { type: gpuType, count: gpuCount } }),
    ...(box !== null && { box }),
    ...(mounts.length > 0 && { mounts }),
    ports: portsOf(doc, listening),
  };
}

function portsOf({ ports }: KeptEndpoint, listening: Listening | undefined): number[] {
  const named = ports.map((port) => Number.parseInt(port, 10));
  return [...new Set([...named, ...(listening ? [listening.port, listening.healthPort] : [])])];
}

/** Sets the ports even if they are the defaults, so that the application does not have to know those. */
const portEnv = ({ port, healthPort }: Listening) => ({ PORT: String(port), PORT_HEALTH: String(healthPort) });
