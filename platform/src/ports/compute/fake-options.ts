/** What the fake driver is told: what its machine has, what it can, and what programs do there. */
import type { Ability } from "./abilities.ts";
import { type Box, type Facts, type Gpu, type InstanceSpec, ONLY_BOX } from "./compute.ts";
import type { FakeInstance } from "./fake-instance.ts";
import type { FakeNetworkBook } from "./fake-networks.ts";
import type { FakeRegistry } from "./fake-registry.ts";
import type { FakeStorage, FakeVolumes } from "./fake-volumes.ts";
import type { PortRange } from "./publish.ts";

/** What programs do when they are started: called once for each, and free to act on the instance later too. */
export type Behaviour = (instance: FakeInstance, spec: InstanceSpec) => void;

/** What it can and how it is: all of it, unless something else is said. */
export type FakeCan = Record<Ability | keyof Facts | "volumeSizes" | "freshEnv" | "execSignals", boolean> & {
  sharedVolumes: boolean;
  /** What it starts again must mount a volume. */
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
  /** Of its only box, or of several. */
  capacity?: Partial<Box> | readonly Box[];
  can?: Partial<FakeCan>;
  linkHost?: string;
  behaviour?: Behaviour;
  /** It plays a cluster: it accepts starts, brings images by itself, and begins programs later. */
  isCluster?: boolean;
  registry?: FakeRegistry;
  /** What volumes hold; machines with shared storage have the same. */
  storage?: FakeStorage;
  /** What is known of networks from a process before. */
  networks?: FakeNetworkBook;
  /** Of members: of a range for each network, told before they run, or of the boxes that they are begun in, as a cluster has them. */
  addresses?: "of a range" | "of boxes";
  /** Those of a machine that has several drivers, in place of its own. */
  volumes?: FakeVolumes;
  publishedPorts?: PortRange;
}

/** A program that writes these lines and exits this long after its start. */
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

/** What can be made to fail. */
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
