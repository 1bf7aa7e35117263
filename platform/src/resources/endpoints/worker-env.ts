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
  /** Where the worker reaches the server, such as `http://127.0.0.1:7420`. */
  url: string;
  endpoint: string;
  worker: string;
  /** Opens the worker's routes. */
  key: string;
  /** Calls endpoints of the account. */
  callKey: string;
  /** What it was given of its machine; nothing is known of that for a worker started by hand. */
  compute?: ComputeGiven;
  site?: Site;
  /** Empty for none. */
  volume?: string;
  /** Its machine is known to reach the internet. */
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

/** Variables of ours that the endpoint's own may change. */
const TUNABLE = new Set([
  "RUNPOD_PING_INTERVAL",
  "RUNPOD_DEBUG_LEVEL",
  "RUNPOD_SKIP_AUTO_SYSTEM_CHECKS",
  // A key that may do more, or less: what a worker does as its account is for the endpoint's owner to say.
  "MILLRACE_API_KEY",
  "RUNPOD_API_KEY",
]);

/** The endpoint's variables beside ours: those by which a worker finds its way and proves who it is are ours alone. */
export function withUserEnv(ours: Variables, given: Readonly<Variables>): Variables {
  const theirs = Object.entries(given).filter(([name]) => !name.startsWith("RUNPOD_WEBHOOK_"));
  const fixed = Object.entries(ours).filter(([name]) => !TUNABLE.has(name));
  return { ...ours, ...Object.fromEntries(theirs), ...Object.fromEntries(fixed) };
}

/** Every URL already has a query: the public worker package appends `&name=value` to whatever it is given. */
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
 * The public worker package ends a worker at once that has less than 4 GB free or cannot reach a public name server, however well it
 * could work: it may check only where both are known to be fine.
 */
function passesSystemChecks({ compute, isOnline = false }: WorkerPlace): boolean {
  return isOnline && compute !== undefined && compute.memoryMb >= CHECKED_MEMORY_MB;
}
