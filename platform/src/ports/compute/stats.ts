/** What an instance uses. */

/** The ability to tell what instances use. */
export interface Metering {
  /** Undefined when it has ended or never was. Cheap enough to be asked for each second. */
  of(id: string): Promise<Stats | undefined>;
}

/** What is not known is absent, and never 0. */
export interface Stats {
  /** When it was so. */
  at: number;
  /** Processor time that its programs have used since its start, of all processors together. Only ever grows: two make a percentage. */
  cpuMs?: number;
  /** Without what of its files is kept in memory only because there is room. */
  memoryBytes?: number;
  memoryLimitBytes?: number;
  /** What it has written to its own disk: neither its image nor volumes. May be as old as a minute. */
  diskBytes?: number;
  /** One for each of its GPUs. */
  gpus: readonly GpuStats[];
}

export interface GpuStats {
  /** The device. */
  id: string;
  /** Made up: nothing of it can be measured. */
  virtual: boolean;
  /** From 0 to 100. */
  utilisationPercent?: number;
  memoryBytes?: number;
  memoryTotalBytes?: number;
}
