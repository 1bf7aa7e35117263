/** Packs entries for the writer's thread: the two kinds that every job makes travel as one flat list of values. */
import type { Entry, JobRow, Stashed } from "../../ports/queue/journal.ts";
import type { Wire } from "./writer.ts";

/** Copying an object between threads repeats every field name, which costs more than everything else about a small entry. */
type Packed = unknown[];

const INSERT = 0;
const UPDATE = 1;
const OTHER = 2;

function pack(entries: readonly Entry[]): Packed {
  const packed: Packed = [];
  for (const entry of entries) {
    if (entry.do === "insert") {
      const { row, body, key } = entry;
      const { id, endpoint, state, position, createdAt, expiresAt, doc } = row;
      packed.push(INSERT, id, endpoint, state, position, createdAt, expiresAt, doc, body, key);
    } else if (entry.do === "update") {
      const { row, result, progress, dropChunks, output } = entry;
      const { id, endpoint, state, position, createdAt, expiresAt, doc } = row;
      packed.push(
        UPDATE,
        id,
        endpoint,
        state,
        position,
        createdAt,
        expiresAt,
        doc,
        result,
        progress,
        dropChunks,
        output,
      );
    } else packed.push(OTHER, entry);
  }
  return packed;
}

function unpack(packed: Packed): Entry[] {
  const entries: Entry[] = [];
  let next = 0;
  const take = <T>() => packed[next++] as T;
  const row = (): JobRow => ({
    id: take(),
    endpoint: take(),
    state: take(),
    position: take(),
    createdAt: take(),
    expiresAt: take(),
    doc: take(),
  });
  while (next < packed.length) {
    const kind = take();
    if (kind === INSERT) entries.push({ do: "insert", row: row(), body: take<Stashed>(), key: take() });
    else if (kind === UPDATE) {
      entries.push({
        ...{ do: "update", row: row(), result: take(), progress: take(), dropChunks: take() },
        output: take(),
      });
    } else entries.push(take<Entry>());
  }
  return entries;
}

export const entryWire: Wire = {
  pack: (input) => pack(input as Entry[]),
  unpack: (packed) => unpack(packed as Packed),
};

/** The limits of a brief batch: this many entries, texts of this total length, and no entry that scans a table. */
const BRIEF_ENTRIES = 400;
const BRIEF_LENGTH = 256 * 1024;

const LENGTHY: ReadonlySet<Entry["do"]> = new Set(["body", "remove", "removeEndpoint", "expire"]);

/** Whether a fast disk can write these in a moment. */
export function isBrief(calls: readonly (readonly Entry[])[]): boolean {
  let count = 0;
  let length = 0;
  for (const entries of calls) {
    count += entries.length;
    for (const entry of entries) {
      if (LENGTHY.has(entry.do)) return false;
      length += lengthOf(entry);
    }
  }
  return count <= BRIEF_ENTRIES && length <= BRIEF_LENGTH;
}

/** Payloads that are kept in files are written already. */
const textLength = (payload: Stashed | null | undefined) => (typeof payload === "string" ? payload.length : 0);

function lengthOf(entry: Entry): number {
  if (entry.do === "insert") return entry.row.doc.length + textLength(entry.body);
  if (entry.do === "update") return entry.row.doc.length + textLength(entry.result) + textLength(entry.progress);
  return entry.do === "chunks" ? entry.chunks.reduce((sum, { text }) => sum + text.length, 0) : 0;
}
