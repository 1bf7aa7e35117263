/** The compute port: programs that run as instances on a machine or in a cluster, each known by an id that its owner chose. */
import type { Duplex } from "node:stream";
import type { ExecSpec, Execution } from "./execution.ts";
import type { Exit } from "./exit.ts";
import type { Membership } from "./groups.ts";
import type { ImageFacts, RegistryCredential } from "./images.ts";
import type { Publish, Published, Publishing } from "./publish.ts";
import type { Stats } from "./stats.ts";
import type { Mount, Volumes } from "./volumes.ts";
import type { DiskWriters } from "./writers.ts";

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
  /** Ports that anybody reaches at the machine's addresses. Only with `capabilities.publish`; else the start is refused. */
  publish?: readonly Publish[];
  /** Of volumes that are there, and only with `capabilities.volumes`; else the start is refused. */
  mounts?: readonly Mount[];
  /** Only with `capabilities.groups`; else the start is refused. */
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

export interface Capabilities {
  freeze: boolean;
  /** Each instance has a network of its own; without it two instances cannot listen on the same port. */
  ownNetwork: boolean;
  /** Programs see nothing of the machine but what is theirs. */
  sandbox: boolean;
  /** What `limits` names is enforced; without it an instance may take what it finds. */
  limits: boolean;
  /** Programs can be given volumes. */
  volumes: boolean;
  /** Programs cannot write more to a volume than its size; without it what they wrote is told, and nothing stops them. */
  volumeSizes: boolean;
  /** An instance that is started again gets the variables of that boot; without it those of its first. */
  freshEnv: boolean;
  /** There is storage for volumes that other machines have too. */
  sharedVolumes: boolean;
  /** Instances can be members of a group, in which they reach each other by address and name, and which nobody else reaches. */
  groups: boolean;
  /** More programs can be run inside an instance. */
  exec: boolean;
  /** It is known what an instance uses. */
  stats: boolean;
  /** Ports can be published. */
  publish: boolean;
}

/** Disposing lets go of the machine and ends nothing on it: the next process finds every instance by `list`. */
export interface Compute extends AsyncDisposable {
  readonly capabilities: Capabilities;
  /** The host name or address under which this driver's instances reach the server's worker link. */
  readonly linkHost: string;

  /** In all, whatever of it is in use. */
  capacity(): Promise<Box[]>;
  readonly volumes: Volumes;
  readonly writers: DiskWriters;
  /** Where ports of instances of this image are published. */
  publishing(image: string): Publishing;
  /** What a member of a group with this image sees its group's network as. */
  groupInterface(image: string): string;
  /** What is known of images. Who may run one is decided above. */
  readonly images: ImageFacts;
  /** Brings an exact image to where it will run, telling its progress. Nothing to do when one of that name is there. Throws StartRefused. */
  prepare(image: string, progress: (line: string) => void, credential?: RegistryCredential): Promise<void>;
  /**
   * Idempotent by id: a second start of an instance that runs or has ended changes nothing. Throws StartRefused, and then nothing of it
   * remains; also when not as many GPUs are free as it asks for.
   */
  start(id: string, spec: InstanceSpec): Promise<Instance>;
  /**
   * Starts the program of an instance that has ended once more: the same id, command and place, on what it wrote to its own disk, after what
   * it wrote to its log. `spec` is that of its start, with the variables of this boot where `capabilities.freshEnv`; else it gets those of
   * its first. One that runs is left alone. Throws StartRefused when nothing of it is left, or what it held is taken; it then stays
   * ended as it was. Of workers, whose disk may be in memory, nothing but the id and the log is promised.
   */
  again(id: string, spec: InstanceSpec): Promise<Instance>;
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
  /** Stops the program where it is, without telling it. Only with `capabilities.freeze`. */
  freeze(id: string): Promise<void>;
  thaw(id: string): Promise<void>;
  /** Runs one more program inside an instance that runs. Throws ExecRefused. Only with `capabilities.exec`. */
  exec(id: string, spec: ExecSpec): Promise<Execution>;
  /** What an instance uses; undefined when it has ended or never was. Cheap enough to be asked for each second. */
  stats(id: string): Promise<Stats | undefined>;
}
