/** The variables that tell a worker where its endpoint is and what it runs on, under our own names and the established ones. */
import type { Site } from "../../machines/own-machine.ts";
import {
  type ComputeGiven,
  computeVariables,
  hostName,
  underBothNames,
  type Variables,
} from "../container/variables.ts";

export interface WorkerPlace {
  /** The URL at which the worker reaches the server, such as `http://127.0.0.1:7420`. */
  url: string;
  endpoint: string;
  worker: string;
  /** The key that opens the worker's routes. */
  key: string;
  /** The key that calls endpoints of the account. */
  callKey: string;
  /** The worker's share of its machine. Unknown for a worker that was started by hand. */
  compute?: ComputeGiven;
  site?: Site;
  /** Empty if there is no volume. */
  volume?: string;
  /** True if the machine is known to reach the internet. */
  isOnline?: boolean;
}

export function workerEnv(given: WorkerPlace): Variables {
  const url = given.url.replace(/\/+$/, "");
  const place = { ...given, url };
  const { endpoint, worker, key, callKey, site, volume } = place;
  return {
    MILLRACE_URL: url,
    MILLRACE_ENDPOINT_ID: endpoint,
    MILLRACE_WORKER_ID: worker,
    MILLRACE_WORKER_KEY: key,
    ...linkUrls(place),
    RUNPOD_PING_INTERVAL: "10000",
    RUNPOD_AI_API_KEY: key,
    RUNPOD_POD_ID: worker,
    RUNPOD_POD_HOSTNAME: hostName(worker),
    RUNPOD_ENDPOINT_ID: endpoint,
    RUNPOD_DEBUG_LEVEL: "INFO",
    RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: String(!passesSystemChecks(place)),
    ...underBothNames({
      API_KEY: callKey,
      ENDPOINT_BASE_URL: `${url}/v2`,
      ...(place.compute && computeVariables(place.compute)),
      DC_ID: site?.dataCenter,
      VOLUME_ID: volume,
      PUBLIC_IP: site?.publicIp,
    }),
  };
}

/** Variables of ours that the endpoint's own variables may override. */
const TUNABLE = new Set([
  "RUNPOD_PING_INTERVAL",
  "RUNPOD_DEBUG_LEVEL",
  "RUNPOD_SKIP_AUTO_SYSTEM_CHECKS",
  // The owner of the endpoint may give its workers a key with more or fewer rights.
  "MILLRACE_API_KEY",
  "RUNPOD_API_KEY",
]);

/** Merges the endpoint's variables with ours. It cannot override those that a worker needs to find its endpoint and to identify itself. */
export function withUserEnv(ours: Variables, given: Readonly<Variables>): Variables {
  const theirs = Object.entries(given).filter(([name]) => !name.startsWith("RUNPOD_WEBHOOK_"));
  const fixed = Object.entries(ours).filter(([name]) => !TUNABLE.has(name));
  return { ...ours, ...Object.fromEntries(theirs), ...Object.fromEntries(fixed) };
}

/** Every URL already has a query, because the public worker package appends `&name=value` to it. */
function linkUrls({ url, endpoint, worker, compute }: WorkerPlace): Variables {
  const query = new URLSearchParams({ gpu: compute?.gpuType ?? "none" });
  const at = (path: string) => `${url}/v2/${endpoint}/${path}?${query}`;
  return {
    RUNPOD_WEBHOOK_GET_JOB: at(`job-take/${worker}`),
    RUNPOD_WEBHOOK_POST_OUTPUT: at(`job-done/${worker}/$ID`),
    RUNPOD_WEBHOOK_POST_STREAM: at(`job-stream/${worker}/$ID`),
    RUNPOD_WEBHOOK_JOB_STREAM: at(`job-stream/${worker}/$ID`),
    RUNPOD_WEBHOOK_PING: at(`ping/${worker}`),
  };
}

const CHECKED_MEMORY_MB = 5 * 1024;

/**
 * The public worker package ends a worker at once if it has less than 4 GB free or cannot reach a public name server, even if it could
 * work. So it may only check where both are known to be fine.
 */
function passesSystemChecks({ compute, isOnline = false }: WorkerPlace): boolean {
  return isOnline && compute !== undefined && compute.memoryMb >= CHECKED_MEMORY_MB;
}
