/** Packs entries for the writer's thread: the two kinds that every job makes travel as one flat list of values. */
import type { Entry, JobRow, Stashed } from "../../ports/queue/journal.ts";

/** Copying an object between threads repeats every field name, which costs more than everything else about a small entry. */
export type Packed = unknown[];

const INSERT = 0;
const UPDATE = 1;
const OTHER = 2;

export function pack(entries: readonly Entry[]): Packed {
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

export function unpack(packed: Packed): Entry[] {
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

/** The limits of a brief batch: this many values, texts of this total length, and no entry that scans a table. */
const BRIEF_VALUES = 4000;
const BRIEF_LENGTH = 256 * 1024;

const LENGTHY: ReadonlySet<Entry["do"]> = new Set(["body", "remove", "removeEndpoint", "expire"]);

/** Whether a fast disk can write these in a moment. */
export function isBrief(packed: readonly Packed[]): boolean {
  let values = 0;
  let length = 0;
  for (const list of packed) {
    values += list.length;
    for (const value of list) {
      if (typeof value === "string") length += value.length;
      else if (typeof value === "object" && value !== null && "do" in value) {
        const entry = value as Entry;
        if (LENGTHY.has(entry.do)) return false;
        if (entry.do === "chunks") for (const { text } of entry.chunks) length += text.length;
      }
    }
  }
  return values <= BRIEF_VALUES && length <= BRIEF_LENGTH;
}
