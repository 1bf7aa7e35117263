/** What an instance uses. */

/** The ability to tell what instances use. */
export interface Metering {
  /** Returns undefined if the instance has ended or never existed. Cheap enough to call every second. */
  of(id: string): Promise<Stats | undefined>;
}

/** Unknown values are absent, never 0. */
export interface Stats {
  /** When this was measured. */
  at: number;
  /** CPU time that its programs have used since its start, on all processors. It only grows, so two measurements give a percentage. */
  cpuMs?: number;
  /** Memory in use, without the file cache that the kernel could drop. */
  memoryBytes?: number;
  memoryLimitBytes?: number;
  /** What it has written to its own disk, without its image and volumes. The value may be up to a minute old. */
  diskBytes?: number;
  /** One entry for each of its GPUs. */
  gpus: readonly GpuStats[];
}

export interface GpuStats {
  /** The device's id. */
  id: string;
  /** A virtual device: nothing about it can be measured. */
  virtual: boolean;
  /** A number from 0 to 100. */
  utilisationPercent?: number;
  memoryBytes?: number;
  memoryTotalBytes?: number;
}
