/** Checks that the engine changes a job's state only by moves of the lifecycle table, each from a state where that move starts. */
import { expect, test } from "vitest";
import { because } from "../kernel/reason.ts";
import { fits } from "../ports/queue/decision.ts";
import { type Job, jobLifecycle } from "../ports/queue/job.ts";
import type { JobChange } from "../ports/queue/queue.ts";
import {
  cancelling,
  claimingBack,
  completing,
  failing,
  givingUpHolder,
  handingBack,
  retrying,
  retryingError,
  timingOut,
} from "./moves.ts";

const policy = { ttlMs: 10, executionTimeoutMs: 5, retentionMs: 5, errorRetries: 1, lowPriority: false };
const times = { createdAt: 0, ttlAt: 10, queuedAt: 0 };
const counts = { attempt: 1, spent: 1, errorsRetried: 0, retried: 0 };
const waiting: Job = { id: "j", endpoint: "ep", state: jobLifecycle.begin("IN_QUEUE"), policy, ...times, ...counts };
const running: Job = { ...waiting, state: jobLifecycle.to("claim"), holder: "w" };
const failed: Job = { ...running, state: jobLifecycle.to("fail") };

const TOO_LATE = because("job-overran", { timeoutMs: 1 });

const changes: Record<string, JobChange | undefined> = {
  complete: completing(running, "{}", 1),
  fail: failing(running, "{}", 1, {}),
  "try an error again": retryingError(running, 1, "an error"),
  "give up a holder": givingUpHolder(running, 1, "lost"),
  "give up a job": givingUpHolder({ ...running, spent: 3 }, 1, "lost"),
  "hand back": handingBack(running),
  "time out while it waits": timingOut(waiting, 1, TOO_LATE),
  "time out while it runs": timingOut(running, 1, TOO_LATE),
  cancel: cancelling(running, 1),
  retry: retrying(failed, 1),
  "claim back": claimingBack(waiting, "w", 1),
};

test.each(Object.entries(changes))("%s: by a move of the table", (_, change) => {
  const { when, set } = change!;
  const moves = Object.values(jobLifecycle.moves).filter(({ to }) => to === set.state);
  expect(when.states.length).toBeGreaterThan(0);
  for (const state of when.states) expect(moves.some(({ from }) => from.includes(state))).toBe(true);
});

// A job may come back and be claimed again with the same attempt, between a reading and the change that was decided on it.
test.each(["try an error again", "give up a holder", "hand back", "claim back"])(
  "%s: only while as many attempts are spent as it counts from",
  (name) => {
    const { when } = changes[name]!;
    const job = name === "claim back" ? waiting : running;
    expect(fits(job, when)).toBe(true);
    expect(fits({ ...job, spent: job.spent + 1 }, when)).toBe(false);
  },
);

test("a job that has ended does not time out", () => {
  expect(() => timingOut(failed, 1, TOO_LATE)).toThrow("job j cannot timeOut from FAILED to TIMED_OUT");
});
