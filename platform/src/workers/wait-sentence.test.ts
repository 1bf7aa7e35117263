/** What a waiting job is told about the workers of its endpoint. */
import { expect, test } from "vitest";
import { because } from "../kernel/reason.ts";
import type { KeptWorker } from "../resources/workers/model.ts";
import type { WorkerItem } from "./plan.ts";
import { type WaitFacts, waitSentence } from "./wait-sentence.ts";

const NOW = 1_000_000;
const PULLING = because("pulling-image", { image: "vllm:1", progress: "4 of 9 layers" });

function worker(state: KeptWorker["state"], changes: Partial<KeptWorker> = {}, ageS = 3): WorkerItem {
  const doc = { release: 1, state, image: "vllm:1", reason: null, failedAt: null, ...changes } as KeptWorker;
  return { id: state, account: "a", createdAt: NOW - ageS * 1000, version: 1, doc };
}

function sentence(changes: Partial<WaitFacts>, max = 3): string | undefined {
  const endpoint = { release: 1, workers: { min: 0, max, idleTimeout: 10 } };
  const progressOf = () => undefined;
  return waitSentence({
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

const failure = (at: number, reason: string) => worker("FAILED", { failedAt: at, reason });
const FRESH = "its handler asked for a fresh worker";
const atCancelled = () =>
  worker("READY", { hindrance: { kind: "overrun", since: NOW - 2000, reason: "still busy with a cancelled job" } });
const LOOP = "exit 7, last lines: boom";

test.each<[string | undefined, Partial<WaitFacts>, number?]>([
  ["worker starting (3 s)", { workers: [worker("STARTING")] }],
  ["worker warming up (2 s)", { workers: [worker("STARTING", { warmUp: { since: NOW - 2000, givenAt: NOW } })] }],
  ["worker starting (9 s)", { workers: [worker("STARTING"), worker("PLACED", {}, 9)] }],
  ["pulling image vllm:1: 4 of 9 layers", { workers: [worker("PLACED")], progressOf: () => PULLING }],
  ["no capacity: needs …", { workers: [worker("WANTED", { reason: "no capacity: needs …" })] }],
  ["all 3 workers busy (max 3)", { live: 3, busy: 3 }],
  ["the only worker is busy (max 1)", { live: 1, busy: 1 }, 1],
  ["the only worker is busy (max 3); worker starting (3 s)", { live: 1, busy: 1, workers: [worker("STARTING")] }],
  ["worker failed: exit 7, last lines: boom", { workers: [failure(1, LOOP)] }],
  ["crash loop: exit 7, last lines: boom", { workers: [failure(2, LOOP), failure(1, "exit 1")] }],
  ['boot failed: secret "x" does not exist', { workers: [failure(1, 'boot failed: secret "x" does not exist')] }],
  ["crash loop: exit 7, last lines: boom", { workers: [failure(2, LOOP), failure(1, LOOP), worker("STARTING")] }],
  ["paused: max workers is 0", {}, 0],
  ["1 worker of an older release still busy (max 1)", { workers: [worker("DRAINING", { release: 0 })] }, 1],
  [
    "1 worker of an older release still busy (max 2); 1 worker is being replaced (its handler asked for a fresh worker)",
    { workers: [worker("DRAINING", { release: 0 }), worker("DRAINING", { reason: FRESH })] },
    2,
  ],
  ["2 workers still busy with a cancelled job", { workers: [atCancelled(), atCancelled()] }],
  [
    "the only worker is busy (max 3); 1 worker still busy with a cancelled job; worker starting (3 s)",
    { live: 1, busy: 1, workers: [atCancelled(), worker("STARTING")] },
  ],
  [
    "waiting for the idle worker to ask for it; 1 worker still busy with a cancelled job",
    { live: 2, busy: 1, workers: [atCancelled()] },
  ],
  ["waiting for the idle worker to ask for it", { live: 1, workers: [worker("DRAINING")] }],
  ["low priority: it waits for a worker that another job starts", { onlyLowPriority: true }],
  [undefined, { live: 2, busy: 1 }],
  [undefined, {}],
])("%s", (text, facts, max) => {
  expect(sentence(facts, max)).toBe(text);
});
