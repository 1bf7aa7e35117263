/** The compute port: programs that run as instances on a machine or in a cluster, each known by an id that its owner chose. */
import type { Duplex } from "node:stream";
import type { Abilities, Lacks } from "./abilities.ts";
import type { Exit } from "./exit.ts";
import type { Membership } from "./groups.ts";
import type { ImageFacts, RegistryCredential } from "./images.ts";
import type { Publish, Published } from "./publish.ts";
import type { Mount } from "./volumes.ts";

export type { Exit } from "./exit.ts";

export type { RegistryCredential } from "./images.ts";
export { StartRefused } from "./refusal.ts";
export type { Mount } from "./volumes.ts";

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

export type InstanceState = "running" | "frozen" | "exited";

export interface Instance {
  id: string;
  kind: InstanceKind;
  owner: string;
  state: InstanceState;
  startedAt: number;
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
   * Idempotent by id: a second start of an instance that runs or has ended changes nothing. Throws StartRefused, and then nothing of it
   * remains; also when not as many GPUs are free as it asks for, or it asks for what needs an ability that the driver lacks.
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
  /** A connection to a port inside the instance; the only way in. Rejects when nobody listens there or the port is not its own. */
  dial(id: string, port: number): Promise<Duplex>;
}
