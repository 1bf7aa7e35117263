/** The compute port: programs that run as instances on a machine or in a cluster, each known by an id that its owner chose. */
import type { Duplex } from "node:stream";
import type { Abilities, Lacks } from "./abilities.ts";
import type { ImageFacts } from "./images.ts";
import type { GpuWish, Instance, InstanceSpec } from "./instance.ts";

export type { Exit } from "./exit.ts";

export type { RegistryCredential } from "./images.ts";
export type { GpuWish, Instance, InstanceKind, InstanceLimits, InstanceSpec, InstanceState } from "./instance.ts";
export { PlaceGone, StartRefused } from "./refusal.ts";
export type { Mount } from "./volumes.ts";

/** One device, as drivers that give out devices know it. */
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

/** What instances run on: a machine that stands alone, or one of a cluster's. */
export interface Box {
  id: string;
  vcpu: number;
  memoryMb: number;
  diskGb: number;
  gpus: readonly GpuStock[];
  /** Ceilings hold for each instance alone: what one uses is not taken from another. */
  ceilings: boolean;
  /** The newest CUDA that its driver knows, such as `12.8`; absent without GPUs, and where nobody can tell. */
  cuda?: string;
}

/** The id of the only box of a driver that has one. */
export const ONLY_BOX = "machine";

/** In bytes, so that one line without an end costs no more memory than this. */
export const LONGEST_LINE = 65_536;

/** Text that a program wrote, cut at line ends; a line longer than `LONGEST_LINE` comes as several. */
export interface Output {
  lines: readonly string[];
  /** Bytes before these lines that nobody read in time: there is a limit to what is kept. */
  lost?: number;
  /** Where to go on reading after these lines, also after a restart. */
  at: string;
}

/** What is so of all instances of a driver. */
export interface Facts {
  /** Each instance has a network of its own; without it two instances cannot listen on the same port. */
  ownNetwork: boolean;
  /** Programs see nothing of the machine but what is theirs. */
  sandbox: boolean;
  /** What `limits` names is enforced; without it an instance may take what it finds. */
  limits: boolean;
}

/** Disposing lets go of the machine and ends nothing on it: the next process finds every instance by `list`. */
export interface Compute extends Abilities, AsyncDisposable {
  readonly facts: Facts;
  readonly lacks?: Lacks | undefined;

  /** In all, whatever of it is in use. */
  capacity(): Promise<Box[]>;
  /** What is known of images. Who may run one is decided above. */
  readonly images: ImageFacts;
  /**
   * Idempotent by id: a second start of an instance that is pending, runs or has ended changes nothing. A driver may accept one before it knows
   * whether there is room: it resolves as pending then, and what becomes of it is told to watchers. Throws StartRefused, and then nothing of it
   * remains; PlaceGone where its box is gone; also when not as many GPUs are free as it asks for, or it asks for what needs an ability that the driver lacks.
   */
  start(id: string, spec: InstanceSpec): Promise<Instance>;
  /** Asks the program to end, and ends it after the grace. Resolves when it has ended; unknown and ended ones are no error. */
  stop(id: string, graceMs: number): Promise<void>;
  /** Ends it at once if it still runs and leaves nothing of it: no process, no file, no name. Unknown ones are no error. */
  remove(id: string): Promise<void>;
  /** Every instance that was started and not removed, by this process or one before it. */
  list(): Promise<Instance[]>;
  /** Tells of every change of an instance's state, its exit above all, but not of its removal. Returns how to stop listening. */
  watch(listener: (instance: Instance) => void): () => void;
  /** What the program wrote after `after`, then what it goes on to write, until it has ended and all is read or `signal` aborts. */
  logs(id: string, options: { after?: string; signal: AbortSignal }): AsyncIterable<Output>;
  /** A connection to a port inside the instance; the only way in beside `loopback`. Rejects when nobody listens there or the port is not its own. */
  dial(id: string, port: number): Promise<Duplex>;
}
