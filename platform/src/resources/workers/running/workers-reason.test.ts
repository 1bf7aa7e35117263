/** What a waiting job reports about the workers of its endpoint. */

import { expect, test } from "vitest";
import type { GivenWorker } from "../../../../tests/worker-doc.ts";
import { adding, because, plainText, type Reason, type ReasonCode, saying } from "../../../kernel/reason.ts";
import type { KeptWorker, WorkerState } from "../model.ts";
import type { WorkerItem } from "./plan.ts";
import { type WaitFacts, workersReason } from "./workers-reason.ts";

const NOW = 1_000_000;
const PULLING = because("pulling-image", { image: "vllm:1", progress: "4 of 9 layers" });

function worker(state: WorkerState, changes: GivenWorker = {}, ageS = 3): WorkerItem {
  const doc = { release: 1, state, image: "vllm:1", reason: null, failedAt: null, ...changes } as unknown as KeptWorker;
  return { id: state, account: "a", createdAt: NOW - ageS * 1000, version: 1, doc };
}

function reasonOf(changes: Partial<WaitFacts>, max = 3): Reason | undefined {
  const endpoint = { release: 1, workers: { min: 0, max, idleTimeout: 10 } };
  const progressOf = () => undefined;
  return workersReason({
    endpoint,
    workers: [],
    live: 0,
    busy: 0,
    progressOf,
    silentSince: () => undefined,
    onlyLowPriority: false,
    now: NOW,
    ...changes,
  });
}

const failure = (at: number, reason: Reason) => worker("FAILED", { failedAt: at, reason });
const FRESH = because("refresh-asked");
const NO_ROOM = because("no-capacity", { need: "needs …", lacks: "gpu" });
const NO_SECRET = saying("secret-missing", 'boot failed: secret "x" does not exist');
const atCancelled = () =>
  worker("READY", {
    hindrance: { kind: "overrun", since: NOW - 2000, reason: because("at-lost-job", { job: "a cancelled job" }) },
  });
const LOOP = adding(because("program-ended", { how: "exit 7" }), ", last lines: boom");
const ONCE = saying("program-ended", "exit 1");

test.each<[code: ReasonCode | undefined, text: string | undefined, Partial<WaitFacts>, number?]>([
  ["worker-starting", "worker starting (3 s)", { workers: [worker("STARTING")] }],
  [
    "worker-warming-up",
    "worker warming up (2 s)",
    { workers: [worker("STARTING", { warmUp: { since: NOW - 2000, givenAt: NOW } })] },
  ],
  ["worker-starting", "worker starting (9 s)", { workers: [worker("STARTING"), worker("PLACED", {}, 9)] }],
  ["pulling-image", "pulling image vllm:1: 4 of 9 layers", { workers: [worker("PLACED")], progressOf: () => PULLING }],
  ["no-capacity", "no capacity: needs …", { workers: [worker("WANTED", { reason: NO_ROOM })] }],
  ["workers-busy", "all 3 workers busy (max 3)", { live: 3, busy: 3 }],
  ["workers-busy", "the only worker is busy (max 1)", { live: 1, busy: 1 }, 1],
  [
    "worker-starting",
    "the only worker is busy (max 3); worker starting (3 s)",
    { live: 1, busy: 1, workers: [worker("STARTING")] },
  ],
  ["worker-failed", "worker failed: exit 7, last lines: boom", { workers: [failure(1, LOOP)] }],
  ["crash-loop", "crash loop: exit 7, last lines: boom", { workers: [failure(2, LOOP), failure(1, ONCE)] }],
  ["secret-missing", 'boot failed: secret "x" does not exist', { workers: [failure(1, NO_SECRET)] }],
  [
    "crash-loop",
    "crash loop: exit 7, last lines: boom",
    { workers: [failure(2, LOOP), failure(1, LOOP), worker("STARTING")] },
  ],
  ["paused", "paused: max workers is 0", {}, 0],
  [
    "older-release-busy",
    "1 worker of an older release still busy (max 1)",
    { workers: [worker("DRAINING", { release: 0 })] },
    1,
  ],
  [
    "being-replaced",
    "1 worker of an older release still busy (max 2); 1 worker is being replaced (its handler asked for a fresh worker)",
    { workers: [worker("DRAINING", { release: 0 }), worker("DRAINING", { reason: FRESH })] },
    2,
  ],
  ["at-lost-job", "2 workers still busy with a cancelled job", { workers: [atCancelled(), atCancelled()] }],
  [
    "worker-starting",
    "the only worker is busy (max 3); 1 worker still busy with a cancelled job; worker starting (3 s)",
    { live: 1, busy: 1, workers: [atCancelled(), worker("STARTING")] },
  ],
  [
    "at-lost-job",
    "waiting for the idle worker to ask for it; 1 worker still busy with a cancelled job",
    { live: 2, busy: 1, workers: [atCancelled()] },
  ],
  ["waits-for-ask", "waiting for the idle worker to ask for it", { live: 1, workers: [worker("DRAINING")] }],
  [
    "waits-for-ask",
    "waiting for the worker without a job to ask for it",
    { live: 1, unknown: 1, workers: [worker("DRAINING")] },
  ],
  ["low-priority", "low priority: it waits for a worker that another job starts", { onlyLowPriority: true }],
  [undefined, undefined, { live: 2, busy: 1 }],
  [undefined, undefined, {}],
])("%s: %s", (code, text, facts, max) => {
  const reason = reasonOf(facts, max);
  expect([reason?.code, reason?.text]).toEqual([code, text]);
});

test("what a program said is not for the server's own log", () => {
  expect(plainText(reasonOf({ workers: [failure(2, LOOP), failure(1, ONCE)] })!)).toBe("crash loop: exit 7");
});
