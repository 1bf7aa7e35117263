/** Short helpers that make the records of the store's conformance suite. */
import type { Document } from "../../kernel/document.ts";
import {
  type NewRecord,
  type RefusalReason,
  type Store,
  type StoredRecord,
  type UniqueKey,
  type Write,
  WriteRefused,
} from "./store.ts";

export function insertOf(given: Partial<NewRecord> & { id: string }): Write {
  const record = { kind: "thing", account: "a", createdAt: 0, doc: {}, unique: [], ...given };
  return { do: "insert", record };
}

export const patchOf = (id: string, set: Document) => ({ do: "patch", kind: "thing", id, set }) as const;

export const removeOf = (id: string) => ({ do: "remove", kind: "thing", id }) as const;

export const nameKey = (value: string): UniqueKey => ({ scope: "a", name: "name", value });

/** Inserts one record in a commit of its own. */
export async function seed(store: Store, given: Partial<NewRecord> & { id: string }): Promise<StoredRecord> {
  const [record] = await store.commit([insertOf(given)]);
  return record!;
}

/** Waits for commits that ran at once, and tells which won and why the others were refused. Other errors are thrown. */
export async function settled<T>(commits: Promise<T>[]): Promise<{ won: T[]; refused: RefusalReason[] }> {
  const outcomes = await Promise.allSettled(commits);
  const won = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  const refused = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [refusal(outcome.reason)] : []));
  return { won, refused };
}

function refusal(error: unknown): RefusalReason {
  if (error instanceof WriteRefused) return error.reason;
  throw error;
}
