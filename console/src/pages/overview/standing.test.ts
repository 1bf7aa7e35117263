/** The overview says what is wrong in the words of whoever looks, and that all is fine only when it is. */
import { expect, test } from "vitest";
import {
  balancedConcerns,
  endpointConcerns,
  failedSince,
  latestOf,
  otherConcern,
  podConcerns,
  sumOf,
  verdictOf,
} from "./standing.ts";

const health = (inQueue: number, unhealthy = 0, waitReason?: string) =>
  ({
    jobs: { completed: 0, failed: 0, inProgress: 0, inQueue, retried: 0 },
    workers: { idle: 0, initializing: 0, ready: 0, running: 0, throttled: 0, unhealthy },
    ...(waitReason && { waitReason, waitReasonCode: "workers-busy" }),
  }) as never;
const endpoint = { id: "e1", name: "llm" };
const pod = (status: string, statusReason: string | null = null) =>
  ({ id: "p1", name: "notebook", status, statusReason, statusReasonCode: statusReason && "no-capacity" }) as never;

test("a Pod that runs or was stopped is no concern", () => {
  expect(podConcerns([pod("RUNNING"), pod("EXITED")])).toEqual([]);
});

test("a Pod that waits says for what", () => {
  expect(podConcerns([pod("PROVISIONING", "no machine has room")])).toMatchObject([
    { tone: "wait", what: "waits", reason: "no machine has room", code: "no-capacity", to: "/pods/p1" },
  ]);
});

test("a Pod that crashes again and again does not work, also while it is started once more", () => {
  const looping = { ...(pod("STARTING", "crash loop: exit 1") as object), statusReasonCode: "crash-loop" } as never;
  expect(podConcerns([looping])).toMatchObject([{ tone: "bad", what: "cannot run" }]);
});

test("an endpoint whose jobs wait leads to them, with the reason", () => {
  expect(endpointConcerns(endpoint, health(3, 0, "all workers busy"))).toMatchObject([
    { tone: "wait", what: "3 jobs wait", reason: "all workers busy", to: "/serverless/e1/jobs" },
  ]);
});

test("a crash loop is no mere wait", () => {
  const looping = { ...(health(1, 0, "exit 1") as object), waitReasonCode: "crash-loop" } as never;
  const what = "1 worker does not come up, 1 job waits";
  expect(endpointConcerns(endpoint, looping)).toMatchObject([{ tone: "bad", what }]);
});

test("workers that do not come up weigh more than jobs that wait", () => {
  expect(endpointConcerns(endpoint, health(1, 2))).toMatchObject([
    { tone: "bad", what: "2 workers do not come up, 1 job waits", to: "/serverless/e1" },
  ]);
});

test("an endpoint without work, or not read yet, is no concern", () => {
  expect(endpointConcerns(endpoint, health(0))).toEqual([]);
  expect(endpointConcerns(endpoint, undefined)).toEqual([]);
});

test("only jobs that ended since then count as failed", () => {
  const job = (id: string, completedAt?: string) => ({ id, ...(completedAt && { completedAt }) }) as never;
  const jobs = [
    job("old", "2026-03-01T10:00:00Z"),
    job("a", "2026-03-01T11:30:00Z"),
    job("b", "2026-03-01T11:40:00Z"),
    job("c"),
  ];
  expect(failedSince(jobs, Date.parse("2026-03-01T11:00:00Z")).map(({ id }) => id)).toEqual(["b", "a"]);
});

test("the verdict counts what does not work before what waits", () => {
  const [waiting] = podConcerns([pod("PROVISIONING")]);
  const [broken] = podConcerns([pod("ERROR")]);
  expect(verdictOf([], 0, null)).toBe("Everything is fine.");
  expect(verdictOf([waiting!], 0, null)).toBe("Pod notebook: waits.");
  expect(verdictOf([waiting!, broken!, broken!], 1, null)).toBe(
    "2 things do not work, 1 job failed in the last hour, 1 thing waits.",
  );
  expect(verdictOf([], 0, "the limit is reached")).toBe("Nothing new is started.");
});

test("what is not known is left out of figures", () => {
  expect(latestOf([1, 2, null])).toBe(2);
  expect(latestOf([null])).toBeUndefined();
  expect(sumOf([1, null, 2])).toBe(3);
});

test("jobs that wait on endpoints whose health is not read are said, and only those", () => {
  const waiting = otherConcern(175, 10_002, 2);
  expect(waiting).toMatchObject([{ tone: "wait", to: "/serverless" }]);
  expect(verdictOf(waiting, 0, null)).toBe("175 older endpoints: 10,000 jobs wait.");
  expect(otherConcern(175, 2, 2)).toEqual([]);
  // All healths are known then, and the history, which is some seconds old, knows no better.
  expect(otherConcern(0, 3, 2)).toEqual([]);
});

test("an endpoint without a queue is a concern by its workers, with the reason", () => {
  const workers = (status: string, count: Partial<Record<"unhealthy" | "throttled", number>>) =>
    ({
      summary: { running: 1, idle: 0, unhealthy: 0, throttled: 0, ...count },
      workers: [{ status: "RUNNING" }, { status, reason: "exit 1", reasonCode: "program-ended" }],
    }) as never;
  expect(balancedConcerns(endpoint, workers("UNHEALTHY", { unhealthy: 1 }))).toMatchObject([
    { tone: "bad", what: "1 worker does not come up", reason: "exit 1", code: "program-ended", to: "/serverless/e1" },
  ]);
  expect(balancedConcerns(endpoint, workers("THROTTLED", { throttled: 2 }))).toMatchObject([
    { tone: "wait", what: "2 workers wait for room", reason: "exit 1" },
  ]);
  expect(balancedConcerns(endpoint, workers("IDLE", {}))).toEqual([]);
  expect(balancedConcerns(endpoint, undefined)).toEqual([]);
});
