/** What the pages of endpoints read, and how often. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import type { Worker } from "@millrace/platform/resources/workers/model.ts";
import { readHealth } from "../../api/healths.ts";
import { useRead } from "../../api/queries.ts";
import { chosenTypes } from "../../parts/compute.ts";
import { computeText, costNow, countsOf, type EndpointHealth, stateOf } from "./state.ts";

/** Reasons tell seconds that pass, so they are asked for again while something waits or fails. */
const WAITING_MS = 5000;
const PRICES_MS = 300_000;

/** Counts of jobs and why they wait. Only a queue has them: on a load balancing endpoint the same address is the worker's. */
function useHealth({ id, type }: Pick<Endpoint, "id" | "type">) {
  const read = useRead(
    "getEndpointHealth",
    { params: { endpoint_id: id } },
    {
      enabled: type === "QUEUE",
      read: (context) => readHealth(id, context),
      refetchInterval: ({ state }) => {
        const health = state.data as EndpointHealth | undefined;
        return health?.waitReason ? WAITING_MS : false;
      },
    },
  );
  return { health: read.data as EndpointHealth | undefined, isLoading: read.isLoading };
}

export function useWorkers(id: string, { isWanted = true } = {}) {
  return useRead(
    "listEndpointWorkers",
    { params: { id } },
    {
      enabled: isWanted,
      refetchInterval: ({ state }) =>
        state.data?.workers.some(({ status }) => status !== "RUNNING" && status !== "IDLE") ? WAITING_MS : false,
    },
  );
}

export function usePrices() {
  const gpus = useRead("listGpuTypes", {}, { staleTime: PRICES_MS }).data?.gpus ?? [];
  const cpus = useRead("listCpuTypes", {}, { staleTime: PRICES_MS }).data?.cpus ?? [];
  return { gpus, cpus };
}

/** Everything about one endpoint in a line. A sleeping queue costs one read; workers are read only where there are some. */
export function useEndpointState(endpoint: Endpoint) {
  return useStateWith(endpoint, usePrices());
}

/** For rows of a list, which has read the prices once for all of them. */
export function useStateWith(endpoint: Endpoint, prices: ReturnType<typeof usePrices>) {
  const { health, isLoading } = useHealth(endpoint);
  const hasWorkers = health === undefined || Object.values(health.workers).some((count) => count > 0);
  const isWanted = endpoint.type !== "QUEUE" || (health !== undefined && hasWorkers);
  const read = useWorkers(endpoint.id, { isWanted });
  const workers: readonly Worker[] | undefined = read.data?.workers;
  const known = isWanted ? workers : undefined;
  return {
    health,
    workers: known,
    counts: countsOf(health, known),
    cost: known === undefined ? (health && !hasWorkers ? 0 : undefined) : costNow(known, endpoint, prices),
    compute: computeText(endpoint, chosenTypes(endpoint.gpu, prices.gpus)),
    isKnown: health !== undefined || known !== undefined,
    /** All was read that says how it is, or could not be read. */
    isSettled: !isLoading && !read.isLoading,
    ...stateOf(endpoint, health, known),
  };
}
