/** How large the disk of one more program is made on a disk that others write to as well. */
import { type DiskRoom, marginOf } from "../../ports/disk.ts";

/** Less is no disk. */
const LEAST_BYTES = 64 * 2 ** 20;
/** So much is always promised, also to more than there is room for: the guard ends who then writes too much. */
const USUAL_BYTES = 2 ** 30;
const USUAL_PART = 8;

export interface Granting extends DiskRoom {
  /** What other programs may still write of what they were granted. */
  promisedBytes: number;
}

/**
 * What was asked for, while all that was granted fits into what is free without the margin. Where it does not, half of what is left, so that
 * there is some for the next too. Undefined where there is no room at all.
 */
export function grantedBytes(asked: number, { promisedBytes, ...room }: Granting): number | undefined {
  const usable = room.freeBytes - marginOf(room);
  if (usable < Math.min(asked, LEAST_BYTES)) return undefined;
  const unpromised = usable - promisedBytes;
  if (asked <= unpromised) return asked;
  const usual = Math.max(LEAST_BYTES, Math.min(USUAL_BYTES, usable / USUAL_PART));
  return Math.floor(Math.min(asked, usable, Math.max(unpromised / 2, usual)));
}
