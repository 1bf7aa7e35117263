/** How many files and connections this process may have open, and how many of them may be connections. */
import { readFileSync } from "node:fs";

const AT_LEAST = 1024;

/** Node has already raised the limit to the hard limit. If it cannot be read, the smallest usual limit is assumed. */
export function descriptorLimit(read = () => readFileSync("/proc/self/limits", "utf8")): number {
  try {
    const soft = /^Max open files +(\d+)/m.exec(read())?.[1];
    return soft === undefined ? AT_LEAST : Number(soft);
  } catch {
    return AT_LEAST;
  }
}

/** Each connection takes about 20 KB of memory. This is enough for most, and small enough for a laptop. */
const CONNECTIONS_AT_MOST = 10_000;
const FILES_AT_LEAST = 64;
const FILES_SHARE = 8;

/** Files, programs and databases get a part. Each connection may need two of the rest, because it may lead on to a worker. */
export function connectionsWithin(descriptors: number): number {
  const files = Math.max(FILES_AT_LEAST, Math.floor(descriptors / FILES_SHARE));
  return Math.max(1, Math.min(CONNECTIONS_AT_MOST, Math.floor((descriptors - files) / 2)));
}
