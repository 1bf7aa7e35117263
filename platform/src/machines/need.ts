/** The CPU and memory that an instance needs of a machine. */

export interface Share {
  vcpu: number;
  memoryMb: number;
}

/** What an image needs to run: the files of the machine itself, or a container engine. */
export type Runs = "host" | "container";

/** The machines that have what an instance needs, such as a model. */
export interface Among {
  machines: readonly string[];
  /** Whether every machine with the shared volumes has it. */
  shared: boolean;
  /** What other machines lack, in words. */
  lacks: string;
}

/** Conditions that hold for every choice. */
export interface Terms {
  /** The disk that the instance may fill. */
  diskGb: number;
  /** The disk is reserved for this instance alone. Otherwise it must exist but may be promised to others as well. */
  keepsDisk?: boolean;
  runs?: Runs;
  /** The instance must be in one of these data centers. If the list is empty, any will do. */
  dataCenters?: readonly string[];
  cuda?: { atLeast?: string | null; oneOf?: readonly string[] };
  /** The machine that has what the instance needs, such as its volume. */
  machine?: string;
  /** The machine must mount volumes (`any`), or those of storage that several machines share (`shared`). */
  volumes?: "any" | "shared";
  /** The machine must be one of these. */
  among?: Among;
  /** The machine must support groups. */
  groups?: boolean;
}

/** A GPU type with the share that the catalog assigns to each device, and the least share that the instance accepts for each. */
export type GpuChoice = Share & { type: string; least?: Share };

/** The first choice that fits somewhere is used. */
export type Need = Terms &
  (
    | { kind: "cpu"; flavors: readonly (Share & { id?: string })[] }
    | { kind: "gpu"; count: number; types: readonly GpuChoice[] }
  );
