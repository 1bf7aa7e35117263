/** Entries arrive unchanged in the writer's thread, and small batches are recognized as such. */

import { expect, test } from "vitest";
import { jobLifecycle } from "../../ports/queue/job.ts";
import type { Entry, JobRow } from "../../ports/queue/journal.ts";
import { entryWire, isBrief } from "./entry-wire.ts";

const row: JobRow = {
  id: "j1",
  endpoint: "ep",
  state: jobLifecycle.begin("IN_QUEUE"),
  position: 7,
  createdAt: 3,
  expiresAt: null,
  doc: "{}",
};

const entries: Entry[] = [
  { do: "insert", row, body: "{}", key: { scoped: "ep/k", digest: "d" } },
  { do: "insert", row: { ...row, id: "j2" }, body: { file: "f1" }, key: undefined },
  { do: "count", endpoint: "ep", count: { completed: 1 } },
  {
    do: "update",
    row: { ...row, state: jobLifecycle.to("complete"), expiresAt: 9 },
    result: "r",
    progress: null,
    dropChunks: true,
    output: "k",
  },
  { do: "update", row, result: undefined, progress: undefined, dropChunks: undefined, output: undefined },
  { do: "update", row, result: null, progress: "p", dropChunks: false, output: null },
  { do: "remove", ids: ["j1"], rememberUntil: 5 },
];

test("entries of every kind come out of a copy between threads as they went in, in order", () => {
  expect(entryWire.unpack(structuredClone(entryWire.pack(entries)))).toStrictEqual(entries);
});

const INSERT: Entry = { do: "insert", row, body: "{}", key: undefined };

test.each<[what: string, brief: boolean, ...calls: Entry[][]]>([
  ["what every job brings", true, [INSERT], [entries[3]!, entries[2]!]],
  ["a hundred jobs", true, Array(100).fill(INSERT)],
  ["a thousand jobs", false, ...Array(10).fill(Array(100).fill(INSERT))],
  ["a chunk", true, [{ do: "chunks", chunks: [{ id: "j1", attempt: 1, sequence: 1, text: "token" }] }]],
  ["a long chunk", false, [chunkOf(1_000_000)]],
  ["a long body", false, [{ ...INSERT, body: "x".repeat(300_000) }]],
  ["the removal of what has expired", false, [INSERT], [{ do: "expire", now: 1, limit: 1000 }]],
  ["the removal of jobs", false, [entries[6]!]],
  ["the removal of an endpoint", false, [{ do: "removeEndpoint", endpoint: "ep", limit: 9 }]],
])("%s: done in a moment: %s", (_what, brief, ...calls) => {
  expect(isBrief(calls)).toBe(brief);
});

function chunkOf(length: number): Entry {
  return { do: "chunks", chunks: [{ id: "j1", attempt: 1, sequence: 1, text: "x".repeat(length) }] };
}
