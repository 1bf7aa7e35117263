/** What every Queue guarantees. This suite defines the port and runs against each adapter. */
import { describe, expect, test } from "vitest";
import { admissionConformance } from "./admission.conformance.ts";
import { applyConformance } from "./apply.conformance.ts";
import { claimConformance } from "./claim.conformance.ts";
import {
  ANY,
  apply,
  enqueue,
  fail,
  NOW,
  newJob,
  numbered,
  type OpenQueue,
  outgoing,
  reading,
  running,
  text,
} from "./conformance-jobs.ts";
import { demandConformance } from "./demand.conformance.ts";
import { holderConformance } from "./holder.conformance.ts";
import { idempotencyConformance } from "./idempotency.conformance.ts";
import { outboxConformance } from "./outbox.conformance.ts";
import { outputConformance } from "./output.conformance.ts";
import { payloadConformance } from "./payload.conformance.ts";
import { readingConformance } from "./reading.conformance.ts";
import { removalConformance } from "./removal.conformance.ts";
import { resealConformance } from "./reseal.conformance.ts";
import { restartConformance } from "./restart.conformance.ts";
import { turnsConformance } from "./turns.conformance.ts";

export function queueConformance(name: string, open: OpenQueue): void {
  describe.concurrent(`${name} is a Queue`, () => {
    describe("enqueue", () => enqueueCases(open));
    describe("claim", () => claimConformance(open));
    describe("admission", () => admissionConformance(open));
    describe("apply", () => applyConformance(open));
    describe("payloads and chunks", () => payloadConformance(open));
    describe("large outputs", () => outputConformance(open));
    describe("reading", () => readingConformance(open));
    describe("holders and due", () => holderConformance(open));
    describe("demand", () => demandConformance(open));
    describe("purge, expiry and removal", () => removalConformance(open));
    describe("idempotency", () => idempotencyConformance(open));
    describe("counters and outbox", () => outboxConformance(open));
    describe("reseal", () => resealConformance(open));
    describe("restarts", () => restartConformance(open));
    describe("callers of a shared endpoint", () => turnsConformance(open));
  });
}

function enqueueCases(open: OpenQueue): void {
  test("a job that was enqueued waits, as it was given", async () => {
    await using opened = await open();
    const webhooks = ["https://example.org/a"];
    const job = newJob("j1", { webhooks, sealed: true, policy: { errorRetries: 2, lowPriority: true } });
    const [enqueued] = await opened.queue.enqueue([job]);
    expect(enqueued).toEqual({
      known: false,
      job: {
        ...{ id: "j1", endpoint: "ep", state: "IN_QUEUE", policy: job.policy, webhooks, sealed: true },
        ...{ createdAt: NOW, queuedAt: NOW, ttlAt: NOW + job.policy.ttlMs },
        ...{ attempt: 0, spent: 0, errorsRetried: 0, retried: 0 },
      },
    });
    expect(await opened.queue.read("j1", NOW)).toEqual({ job: enqueued!.job });
    expect(await opened.queue.read("j1", NOW, ["body"])).toEqual({ job: enqueued!.job, body: job.body });
  });

  test("no jobs are none", async () => {
    await using opened = await open();
    expect(await opened.queue.enqueue([])).toEqual([]);
  });

  test("jobs enqueued at once are answered in the order of each call", async () => {
    await using opened = await open();
    const calls = Array.from({ length: 20 }, (_, i) => numbered(5, `call${i}-`));
    const answers = await Promise.all(calls.map((ids) => opened.queue.enqueue(ids.map((id) => newJob(id)))));
    expect(answers.map((enqueued) => enqueued.map(({ job }) => job.id))).toEqual(calls);
  });

  test("an endpoint's jobs are its own", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "j1");
    await opened.queue.enqueue([newJob("k1", { endpoint: "other" })]);
    expect((await opened.queue.list({ endpoint: "other", offset: 0, limit: 9, now: NOW })).total).toBe(1);
    const claimed = await opened.queue.claim({ endpoint: "other", holder: "w1", limit: 9, bytes: ANY, now: NOW });
    expect(claimed.map(({ job }) => job.id)).toEqual(["k1"]);
  });

  test("names that no database can hold harm nobody else", async () => {
    await using opened = await open();
    const odd = "a\u0000b\ud800";
    const asked = [
      opened.queue.read(odd, NOW),
      opened.queue.claim({ endpoint: odd, holder: odd, limit: 1, bytes: ANY, now: NOW }),
      opened.queue.apply([{ id: odd, when: { states: ["IN_PROGRESS"], holder: odd }, set: { reason: odd } }]),
      opened.queue.append(odd, [{ id: odd, attempt: 1, sequence: 1, text: "{}" }]),
      opened.queue.renew(odd, odd, 1),
      opened.queue.held(odd),
      opened.queue.retire(odd),
      opened.queue.unbind(odd),
      opened.queue.chunks(odd, { attempt: 0, sequence: 0 }, 1),
    ];
    await enqueue(opened.queue, "j1");
    expect((await Promise.all(asked)).slice(0, 3)).toEqual([undefined, [], [{ applied: false }]]);
    expect(await opened.queue.read("j1", NOW)).toBeDefined();
  });

  test("what no database can hold of what is said about a job is replaced, and its payloads stay as they were", async () => {
    await using opened = await open();
    const [odd, clean] = ["a\u0000b\ud800", "a\ufffdb\ufffd"];
    const json = JSON.stringify({ input: { text: odd } });
    await running(opened.queue, newJob("j1", { body: json, webhooks: ["https://a.example"] }));
    await opened.queue.append("w1", [{ id: "j1", attempt: 1, sequence: 1, text: json }]);
    const delivery = { url: odd, at: NOW, error: odd };
    const set = { reason: odd, error: odd, deliveries: [delivery] };
    await apply(opened.queue, fail("j1", { set, result: json }));
    const seen = await reading(opened.queue, "j1");
    for (const job of [seen.job, (await opened.queue.find(["j1"], NOW))[0]])
      expect(job).toMatchObject({
        reason: clean,
        error: clean,
        deliveries: [{ ...delivery, url: clean, error: clean }],
      });
    expect([seen.body, seen.result].map(text)).toEqual([json, json]);
    expect((await opened.queue.chunks("j1", { attempt: 0, sequence: 0 }, 9)).map((chunk) => chunk.text)).toEqual([
      json,
    ]);
  });

  test("whoever asks for what no database can hold finds nothing", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "a\ufffd");
    const { queue } = opened;
    for (const odd of ["a\u0000", "\ud800"]) {
      expect(await queue.find([odd], NOW)).toEqual([undefined]);
      expect(await queue.read(odd, NOW, ["body"])).toBeUndefined();
      expect(await queue.list({ endpoint: odd, offset: 0, limit: 9, now: NOW })).toEqual({ jobs: [], total: 0 });
      expect(await queue.purge(odd, NOW)).toEqual([]);
      expect(await queue.counts(odd)).toMatchObject({ inQueue: 0, completed: 0 });
      expect(await queue.holders(odd)).toEqual([]);
      expect(await outgoing(queue, NOW, { endpoint: odd, after: odd })).toEqual([]);
      await queue.settle(odd, odd, "done");
      await queue.removeEndpoint(odd);
    }
    expect(await queue.read("a\ufffd", NOW)).toBeDefined();
  });
}
