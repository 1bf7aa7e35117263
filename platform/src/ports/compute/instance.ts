/** An instance: what a caller asks for, and what the driver reports about it. */
import type { Exit } from "./exit.ts";
import type { Membership } from "./groups.ts";
import type { RegistryCredential } from "./images.ts";
import type { Publish, Published } from "./publish.ts";
import type { StartRefused } from "./refusal.ts";
import type { Mount } from "./volumes.ts";

/** Workers end with their server. Pods and members of clusters stay. */
export type InstanceKind = "worker" | "pod" | "member";

export interface InstanceSpec {
  kind: InstanceKind;
  account: string;
  /** The endpoint or Pod that it runs for. */
  owner: string;
  /** `host:/abs/dir`, or the reference of a container image. */
  image: string;
  /** The login for the image's registry, for a driver that fetches images by itself. */
  credential?: RegistryCredential | undefined;
  entrypoint: readonly string[];
  cmd: readonly string[];
  /** Complete and resolved. The driver adds only what the program's surroundings need, such as `PATH`. */
  env: Readonly<Record<string, string>>;
  limits: InstanceLimits;
  /** GPUs that only this instance uses. The driver chooses the devices. */
  gpu?: GpuWish;
  /** The box of `capacity()` in which it was given room. A driver with a single box needs none. */
  box?: string;
  /** The ports that `dial` may reach. */
  ports: readonly number[];
  /** Ports that anyone can reach at the machine's addresses, if the driver has `publishing`. */
  publish?: readonly Publish[];
  /** Mounts of existing volumes, if the driver has `volumes`. */
  mounts?: readonly Mount[];
  /** Its group, if the driver has `networks`. */
  group?: Membership;
}

export interface InstanceLimits {
  vcpu: number;
  memoryMb: number;
  diskGb: number;
}

/**
 * pending: the driver has accepted the instance but not begun it; it looks for room or fetches the image. refused: the driver accepted it,
 * and will never begin it. A driver that knows at once what there is room for uses neither: its starts resolve with a running program, or
 * are refused.
 */
export type InstanceState = "pending" | "running" | "frozen" | "exited" | "refused";

export interface Instance {
  id: string;
  kind: InstanceKind;
  owner: string;
  state: InstanceState;
  /** When its program began. While it is pending or refused, when it was accepted. */
  startedAt: number;
  /** What a pending instance waits for, in words for people. */
  waitsFor?: string;
  /**
   * Why an accepted instance was refused: the error that its start would have thrown, had the driver known it then. It stays refused until
   * it is removed. An instance that was to be started again is reported as refused once, and stays ended.
   */
  refusal?: StartRefused;
  /** Where the other members of its group reach it while it runs. */
  address?: string;
  exit?: Exit;
  /** The GPUs that it holds, by the driver's names. Absent if it has none, or if the driver cannot tell. */
  devices?: readonly string[];
  /** Where its published ports are reached. It stays the same until the instance ends. Absent when it publishes nothing. */
  published?: readonly Published[];
}

/** A number of GPUs of one type, as the catalog names it. */
export interface GpuWish {
  type: string;
  count: number;
}
