/** How large the disk of an engine is. */
import { statfs } from "node:fs/promises";

const GB = 2 ** 30;

/** An engine in a virtual machine keeps its files where we cannot look; then this machine's disk is the best guess. */
export async function diskGb(folder: string): Promise<number> {
  const { bsize, blocks } = await statfs(folder).catch(() => statfs("/"));
  return Math.floor((bsize * blocks) / GB);
}
