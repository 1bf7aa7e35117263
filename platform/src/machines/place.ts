/** Machines with their boxes, and the place that an instance has in one. */
import type { Reason } from "../kernel/reason.ts";
import type { Absence, Box } from "../ports/compute/compute.ts";
import type { Spanning } from "../ports/compute/spans.ts";
import type { Away } from "./aways.ts";
import type { Need, Runs, Share } from "./need.ts";

/** Where a machine's volumes are: on its own disk, or also on storage that several machines share. */
export type VolumeStorage = "own" | "shared";

export interface Machine {
  id: string;
  boxes: readonly Box[];
  /** The data center that it counts for if nobody asks for another. */
  dataCenter: string;
  /** The machine counts for every data center of the catalog. */
  isEverywhere?: boolean;
  /** Absent if the machine mounts no volumes. */
  volumes?: VolumeStorage;
  /** Whether the machine's instances can be members of groups. */
  groups?: boolean;
  /** How groups reach from this machine to others. Absent if they do not. */
  spanning?: Spanning;
  /** Which images the machine runs. If absent, it runs any. */
  runs?: readonly Runs[];
  /** Which images the machine cannot run at the moment. If absent, it runs all that it can. */
  away?: Away;
  /** Whether the machine is drained, so that nothing new is placed on it. */
  isDraining?: boolean;
}

/** What an instance uses of a machine. */
export interface Place extends Share {
  machine: string;
  box: string;
  dataCenter: string;
  /** The part of the disk that is reserved for the instance alone. */
  diskGb: number;
  /** The CPU flavor that the instance was given. Null with a GPU, and if the need names none. */
  flavor: string | null;
  gpuType: string | null;
  gpuCount: number;
}

/** Why there is no place for an instance. */
export interface NoRoom {
  reason: Reason;
}

/** The free part of one box. */
export interface Free extends Share {
  machine: Machine;
  box: Box;
  diskGb: number;
  gpus: Map<string, number>;
}

export const freeGpus = ({ gpus }: Free, type: string): number => Math.max(0, gpus.get(type) ?? 0);

/** Why the machine cannot run at the moment what the need names. */
export const absenceIn = ({ away }: Machine, { runs }: Need): Absence | undefined => runs && away?.[runs];
