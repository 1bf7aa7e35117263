/** The size of a process according to the system, whatever the process is doing. */
import { readdir, readFile } from "node:fs/promises";

export interface Size {
  rssMb: number;
  descriptors: number;
}

export async function sizeOf(pid: number): Promise<Size> {
  const [status, descriptors] = await Promise.all([
    readFile(`/proc/${pid}/status`, "utf8"),
    readdir(`/proc/${pid}/fd`),
  ]);
  return { rssMb: Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024), descriptors: descriptors.length };
}
