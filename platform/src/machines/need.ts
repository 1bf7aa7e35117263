/** What an instance needs of a machine. */

export interface Share {
  vcpu: number;
  memoryMb: number;
}

/** What an image runs on: files of the machine itself, or an engine for containers. */
export type Runs = "host" | "container";

/** Whatever of the choices it is, and wherever. */
export interface Terms {
  /** Disk that it may fill. */
  diskGb: number;
  /** The disk is kept for it alone; else it must be there, and may be promised to others too. */
  keepsDisk?: boolean;
  runs?: Runs;
  /** Only in one of these, and anywhere when there are none. */
  dataCenters?: readonly string[];
  cuda?: { atLeast?: string | null; oneOf?: readonly string[] };
  /** The machine that has what it needs, such as its volume. */
  machine?: string;
  /** Only on a machine that mounts volumes, or those of the storage that several machines share. */
  volumes?: "any" | "shared";
  /** Only where it can be a member of a group. */
  groups?: boolean;
}

/** A type with the share of the machine that goes with each device by the catalog, and what has to go with each at least. */
export type GpuChoice = Share & { type: string; least?: Share };

/** The first of the choices that fits somewhere. */
export type Need = Terms &
  (
    | { kind: "cpu"; flavors: readonly (Share & { id?: string })[] }
    | { kind: "gpu"; count: number; types: readonly GpuChoice[] }
  );
