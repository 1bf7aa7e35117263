/** Decides the size of a new program's disk on a machine disk that others write to as well. */
import { type DiskRoom, marginOf } from "../../ports/disk.ts";

/** A smaller disk would be of no use. */
const LEAST_BYTES = 64 * 2 ** 20;
/**
 * Every program is promised about this much, even when all promises together exceed the free space. The disk guard ends a program that then
 * writes too much.
 */
const USUAL_BYTES = 2 ** 30;
const USUAL_PART = 8;

export interface Granting extends DiskRoom {
  /** The bytes that other programs may still write within their grants. */
  promisedBytes: number;
}

/**
 * Grants the requested size while all grants together fit into the free space without the margin. Otherwise it grants half of the rest, so
 * that the next program also gets some. Undefined where there is no space at all.
 */
export function grantedBytes(asked: number, { promisedBytes, ...room }: Granting): number | undefined {
  const usable = room.freeBytes - marginOf(room);
  if (usable < Math.min(asked, LEAST_BYTES)) return undefined;
  const unpromised = usable - promisedBytes;
  if (asked <= unpromised) return asked;
  const usual = Math.max(LEAST_BYTES, Math.min(USUAL_BYTES, usable / USUAL_PART));
  return Math.floor(Math.min(asked, usable, Math.max(unpromised / 2, usual)));
}
