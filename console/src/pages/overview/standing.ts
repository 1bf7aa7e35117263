/** Whether everything is fine, from what was read: what waits, what failed, and what costs. */
import type { Health, JobList } from "@millrace/platform/jobs/model.ts";
import type { Static } from "@millrace/platform/kernel/schema.ts";
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import type { Pod } from "@millrace/platform/resources/pods/model.ts";
import type { Worker, WorkerSummary } from "@millrace/platform/resources/workers/model.ts";
import { countText } from "../../design/facts.tsx";

export type EndpointHealth = Static<typeof Health>;
export type ListedJob = Static<typeof JobList>["requests"][number];

export interface EndpointWorkers {
  summary: Pick<WorkerSummary, "running" | "idle" | "unhealthy" | "throttled">;
  workers: readonly Pick<Worker, "status" | "reason" | "reasonCode">[];
}

/** Something that a person should look at. */
export interface Concern {
  key: string;
  tone: "wait" | "bad";
  /** What it is, such as `Pod`. */
  kind: string;
  name: string;
  to: string;
  /** In a few words: `3 jobs wait`. */
  what: string;
  reason: string | undefined;
  code: string | undefined;
}

type SomePod = Pick<Pod, "id" | "name" | "status" | "statusReason" | "statusReasonCode">;
type SomeEndpoint = Pick<Endpoint, "id" | "name">;

const POD_WORDS: Partial<Record<Pod["status"], Pick<Concern, "tone" | "what">>> = {
  ERROR: { tone: "bad", what: "cannot run" },
  PROVISIONING: { tone: "wait", what: "waits" },
  STARTING: { tone: "wait", what: "is starting" },
};

/** Reasons that do not pass by waiting. */
const BROKEN = new Set(["crash-loop", "spend-limit", "operator-spend-limit", "key-spend-limit", "no-credit"]);

export function podConcerns(pods: readonly SomePod[]): Concern[] {
  return pods.flatMap(({ id, name, status, statusReason, statusReasonCode }) => {
    const words = POD_WORDS[status];
    if (!words) return [];
    // Also while it is started once more.
    const isBroken = BROKEN.has(statusReasonCode ?? "");
    return [
      {
        ...{ key: id, kind: "Pod", name, to: `/pods/${id}`, ...(isBroken ? POD_WORDS.ERROR! : words) },
        ...{ reason: statusReason ?? undefined, code: statusReasonCode ?? undefined },
      },
    ];
  });
}

export const counted = (count: number, one: string, many: string) => `${countText(count)} ${count === 1 ? one : many}`;

export function endpointConcerns(endpoint: SomeEndpoint, health: EndpointHealth | undefined): Concern[] {
  if (!health) return [];
  const { jobs, workers, waitReason, waitReasonCode } = health;
  const common = { kind: "Endpoint", name: endpoint.name, reason: waitReason, code: waitReasonCode };
  // While a program that crashes is started once more, its worker is not counted as unhealthy.
  const unhealthy = workers.unhealthy === 0 && waitReasonCode === "crash-loop" ? 1 : workers.unhealthy;
  if (unhealthy > 0) {
    const waiting = jobs.inQueue > 0 ? `, ${counted(jobs.inQueue, "job waits", "jobs wait")}` : "";
    return [
      {
        ...{ ...common, key: `${endpoint.id} unhealthy`, tone: "bad" as const, to: `/serverless/${endpoint.id}` },
        what: `${counted(unhealthy, "worker does", "workers do")} not come up${waiting}`,
      },
    ];
  }
  if (jobs.inQueue === 0) return [];
  const tone = BROKEN.has(waitReasonCode ?? "") ? ("bad" as const) : ("wait" as const);
  return [
    {
      ...{ ...common, key: `${endpoint.id} waiting`, tone, to: `/serverless/${endpoint.id}/jobs` },
      what: counted(jobs.inQueue, "job waits", "jobs wait"),
    },
  ];
}

/** What workers of an endpoint without a queue say, since no job waits there. */
export function balancedConcerns({ id, name }: SomeEndpoint, workers: EndpointWorkers | undefined): Concern[] {
  if (!workers) return [];
  const { summary, workers: all } = workers;
  const concern = (status: Worker["status"], tone: Concern["tone"], what: string): Concern[] => {
    const { reason, reasonCode } = all.find((worker) => worker.status === status) ?? {};
    const why = { reason: reason ?? undefined, code: reasonCode ?? undefined };
    return [{ ...{ key: `${id} ${status}`, kind: "Endpoint", name, to: `/serverless/${id}`, tone, what }, ...why }];
  };
  if (summary.unhealthy > 0)
    return concern("UNHEALTHY", "bad", `${counted(summary.unhealthy, "worker does", "workers do")} not come up`);
  if (summary.throttled > 0)
    return concern("THROTTLED", "wait", `${counted(summary.throttled, "worker waits", "workers wait")} for room`);
  return [];
}

/** Jobs that wait on endpoints whose health is not read: all that wait, without those that are known. */
export function otherConcern(others: number, inQueue: number, known: number): Concern[] {
  if (others === 0 || inQueue <= known) return [];
  return [
    {
      ...{ key: "others", tone: "wait", kind: `${countText(others)} older`, name: "endpoints", to: "/serverless" },
      ...{ what: counted(inQueue - known, "job waits", "jobs wait"), reason: undefined, code: undefined },
    },
  ];
}

/** Jobs that failed since then, the newest first. */
export const failedSince = (jobs: readonly ListedJob[], since: number): ListedJob[] =>
  jobs
    .filter(({ completedAt }) => completedAt !== undefined && Date.parse(completedAt) >= since)
    .toSorted((one, other) => Date.parse(other.completedAt!) - Date.parse(one.completedAt!));

/** The answer to "Is everything fine?" in one sentence. */
export function verdictOf(concerns: readonly Concern[], failedJobs: number, refusal: string | null): string {
  if (refusal) return "Nothing new is started.";
  const [only] = concerns;
  if (only && concerns.length === 1 && failedJobs === 0) return `${only.kind} ${only.name}: ${only.what}.`;
  const bad = concerns.filter(({ tone }) => tone === "bad").length;
  const waiting = concerns.length - bad;
  const parts = [
    bad > 0 && counted(bad, "thing does not work", "things do not work"),
    failedJobs > 0 && counted(failedJobs, "job failed in the last hour", "jobs failed in the last hour"),
    waiting > 0 && counted(waiting, "thing waits", "things wait"),
  ].filter((part) => part !== false);
  return parts.length === 0 ? "Everything is fine." : `${parts.join(", ")}.`;
}

type Column = readonly (number | null)[] | undefined;

/** What is known last of a series. */
export const latestOf = (values: Column): number | undefined =>
  values?.findLast((value) => value !== null) ?? undefined;
export const sumOf = (values: Column): number => values?.reduce<number>((sum, value) => sum + (value ?? 0), 0) ?? 0;
