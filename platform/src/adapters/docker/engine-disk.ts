/** The size of the engine's machine: processors, memory and disk. */
import { statfs } from "node:fs/promises";
import { type Box, ONLY_BOX } from "../../ports/compute/compute.ts";
import type { EngineInfo } from "./engine.ts";

const MB = 2 ** 20;
const GB = 2 ** 30;

/** The machine's only box, without its GPUs. */
export async function boxOf({ NCPU, MemTotal, DockerRootDir }: EngineInfo): Promise<Omit<Box, "gpus" | "ceilings">> {
  return { id: ONLY_BOX, vcpu: NCPU, memoryMb: Math.floor(MemTotal / MB), diskGb: await diskGb(DockerRootDir) };
}

/** An engine in a virtual machine keeps its files where this process cannot look. This machine's disk is then the best guess. */
async function diskGb(folder: string): Promise<number> {
  const { bsize, blocks } = await statfs(folder).catch(() => statfs("/"));
  return Math.floor((bsize * blocks) / GB);
}
