/** Commits that include spans. A missing span record must not stop the change itself. */
import { type Store, type StoredRecord, type Write, WriteRefused } from "../ports/store/store.ts";
import { spans } from "./span.ts";

/** Returns undefined if what was read before is out of date. A full store stays full on a retry, so that error goes to the caller. */
export async function commitMetered(store: Store, writes: readonly Write[]): Promise<StoredRecord[] | undefined> {
  try {
    return await store.commit([...writes]);
  } catch (error) {
    if (!(error instanceof WriteRefused) || error.reason === "full") throw error;
    if (isLostSpan(error, writes)) return commitMetered(store, writes.toSpliced(error.index, 1));
    return undefined;
  }
}

const isLostSpan = ({ reason, index }: WriteRefused, writes: readonly Write[]): boolean => {
  const write = writes[index];
  return reason === "missing" && write?.do === "patch" && write.kind === spans.kind;
};
