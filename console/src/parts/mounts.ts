/** The storage of a Pod as its form holds it. */

export interface Mounts {
  persistent?: { size?: number | undefined; path: string };
  network?: { volumeId: string; path: string }[];
}

export type MountsKind = "none" | "persistent" | "network";

const PATH = "/workspace";
const FIRST_SIZE_GB = 20;

export function kindOfMounts({ persistent, network }: Mounts): MountsKind {
  if (persistent) return "persistent";
  return network ? "network" : "none";
}

/** What a person begins with who chooses a kind. Undefined leaves the field out. */
export function mountsOf(kind: MountsKind): Mounts | undefined {
  if (kind === "persistent") return { persistent: { size: FIRST_SIZE_GB, path: PATH } };
  return kind === "network" ? { network: [{ volumeId: "", path: PATH }] } : undefined;
}
