/** The ability to start the program of an ended instance once more, with what it wrote to its own disk. */
import type { Instance, InstanceSpec } from "./instance.ts";

export interface Again {
  /** True when the program gets the variables of this boot. Otherwise it gets those of its first boot. */
  readonly freshEnv: boolean;
  /** Only instances that mount a volume can be started again. What other instances wrote is lost when they end. */
  readonly needsVolume?: boolean;
  /**
   * Starts the instance again with the same id, command and place; its log continues. `spec` is the one of its first start, with the
   * variables of this boot. A running instance is left alone. Throws StartRefused when nothing of it is left, or when what it held is
   * taken; the instance then stays ended. For workers, whose disk may be in memory, only the id and the log are guaranteed.
   */
  start(id: string, spec: InstanceSpec): Promise<Instance>;
}

export const NEEDS_VOLUME = "this driver keeps the disk only of what mounts a volume";

/** Whether the driver can start an instance with this spec again. */
export const isRepeatable = (again: Again | undefined, { mounts = [] }: InstanceSpec): again is Again =>
  again !== undefined && (again.needsVolume !== true || mounts.length > 0);
