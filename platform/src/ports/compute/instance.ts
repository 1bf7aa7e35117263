/** An instance: what is asked for, and what is told of it. */
import type { Exit } from "./exit.ts";
import type { Membership } from "./groups.ts";
import type { RegistryCredential } from "./images.ts";
import type { Publish, Published } from "./publish.ts";
import type { StartRefused } from "./refusal.ts";
import type { Mount } from "./volumes.ts";

/** Workers end with the server that runs them; Pods and members of clusters stay. */
export type InstanceKind = "worker" | "pod" | "member";

export interface InstanceSpec {
  kind: InstanceKind;
  account: string;
  /** The endpoint or Pod that it runs for. */
  owner: string;
  /** `host:/abs/dir`, or the reference of a container image. */
  image: string;
  /** What opens the registry of the image, for a driver that brings images by itself. */
  credential?: RegistryCredential | undefined;
  entrypoint: readonly string[];
  cmd: readonly string[];
  /** Complete and resolved: the driver adds only what the program's place needs, such as `PATH`. */
  env: Readonly<Record<string, string>>;
  limits: InstanceLimits;
  /** GPUs that are this instance's alone; which devices they are is the driver's choice. */
  gpu?: GpuWish;
  /** The box of `capacity()` that it was given room on; a driver of a single box needs none. */
  box?: string;
  /** Ports that `dial` may reach. */
  ports: readonly number[];
  /** Ports that anybody reaches at the machine's addresses, where the driver has `publishing`. */
  publish?: readonly Publish[];
  /** Of volumes that are there, where the driver has `volumes`. */
  mounts?: readonly Mount[];
  /** Where the driver has `networks`. */
  group?: Membership;
}

export interface InstanceLimits {
  vcpu: number;
  memoryMb: number;
  diskGb: number;
}

/**
 * pending: the driver has accepted it and not begun: it looks for room, or brings the image. refused: it accepted it, and will never begin it.
 * Drivers that know at once what there is room for have neither: their starts resolve with a program that runs, or are refused.
 */
export type InstanceState = "pending" | "running" | "frozen" | "exited" | "refused";

export interface Instance {
  id: string;
  kind: InstanceKind;
  owner: string;
  state: InstanceState;
  /** When its program was begun; while it is pending or refused, when it was accepted. */
  startedAt: number;
  /** Of one that is pending: what it waits for, in words for people. */
  waitsFor?: string;
  /**
   * Of one that is refused: what its start would have been refused with, had it been known then. It stays refused until it is removed; one that
   * was to be started again is told as refused, and has ended as before.
   */
  refusal?: StartRefused;
  /** Where the other members of its group reach it, while it runs. */
  address?: string;
  exit?: Exit;
  /** GPUs that it holds, by the names that the driver has for them; absent where it has none or the driver cannot tell. */
  devices?: readonly string[];
  /** Where what it publishes is reached: the same for as long as it has not ended. Absent when it publishes nothing. */
  published?: readonly Published[];
}

/** So many GPUs of one type, as the catalog names it. */
export interface GpuWish {
  type: string;
  count: number;
}
