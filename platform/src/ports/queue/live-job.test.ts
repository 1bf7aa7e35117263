/** A job in memory has every field of the job itself. */
import { expect, test } from "vitest";
import { type Job, OPTIONAL_FIELDS } from "./job.ts";
import { LiveJob, snapshot } from "./live-job.ts";

test("a job that is taken into memory and copied out again has every field it had", () => {
  const policy = { ttlMs: 1, executionTimeoutMs: 2, retentionMs: 3, errorRetries: 4, lowPriority: true };
  const counters = { attempt: 5, spent: 6, errorsRetried: 7, retried: 8 };
  const times = { createdAt: 9, ttlAt: 10, queuedAt: 11 };
  const optional = Object.fromEntries(OPTIONAL_FIELDS.map((field) => [field, `value of ${field}`]));
  const job = { id: "job", endpoint: "one", state: "IN_QUEUE", policy, ...times, ...counters, ...optional } as Job;
  expect(snapshot(new LiveJob(job, 12, undefined))).toStrictEqual(job);
});
