/** A job's document is written by hand, and reads back as the same job. */
import { expect, test } from "vitest";
import { type Job, jobLifecycle } from "./job.ts";
import { fromRow, rowReader, toRow } from "./journal.ts";

const policy = { ttlMs: 1, executionTimeoutMs: 2, retentionMs: 3, errorRetries: 4, lowPriority: true };
const waiting: Job = {
  id: "j1",
  endpoint: "ep",
  state: jobLifecycle.begin("IN_QUEUE"),
  policy,
  createdAt: 10,
  ttlAt: 11,
  queuedAt: 12,
  attempt: 0,
  spent: 0,
  errorsRetried: 0,
  retried: 0,
};
const untouched: Job = { ...waiting, queuedAt: waiting.createdAt };
const ended: Required<Job> = {
  ...waiting,
  id: "j2",
  state: jobLifecycle.to("fail"),
  holder: 'w"1}',
  barred: "w2",
  startedAt: 13,
  deadline: 14,
  endedAt: 15,
  expiresAt: 16,
  error: 'an "error"',
  large: { key: "k", start: 10, bytes: 20 },
  reasonCode: "job-overran",
  reason: 'a "quoted" reason with } and ünïcödé',
  webhooks: ["http://a/{}"],
  sealed: true,
  cursor: { attempt: 1, sequence: 2 },
  deliveries: [{ url: "http://a/{}", at: 17, status: 200 }],
  caller: "another",
  fare: { share: "a-model", perRequest: 1, perSecond: 2, perMillionInputTokens: 3, perMillionOutputTokens: 4 },
  trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
};

test.each([
  ["as it was accepted", untouched],
  ["waiting", waiting],
  ["ended, with every field", ended],
])("a job that is %s reads back as it was", (_, job) => {
  expect(fromRow(toRow(job, 7))).toStrictEqual(job);
  expect(rowReader((shared) => shared)(toRow(job, 7))).toEqual(job);
});

test("rows read one after another share the policy that they agree on", () => {
  const read = rowReader((shared) => shared);
  const [first, second] = [toRow(untouched, 1), toRow({ ...untouched, policy: { ...policy } }, 2)].map(read);
  expect(second!.policy).toBe(first!.policy);
  expect(second).toEqual(untouched);
});

test("a document in another order, as other releases may have written it, is read too", () => {
  const row = toRow(waiting, 1);
  const { v, policy: first, ...rest } = JSON.parse(row.doc);
  const turned = { ...row, doc: JSON.stringify({ ...rest, policy: first, v }) };
  expect(rowReader((shared) => shared)(turned)).toEqual(waiting);
});
