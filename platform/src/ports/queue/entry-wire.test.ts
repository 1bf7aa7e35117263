/** What is packed for the writer's thread is what is unpacked there. */
import { expect, test } from "vitest";
import { pack, unpack } from "./entry-wire.ts";
import type { Entry, JobRow } from "./journal.ts";

const row: JobRow = {
  id: "j1",
  endpoint: "ep",
  state: "IN_QUEUE",
  position: 7,
  createdAt: 3,
  expiresAt: null,
  doc: "{}",
};

const entries: Entry[] = [
  { do: "insert", row, body: "{}", key: { scoped: "ep/k", digest: "d" } },
  { do: "insert", row: { ...row, id: "j2" }, body: { file: "f1" }, key: undefined },
  { do: "count", endpoint: "ep", count: { completed: 1 } },
  { do: "update", row: { ...row, state: "COMPLETED", expiresAt: 9 }, result: "r", progress: null, dropChunks: true },
  { do: "update", row, result: undefined, progress: undefined, dropChunks: undefined },
  { do: "update", row, result: null, progress: "p", dropChunks: false },
  { do: "remove", ids: ["j1"], rememberUntil: 5 },
];

test("entries of every kind come out of a copy between threads as they went in, in order", () => {
  expect(unpack(structuredClone(pack(entries)))).toStrictEqual(entries);
});
