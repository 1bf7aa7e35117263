/** What this process knows of a disk without room. */
import { statfs } from "node:fs/promises";

/** `database or disk is full`, as SQLite says it. */
const SQLITE_FULL = 13;
/** Less than this is none: something needs a block for itself before the first byte. */
const LEAST_BYTES = 256 * 1024;

export function isFull(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  return code === "ENOSPC" || code === "EDQUOT" || errcode === SQLITE_FULL;
}

export async function hasRoom(folder: string, bytes = LEAST_BYTES): Promise<boolean> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize >= bytes;
}
