/** Where the files of volumes are: on a machine of this node, on storage that machines share, or on another node's machine. */
import type { Files } from "../../ports/files/files.ts";

export interface VolumeStorage {
  /** The files of a volume on a machine of this node, or, with null, on storage that its machines share; undefined where there is none with this id. */
  files(volume: string, machine: string | null): Promise<Files | undefined>;
  /** Why no server reads the files of this machine's volumes, or, with null, of the shared storage. */
  noFiles?(machine: string | null): string | undefined;
  /** Machines of this node. */
  own: readonly string[];
  /** The node that runs a machine, and where it is reached. */
  nodeOf(machine: string): Promise<{ id: string; url: string | undefined } | undefined>;
}

/** Says where the files are, and why this server does not reach them. */
export interface Away {
  away: string;
  /** The node that reaches them, if it is known. */
  node?: { id: string; url: string | undefined };
}

export async function filesOn(storage: VolumeStorage, machine: string | null, volume: string): Promise<Files | Away> {
  if (machine !== null && !storage.own.includes(machine)) {
    const node = await storage.nodeOf(machine);
    const of = node ? ` of node ${node.id} (${node.url})` : "";
    return { away: `The volume is on machine ${machine}${of}: send the request there.`, ...(node && { node }) };
  }
  const noFiles = storage.noFiles?.(machine);
  if (noFiles !== undefined) return { away: noFiles };
  const files = await storage.files(volume, machine);
  return files ?? { away: `Volume ${volume} is not on this server's machine, or not made yet; try again in a moment.` };
}
