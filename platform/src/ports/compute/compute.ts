/** The compute port: programs that run as instances on a machine or in a cluster. The owner of each instance chooses its id. */
import type { Duplex } from "node:stream";
import type { Abilities, Lacks } from "./abilities.ts";
import type { ImageFacts } from "./images.ts";
import type { GpuWish, Instance, InstanceSpec } from "./instance.ts";

export type { Exit } from "./exit.ts";

export type { RegistryCredential } from "./images.ts";
export type { GpuWish, Instance, InstanceKind, InstanceLimits, InstanceSpec, InstanceState } from "./instance.ts";
export { DriverAway, PlaceGone, StartRefused, unlessAway } from "./refusal.ts";
export type { Mount } from "./volumes.ts";

/** One GPU, for drivers that assign single devices. */
export interface Gpu {
  /** The driver's own name for it. */
  id: string;
  /** Its type, as the catalog names it. */
  type: string;
  virtual: boolean;
}

/** GPUs of one type in a box. */
export interface GpuStock extends GpuWish {
  virtual: boolean;
}

/** What instances run on: a machine that stands alone, or a machine of a cluster. */
export interface Box {
  id: string;
  vcpu: number;
  memoryMb: number;
  diskGb: number;
  gpus: readonly GpuStock[];
  /** True when limits only cap each instance: what one instance uses is not taken from another. */
  ceilings: boolean;
  /** The newest CUDA version that the box's driver supports, such as `12.8`. Absent without GPUs, or if it is unknown. */
  cuda?: string;
}

/** The id of the box, for drivers that have only one. */
export const ONLY_BOX = "machine";

/** In bytes. The limit bounds the memory that one endless line can take. */
export const LONGEST_LINE = 65_536;

/** Text that a program wrote, split at line ends. A line longer than `LONGEST_LINE` arrives as several lines. */
export interface Output {
  lines: readonly string[];
  /** How many bytes before these lines were dropped, because the driver keeps only a limited amount of unread output. */
  lost?: number;
  /** The position after these lines. Reading can continue from it, even after a restart. */
  at: string;
}

/** Why a driver cannot be asked. */
export interface Absence {
  why: string;
  /** There is nothing that could come back, such as an engine that was never installed. */
  isNone: boolean;
}

/** Facts that hold for all instances of a driver. */
export interface Facts {
  /** Each instance has a network of its own. Without this, two instances cannot listen on the same port. */
  ownNetwork: boolean;
  /** Programs see only their own part of the machine. */
  sandbox: boolean;
  /** The driver enforces `limits`. Without this, an instance may use everything it finds. */
  limits: boolean;
}

/** Disposing releases the machine and ends nothing on it: the next process finds every instance by `list`. */
export interface Compute extends Abilities, AsyncDisposable {
  readonly facts: Facts;
  readonly lacks?: Lacks | undefined;

  /** Returns the total capacity, including what is in use. */
  capacity(): Promise<Box[]>;
  /** What is known about images. Rules above this port decide who may run one. */
  readonly images: ImageFacts;
  /**
   * Starts an instance. Idempotent by id: a second start of an instance that is pending, running or ended changes nothing. A driver may
   * accept a start before it knows whether there is room. The start then resolves as pending, and watchers learn the outcome. Throws
   * StartRefused, and nothing of the instance remains; this includes too few free GPUs, and specs that need an ability the driver lacks.
   * Throws PlaceGone when its box is gone.
   */
  start(id: string, spec: InstanceSpec): Promise<Instance>;
  /** Asks the program to end, and kills it after the grace period. Resolves when it has ended. Unknown or ended instances are no error. */
  stop(id: string, graceMs: number): Promise<void>;
  /** Ends the instance at once if it still runs, and leaves nothing of it: no process, no file, no name. Unknown instances are no error. */
  remove(id: string): Promise<void>;
  /**
   * Returns every instance that was started and not removed, by this process or an earlier one. With an image, it may leave out those that
   * could not have this image.
   */
  list(image?: string): Promise<Instance[]>;
  /** Why the driver of this image cannot be asked now, so that nobody knows what it has. Undefined if it can. By default a driver always can. */
  whyAway?(image: string): Promise<Absence | undefined>;
  /** Reports every state change of an instance, its exit above all, but not its removal. Returns a function that stops this. */
  watch(listener: (instance: Instance) => void): () => void;
  /** Yields what the program wrote after `after`, and then what it writes, until it has ended and all is read, or `signal` aborts. */
  logs(id: string, options: { after?: string; signal: AbortSignal }): AsyncIterable<Output>;
  /**
   * Connects to a port inside the instance. This and `loopback` are the only ways in. Rejects when nothing listens there, or when the
   * instance does not name the port.
   */
  dial(id: string, port: number): Promise<Duplex>;
}
