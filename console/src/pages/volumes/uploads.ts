/** What is being uploaded: a list of files, a few of which are sent at a time. */
import type { Refusal } from "../../api/refusal.ts";

export interface Upload {
  /** The path on the volume, which no two of the list share while they are under way. */
  path: string;
  file: File;
  sent: number;
  state: "waiting" | "sending" | "done" | "failed" | "cancelled";
  refusal?: Refusal;
  /** Whether it may take the place of what is there. */
  mayReplace?: boolean;
}

export type UploadMove =
  | { type: "add"; uploads: readonly Pick<Upload, "path" | "file">[] }
  | { type: "begin"; path: string }
  | { type: "progress"; path: string; sent: number }
  | { type: "done"; path: string }
  | { type: "failed"; path: string; refusal: Refusal }
  | { type: "cancelled"; path: string }
  | { type: "again"; path: string; mayReplace: boolean }
  | { type: "clear" };

/** More at once only share the same line. */
const MOST_AT_ONCE = 2;

export const isUnderWay = ({ state }: Upload) => state === "waiting" || state === "sending";

export function moved(uploads: readonly Upload[], move: UploadMove): Upload[] {
  const change = (path: string, after: Partial<Upload>) =>
    uploads.map((one) => (one.path === path ? { ...one, ...after } : one));
  switch (move.type) {
    case "add": {
      const busy = new Set(uploads.filter(isUnderWay).map(({ path }) => path));
      const added = move.uploads.filter(({ path }) => !busy.has(path));
      const paths = new Set(added.map(({ path }) => path));
      return [
        ...uploads.filter(({ path }) => !paths.has(path)),
        ...added.map((one) => ({ ...one, sent: 0, state: "waiting" as const })),
      ];
    }
    case "begin":
      return change(move.path, { state: "sending" });
    case "progress":
      return change(move.path, { sent: move.sent });
    case "done":
      return change(move.path, { state: "done" });
    case "failed":
      return change(move.path, { state: "failed", refusal: move.refusal });
    case "cancelled":
      return change(move.path, { state: "cancelled" });
    case "again":
      return change(move.path, { state: "waiting", sent: 0, mayReplace: move.mayReplace });
    case "clear":
      return uploads.filter(isUnderWay);
  }
}

/** Those that may begin now. */
export function nextOf(uploads: readonly Upload[]): Upload[] {
  const sending = uploads.filter(({ state }) => state === "sending").length;
  return uploads.filter(({ state }) => state === "waiting").slice(0, Math.max(0, MOST_AT_ONCE - sending));
}

/** How much of all of it is sent, from 0 to 1. */
export function shareOf(uploads: readonly Upload[]): number {
  const counted = uploads.filter(({ state }) => state !== "failed" && state !== "cancelled");
  const all = counted.reduce((sum, { file }) => sum + file.size, 0);
  const sent = counted.reduce((sum, { sent: part, state, file }) => sum + (state === "done" ? file.size : part), 0);
  return all === 0 ? 1 : sent / all;
}
