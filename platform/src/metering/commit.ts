/** Commits with spans in them: a span that is lost does not keep what it is about from going on. */
import { type Store, type StoredRecord, type Write, WriteRefused } from "../ports/store/store.ts";
import { spans } from "./span.ts";

/** Undefined when what was read before is behind what is there. What is full stays so, however often one looks: that is for the caller. */
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
