/** Reads and writes of jobs for the pages of an endpoint: pages of the list, one job, and many at once. */
import type { JobDetails, JobList, JobRecord } from "@millrace/platform/jobs/model.ts";
import type { Static } from "@millrace/platform/kernel/schema.ts";
import { type JobState, jobLifecycle } from "@millrace/platform/ports/queue/job.ts";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { call } from "../../api/client.ts";
import { FIRST_JOBS } from "../../api/first-reads.ts";
import { cache, keyOf, useRead } from "../../api/queries.ts";
import type { Refusal } from "../../api/refusal.ts";

export type Job = Static<typeof JobRecord>;
export type Details = Static<typeof JobDetails>;
export type ListedJob = Static<typeof JobList>["requests"][number];
type Listed = Static<typeof JobList>;

export const states = jobLifecycle.states;
export const isFinal = (status: string) => jobLifecycle.isFinal(status as JobState);

const LATER_PAGE = 1000;
/** The list is read again when jobs change, as long as that costs the server little. */
const LIVE_PAGES = 2;

interface Place {
  offset: number;
  limit: number;
}

interface JobFilter {
  statuses: readonly string[];
  /** Empty: of all workers. */
  worker: string;
}

/** As the server takes it. */
export const queryOf = ({ statuses, worker }: JobFilter) => ({
  ...(statuses.length > 0 && { status: statuses.join(",") }),
  ...(worker !== "" && { worker }),
});

export function useJobList(endpointId: string, filter: JobFilter, isWanted: boolean) {
  const query = queryOf(filter);
  const ask = { params: { endpoint_id: endpointId }, query };
  const known = cache.getQueryData<{ pages: unknown[] }>(keyOf("listJobs", { ...ask, paged: true }));
  const isLive = (known?.pages.length ?? 0) <= LIVE_PAGES;
  const read = useInfiniteQuery<Listed, Refusal, { pages: Listed[] }, readonly unknown[], Place>({
    queryKey: keyOf("listJobs", { ...ask, paged: true }),
    queryFn: ({ pageParam, signal }) =>
      call("listJobs", { ...ask, query: { ...query, ...pageParam } }, signal) as unknown as Promise<Listed>,
    initialPageParam: { offset: 0, limit: FIRST_JOBS },
    getNextPageParam: ({ hasMore, offset, requests }) =>
      hasMore ? { offset: offset + requests.length, limit: LATER_PAGE } : undefined,
    // A read that is off is not read again by events.
    enabled: isWanted && isLive,
  });
  const { data } = read;
  // The same array until something was read: a table of 10,000 rows is not worked out again for each step of scrolling.
  const rows = useMemo(() => data && unique(data.pages.flatMap(({ requests }) => requests)), [data]);
  return {
    rows,
    total: read.data?.pages[0]?.total,
    error: read.error,
    isLive,
    refresh: () => cache.resetQueries({ queryKey: keyOf("listJobs", { ...ask, paged: true }) }),
    more: { has: read.hasNextPage, isLoading: read.isFetchingNextPage, load: () => void read.fetchNextPage() },
  };
}

/** Jobs that came meanwhile move the others to later pages, so that some are read twice. */
function unique(jobs: readonly ListedJob[]): ListedJob[] {
  return [...new Map(jobs.map((job) => [job.id, job])).values()];
}

/** How many jobs are in one of these states, of those whose results are still kept. */
export function useJobCount(endpointId: string, statuses: readonly JobState[]) {
  const read = useRead("listJobs", {
    params: { endpoint_id: endpointId },
    query: { status: statuses.join(","), limit: 1 },
  });
  return (read.data as Listed | undefined)?.total;
}

export interface Health {
  jobs: Record<"completed" | "failed" | "inProgress" | "inQueue" | "retried", number>;
  waitReason?: string;
  waitReasonCode?: string;
}

export function useHealth(endpointId: string) {
  const read = useRead("getEndpointHealth", { params: { endpoint_id: endpointId } });
  return read.data as Health | undefined;
}

/** How often a job is read that runs or waits, since events say only that some job of the endpoint changed. */
const LOOK_MS = 2000;

export function useJob(endpointId: string, jobId: string | undefined) {
  const read = useRead(
    "getJob",
    { params: { endpoint_id: endpointId, job_id: jobId ?? "" } },
    {
      enabled: jobId !== undefined,
      refetchInterval: ({ state }) => {
        const job = state.data as Job | undefined;
        return job && !isFinal(job.status) ? LOOK_MS : false;
      },
    },
  );
  return read as unknown as { data: Job | undefined; error: Refusal | null; refetch: () => unknown };
}

export function useDetails(endpointId: string, jobId: string | undefined) {
  const read = useRead(
    "getJobDetails",
    { params: { endpoint_id: endpointId, job_id: jobId ?? "" } },
    { enabled: jobId !== undefined },
  );
  return read as unknown as { data: Details | undefined; error: Refusal | null; refetch: () => unknown };
}

/** The ids of all jobs in these states, up to a bound. */
export async function idsOf(endpointId: string, statuses: readonly JobState[], most = 10_000): Promise<string[]> {
  const ids: string[] = [];
  for (let hasMore = true; hasMore && ids.length < most; ) {
    const page = (await call("listJobs", {
      params: { endpoint_id: endpointId },
      query: { status: statuses.join(","), limit: LATER_PAGE, offset: ids.length },
    })) as unknown as Listed;
    ids.push(...page.requests.map(({ id }) => id));
    hasMore = page.hasMore && page.requests.length > 0;
  }
  return ids;
}
