/** The ability to start the program of an instance that has ended once more, on what it wrote to its own disk. */
import type { Instance, InstanceSpec } from "./instance.ts";

export interface Again {
  /** The program gets the variables of this boot; else those of its first. */
  readonly freshEnv: boolean;
  /** Only instances that mount a volume can be started again: what others wrote ends with them. */
  readonly needsVolume?: boolean;
  /**
   * The same id, command and place, after what it wrote to its log. `spec` is that of its start, with the variables of this boot. One that runs
   * is left alone. Throws StartRefused when nothing of it is left, or what it held is taken; it then stays ended as it was. Of workers, whose
   * disk may be in memory, nothing but the id and the log is promised.
   */
  start(id: string, spec: InstanceSpec): Promise<Instance>;
}

export const NEEDS_VOLUME = "this driver keeps the disk only of what mounts a volume";

/** Whether an instance with this spec can be started again by the driver. */
export const isRepeatable = (again: Again | undefined, { mounts = [] }: InstanceSpec): again is Again =>
  again !== undefined && (again.needsVolume !== true || mounts.length > 0);
