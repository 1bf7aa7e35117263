/** What the overview reads: endpoints with their health, Pods, and jobs that failed in the last hour. */
import { type QueryClient, useQueries } from "@tanstack/react-query";
import { type AnyAsk, type Ask, call, type OperationName } from "../../api/client.ts";
import { FIRST_HEALTHS } from "../../api/first-reads.ts";
import { readHealth } from "../../api/healths.ts";
import { keyOf, useRead } from "../../api/queries.ts";
import { inTurn } from "../../api/turns.ts";
import { type EndpointHealth, type EndpointWorkers, failedSince, type ListedJob } from "./standing.ts";

/** As many as are read together. Whoever has more of them finds the rest in their list. */
const MOST_ENDPOINTS = FIRST_HEALTHS;
const FAILED = { status: "FAILED,TIMED_OUT", limit: 5 };
const HOUR_MS = 3_600_000;
/** Events say when something changed; time passes without one. */
const AGAIN_MS = 60_000;

/** A page says most about those that have a queue. */
const MOST_BALANCED = 10;

const asked = (endpoint: string, query?: object) =>
  ({ params: { endpoint_id: endpoint }, ...(query && { query }) }) as unknown as Ask<OperationName>;

type ReadEach = (id: string, context: { client: QueryClient; signal: AbortSignal }) => Promise<unknown>;

function useEach<Answer>(
  name: OperationName,
  ids: readonly string[],
  read: ReadEach,
  askOf: (id: string) => AnyAsk = asked,
) {
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: keyOf(name, askOf(id)),
      queryFn: (context: Parameters<ReadEach>[1]) => read(id, context),
      refetchInterval: AGAIN_MS,
    })),
    combine: (answers) => ({
      data: answers.map(({ data }) => data as Answer | undefined),
      isSettled: answers.every(({ isPending }) => !isPending),
    }),
  });
}

export function useOverview() {
  const pods = useRead("listPods", {});
  const endpoints = useRead("listEndpoints", {});
  const queues = endpoints.data?.endpoints.filter(({ type }) => type !== "LOAD_BALANCER") ?? [];
  const shown = queues.slice(0, MOST_ENDPOINTS);
  const others = queues.length - shown.length;
  const { data: health, isSettled: isHealthKnown } = useEach<EndpointHealth>(
    "getEndpointHealth",
    shown.map(({ id }) => id),
    readHealth,
  );
  const failing = shown.filter((_, index) => (health[index]?.jobs.failed ?? 0) > 0);
  const { data: jobs, isSettled: areJobsKnown } = useEach<{ requests: ListedJob[] }>(
    "listJobs",
    failing.map(({ id }) => id),
    (id, { signal }) => inTurn(() => call("listJobs", asked(id, FAILED) as Ask<"listJobs">, signal)),
    (id) => asked(id, FAILED),
  );
  const balanced = (endpoints.data?.endpoints ?? [])
    .filter(({ type }) => type === "LOAD_BALANCER")
    .slice(0, MOST_BALANCED);
  const { data: workers, isSettled: areWorkersKnown } = useEach<EndpointWorkers>(
    "listEndpointWorkers",
    balanced.map(({ id }) => id),
    (id, { signal }) => inTurn(() => call("listEndpointWorkers", { params: { id } }, signal)),
    (id) => ({ params: { id } }),
  );
  const since = Date.now() - HOUR_MS;
  const failed = failing.flatMap((endpoint, index) =>
    failedSince(jobs[index]?.requests ?? [], since).map((job) => ({ endpoint, job })),
  );
  /** All was read that says what needs attention, or could not be read. */
  const isSettled = endpoints.data !== undefined && isHealthKnown && areJobsKnown && areWorkersKnown;
  return { pods, endpoints, shown, others, health, balanced, workers, failed, isSettled };
}
