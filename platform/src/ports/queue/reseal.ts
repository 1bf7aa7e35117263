/** Changes bodies with a sealed credential in the embedded queue's journal, one slice at a time. */
import { type Entry, isLarge, type Journal, type Stashed } from "./journal.ts";
import type { Queue } from "./queue.ts";

/** The bodies of this many jobs are changed in one write. Large ones go to files one by one, so a slice never holds much. */
const SLICE = 100;

type BodyEntry = Extract<Entry, { do: "body" }>;

export async function resealBodies(
  journal: Journal,
  change: Parameters<Queue["reseal"]>[0],
  changed: (id: string) => void,
): Promise<number> {
  let count = 0;
  for (let after = "", more = true; more; ) {
    const ids = journal.sealed(after, SLICE);
    const entries = await changedBodies(journal, ids, change);
    if (entries.length > 0) await journal.write(entries);
    for (const { id } of entries) changed(id);
    count += entries.length;
    after = ids.at(-1) ?? after;
    more = ids.length === SLICE;
  }
  return count;
}

async function changedBodies(
  journal: Journal,
  ids: readonly string[],
  change: Parameters<Queue["reseal"]>[0],
): Promise<BodyEntry[]> {
  const entries: BodyEntry[] = [];
  for (const id of ids) {
    const body = await journal.body(id)?.read();
    const made = body === undefined ? undefined : change(body, id);
    if (made === undefined) continue;
    const stashed: Stashed = isLarge(made) ? await journal.stash(made) : made;
    entries.push({ do: "body", id, body: stashed });
  }
  return entries;
}
