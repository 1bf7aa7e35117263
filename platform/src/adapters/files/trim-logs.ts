/** Keeps the total size of all log files below a limit. */
import { rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { LOG_FILE, namesIn } from "./stream-files.ts";

interface Found {
  path: string;
  size: number;
  writtenAt: number;
}

/**
 * Removes the oldest files of the owner that has the most, until all fit. An owner that writes much thus costs the others nothing. Streams
 * in the same folder belong to one owner.
 */
export async function trimLogs(folder: string, total: number): Promise<void> {
  const files = await filesBelow(folder);
  let left = sizeOf(files);
  if (left <= total) return;
  const owners = [...Map.groupBy(files, ({ path }) => dirname(dirname(path))).values()].map((own) => ({
    size: sizeOf(own),
    newestFirst: own.toSorted((a, b) => b.writtenAt - a.writtenAt),
  }));
  while (left > total) {
    const most = owners.reduce((largest, owner) => (owner.size > largest.size ? owner : largest));
    const oldest = most.newestFirst.pop()!;
    await rm(oldest.path, { force: true });
    most.size -= oldest.size;
    left -= oldest.size;
  }
}

const sizeOf = (files: readonly Found[]) => files.reduce((sum, { size }) => sum + size, 0);

async function filesBelow(folder: string): Promise<Found[]> {
  const found: Found[] = [];
  for (const name of await namesIn(folder)) {
    const path = join(folder, name);
    const one = await stat(path).catch(() => undefined);
    if (one?.isDirectory()) found.push(...(await filesBelow(path)));
    else if (one && LOG_FILE.test(name)) found.push({ path, size: one.size, writtenAt: one.mtimeMs });
  }
  return found;
}
