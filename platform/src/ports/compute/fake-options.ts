/** The options of the fake driver: what its machine has, what the driver can do, and what programs do there. */
import type { Ability } from "./abilities.ts";
import { type Box, type Facts, type Gpu, type InstanceSpec, ONLY_BOX } from "./compute.ts";
import type { FakeInstance } from "./fake-instance.ts";
import type { FakeNetworkBook, FakeWire } from "./fake-networks.ts";
import type { FakeRegistry } from "./fake-registry.ts";
import type { FakeStorage, FakeVolumes } from "./fake-volumes.ts";
import type { Bringing } from "./images.ts";
import type { PortRange } from "./publish.ts";
import type { Spanning } from "./spans.ts";

/** What programs do when they are started. It is called once for each, and may act on the instance later too. */
export type Behaviour = (instance: FakeInstance, spec: InstanceSpec) => void;

/** What the driver can do. By default it has all abilities and facts, see `CAN`. */
export type FakeCan = Record<Ability | keyof Facts | "volumeSizes" | "freshEnv" | "execSignals", boolean> & {
  sharedVolumes: boolean;
  /** Whether an instance must mount a volume to be started again. */
  needsVolume: boolean;
};

export const CAN: FakeCan = {
  preparing: true,
  freezing: true,
  again: true,
  networks: true,
  exec: true,
  loopback: true,
  stats: true,
  publishing: true,
  volumes: true,
  writers: true,
  link: true,
  ownNetwork: true,
  sandbox: true,
  limits: true,
  volumeSizes: true,
  freshEnv: true,
  execSignals: true,
  sharedVolumes: false,
  needsVolume: false,
};

export interface FakeOptions {
  /** The capacity of its only box, or several boxes. */
  capacity?: Partial<Box> | readonly Box[];
  can?: Partial<FakeCan>;
  linkHost?: string;
  behaviour?: Behaviour;
  /** The driver plays a cluster: it accepts starts, fetches images itself, and begins programs later. */
  isCluster?: boolean;
  registry?: FakeRegistry;
  /** Resolves when an image has arrived on the machine. By default it is there at once. */
  pulling?: (bringing: Bringing) => Promise<void>;
  /** What volumes hold. Machines with shared storage get the same object. */
  storage?: FakeStorage;
  /** The networks that an earlier process left. */
  networks?: FakeNetworkBook;
  /** How networks reach from this machine to others. */
  spanning?: Spanning;
  wire?: FakeWire;
  /** Addresses of members: from a range per network, known before they run, or from the box in which they begin, as in a cluster. */
  addresses?: "of a range" | "of boxes";
  /** The volumes of a machine with several drivers, instead of the driver's own. */
  volumes?: FakeVolumes;
  publishedPorts?: PortRange;
}

/** A program that writes these lines, and exits this long after its start. */
export function exitsAfter(afterMs: number, code = 0, lines: readonly string[] = []): Behaviour {
  return (instance) => {
    instance.write(...lines.map((line) => `${line}\n`));
    instance.after(afterMs, () => instance.exit({ code }));
  };
}

export function boxesOf(capacity: FakeOptions["capacity"] = {}): Box[] {
  if (Array.isArray(capacity)) return [...capacity];
  const box = { id: ONLY_BOX, vcpu: 64, memoryMb: 262_144, diskGb: 1_000, gpus: [], ceilings: false };
  return [{ ...box, ...(capacity as Partial<Box>) }];
}

export const devicesOf = (box: Box): Gpu[] =>
  box.gpus.flatMap(({ type, count, virtual }) =>
    Array.from({ length: count }, (_, n) => ({ id: `${box.id}/${type}/${n}`, type, virtual })),
  );

/** The calls that can be made to fail. */
export type Verb =
  | "capacity"
  | "prepare"
  | "start"
  | "again"
  | "stop"
  | "remove"
  | "list"
  | "dial"
  | "freeze"
  | "thaw"
  | "exec"
  | "reserve"
  | "stats";
