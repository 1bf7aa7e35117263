/** Machines with their boxes, and what an instance has of one. */
import type { Reason } from "../kernel/reason.ts";
import type { Box } from "../ports/compute/compute.ts";
import type { Runs, Share } from "./need.ts";

/** Where the volumes are that a machine mounts: on its own disk, or also on storage that several machines share. */
export type VolumeStorage = "own" | "shared";

export interface Machine {
  id: string;
  boxes: readonly Box[];
  /** The data center that it is in, where nobody asks for another. */
  dataCenter: string;
  /** It stands in every data center of the catalog. */
  isEverywhere?: boolean;
  /** Absent where it mounts no volumes. */
  volumes?: VolumeStorage;
  /** Its instances can be members of groups. */
  groups?: boolean;
  /** What it can run; anything where nothing is said. */
  runs?: readonly Runs[];
  /** Nothing new is placed there. */
  isDraining?: boolean;
}

/** What an instance has of a machine. */
export interface Place extends Share {
  machine: string;
  box: string;
  dataCenter: string;
  /** Of the disk, what is kept for it alone. */
  diskGb: number;
  /** The CPU flavor that it was given; null with a GPU, and where the need names none. */
  flavor: string | null;
  gpuType: string | null;
  gpuCount: number;
}

/** Why there is no place. */
export interface NoRoom {
  reason: Reason;
}

/** What is free in one box. */
export interface Free extends Share {
  machine: Machine;
  box: Box;
  diskGb: number;
  gpus: Map<string, number>;
}

export const freeGpus = ({ gpus }: Free, type: string): number => Math.max(0, gpus.get(type) ?? 0);
