/** A compute driver in memory that does what it is told, failures included, for tests and for trying things out without a machine. */
import type { Duplex } from "node:stream";
import type { Clock } from "../../kernel/clock.ts";
import {
  type Box,
  type Capabilities,
  type Compute,
  type Gpu,
  type Instance,
  type InstanceSpec,
  ONLY_BOX,
  type Output,
  StartRefused,
} from "./compute.ts";
import { Devices } from "./devices.ts";
import { checkExec, type ExecSpec, type Execution, Executions } from "./execution.ts";
import { chooseAddress, reachedIn } from "./fake-groups.ts";
import { FakeInstance } from "./fake-instance.ts";
import { FakeRegistry } from "./fake-registry.ts";
import { type FakeStorage, FakeVolumes } from "./fake-volumes.ts";
import { parseReference } from "./image-reference.ts";
import type { ImageFacts } from "./images.ts";
import {
  asBefore,
  checkPublish,
  choosePorts,
  type PortRange,
  PUBLISHED_PORTS,
  type Publish,
  type Published,
  type Publishing,
} from "./publish.ts";
import { ExecRefused, nothingLeft } from "./refusal.ts";
import type { Stats } from "./stats.ts";
import type { DiskWriters } from "./writers.ts";

/** What programs do when they are started: called once for each, and free to act on the instance later too. */
export type Behaviour = (instance: FakeInstance, spec: InstanceSpec) => void;

export interface FakeOptions {
  /** Of its only box, or of several. */
  capacity?: Partial<Box> | readonly Box[];
  capabilities?: Partial<Capabilities>;
  linkHost?: string;
  behaviour?: Behaviour;
  registry?: FakeRegistry;
  /** What volumes hold; drivers of one machine share it. */
  storage?: FakeStorage;
  publishedPorts?: PortRange;
}

/** A program that writes these lines and exits this long after its start. */
export function exitsAfter(afterMs: number, code = 0, lines: readonly string[] = []): Behaviour {
  return (instance) => {
    instance.write(...lines.map((line) => `${line}\n`));
    instance.after(afterMs, () => instance.exit({ code }));
  };
}

type Verb =
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
  | "stats";

export class FakeCompute implements Compute {
  readonly capabilities: Capabilities;
  readonly linkHost: string;
  /** Images that a test put there are its own; every other name is one of the operator's. */
  readonly registry: FakeRegistry;
  readonly volumes: FakeVolumes;
  /** Pods, with what they keep on their disks. */
  readonly writers: DiskWriters = {
    list: async () => this.#running().flatMap((instance) => instance.asWriter()),
    end: async (id, reason) => this.#instances.get(id)?.endFor(reason),
  };
  readonly images: ImageFacts = {
    originOf: async (image) => (this.registry.has(parseReference(image)) ? "registry" : "operator"),
    lookUp: (image, lookup) => this.registry.lookUp(image, lookup),
  };
  /** What every start from now on does; stays until it is asked to end when nothing is said. */
  behaviour: Behaviour;
  /** How long a start takes. */
  startMs = 0;
  /** Ports of the machine that somebody else has. */
  readonly strangers = new Set<number>();
  /** Ranges of addresses that somebody else has. */
  readonly usedRanges = new Set<string>();
  /** While true, a stop never resolves: the program neither ends nor can be ended. */
  hangsOnStop = false;

  readonly #storage: FakeStorage;
  readonly #publishedPorts: PortRange;
  readonly #clock: Clock;
  #boxes: Box[];
  #devices: Devices;
  readonly #instances: Map<string, FakeInstance>;
  readonly #starting = new Map<string, Promise<Instance>>();
  readonly #listeners = new Set<(instance: Instance) => void>();
  readonly #executions = new Executions();
  readonly #failures = new Map<Verb, Error>();
  #refusal: ((image: string, spec?: InstanceSpec) => string | undefined) | undefined;

  constructor(clock: Clock, options: FakeOptions = {}, instances = new Map<string, FakeInstance>()) {
    this.#clock = clock;
    this.capabilities = {
      freeze: true,
      ownNetwork: true,
      sandbox: true,
      limits: true,
      volumes: true,
      volumeSizes: true,
      sharedVolumes: false,
      freshEnv: true,
      groups: true,
      exec: true,
      stats: true,
      publish: true,
      ...options.capabilities,
    };
    this.linkHost = options.linkHost ?? "127.0.0.1";
    this.behaviour = options.behaviour ?? (() => {});
    this.registry = options.registry ?? new FakeRegistry();
    this.#boxes = boxesOf(options.capacity);
    this.#instances = instances;
    this.#devices = this.#newDevices();
    this.#storage = options.storage ?? new Map();
    this.#publishedPorts = options.publishedPorts ?? PUBLISHED_PORTS;
    this.volumes = new FakeVolumes(this.#storage, this.capabilities, async (id) => this.#usersOf(id));
    for (const instance of instances.values()) instance.changed = () => this.#tell(instance);
  }

  /** Every start and preparation from now on is refused with this reason, or those for which the function gives one. */
  refuse(reason: string | ((image: string, spec?: InstanceSpec) => string | undefined) | undefined): void {
    this.#refusal = typeof reason === "string" ? () => reason : reason;
  }

  /** Every call of this verb from now on fails with an error that says nothing about the instance; undefined ends that. */
  fail(verb: Verb, error: Error | undefined): void {
    if (error) this.#failures.set(verb, error);
    else this.#failures.delete(verb);
  }

  /** What the machine has from now on. Instances that run keep what they have. */
  resize(capacity: Partial<Box>): void {
    this.#boxes = this.#boxes.map((box) => ({ ...box, ...capacity }));
    this.#devices = this.#newDevices();
  }

  /** The program of an instance: what it writes, where it listens and how it ends. Throws when there is none. */
  instance(id: string): FakeInstance {
    const instance = this.#instances.get(id);
    if (!instance) throw new Error(`no instance ${id}`);
    return instance;
  }

  /** The instance is gone as after a crash of its machine: nobody is told, and the list does not know it. */
  lose(id: string): void {
    this.#instances.get(id)?.end();
    this.#instances.delete(id);
  }

  /** The driver of the server's next process, on the same machine. */
  restarted(options: FakeOptions = {}): FakeCompute {
    const { capabilities, linkHost, behaviour, registry } = this;
    return new FakeCompute(
      this.#clock,
      {
        ...{ capacity: this.#boxes, capabilities, linkHost, behaviour, registry },
        ...{ storage: this.#storage, publishedPorts: this.#publishedPorts, ...options },
      },
      this.#instances,
    );
  }

  async capacity(): Promise<Box[]> {
    this.#mayFail("capacity");
    return this.#boxes.map((box) => ({ ...box }));
  }

  async prepare(image: string, _progress: (line: string) => void): Promise<void> {
    this.#mayFail("prepare");
    const reason = this.#refusal?.(image) ?? this.registry.bring(image);
    if (reason !== undefined) throw new StartRefused(reason);
  }

  async start(id: string, spec: InstanceSpec): Promise<Instance> {
    this.#mayFail("start");
    const known = this.#instances.get(id);
    if (known) return known.view();
    const starting = this.#starting.get(id) ?? this.#begin(id, spec).finally(() => this.#starting.delete(id));
    this.#starting.set(id, starting);
    return starting;
  }

  async again(id: string, spec: InstanceSpec): Promise<Instance> {
    this.#mayFail("again");
    const before = this.#instances.get(id);
    if (!before) throw new StartRefused(nothingLeft(id));
    if (!before.exited) return before.view();
    const starting = this.#starting.get(id) ?? this.#begin(id, spec, before).finally(() => this.#starting.delete(id));
    this.#starting.set(id, starting);
    return starting;
  }

  async #begin(id: string, spec: InstanceSpec, before?: FakeInstance): Promise<Instance> {
    const reason = this.#refusal?.(spec.image, spec) ?? this.registry.whyNotHere(spec.image);
    if (reason !== undefined) throw new StartRefused(reason);
    if (this.startMs > 0) await new Promise<void>((resolve) => this.#clock.after(this.startMs, resolve));
    this.#checkBox(spec);
    this.#checkPorts(spec);
    this.volumes.checkMounts(spec.mounts);
    return this.#devices.give(id, spec.gpu, async (gpus) => this.#run(id, spec, gpus, before));
  }

  #run(id: string, spec: InstanceSpec, gpus: readonly Gpu[], before?: FakeInstance): Instance {
    const others = this.#members().filter((one) => one !== before);
    const address =
      spec.group && (before?.address ?? chooseAddress(spec, others, this.usedRanges, this.capabilities.groups));
    const published = this.#publish(asBefore(spec.publish, before?.published));
    const instance = new FakeInstance(id, spec, this.#clock, { gpus, address, published, before });
    instance.changed = () => this.#tell(instance);
    this.#instances.set(id, instance);
    this.#tell(instance);
    this.behaviour(instance, spec);
    return instance.view();
  }

  #members(): FakeInstance[] {
    return [...this.#instances.values()].filter(({ spec }) => spec.group);
  }

  /** Whether a program of this instance reaches a member of its group, by address or name, that listens there. */
  reaches(from: FakeInstance, host: string, port: number): boolean {
    return reachedIn(from, this.#members(), host)?.isListening(port) ?? false;
  }

  groupInterface(): string {
    return "ens1";
  }

  #usersOf(volume: string): string[] {
    const users = this.#running().filter(({ spec }) => spec.mounts?.some((mount) => mount.volume === volume));
    return users.map(({ id }) => id);
  }

  #checkBox({ box }: InstanceSpec): void {
    if (box !== undefined && !this.#boxes.some(({ id }) => id === box))
      throw new StartRefused(`there is no box ${box}`);
  }

  /** Devices of all boxes; those of one box cannot be told from another's here, where nothing is held but numbers. */
  #newDevices(): Devices {
    const devices = new Devices(this.#boxes.flatMap(devicesOf));
    devices.heldBy(async () => this.#running().flatMap((instance) => instance.devices));
    return devices;
  }

  #checkPorts({ ports }: InstanceSpec): void {
    if (this.capabilities.ownNetwork) return;
    const taken = this.#running().flatMap(({ spec }) => spec.ports);
    const port = ports.find((one) => taken.includes(one));
    if (port !== undefined) throw new StartRefused(`port ${port} is in use by another instance`);
  }

  #publish(publish: readonly Publish[]): readonly Published[] {
    const publishing = this.publishing();
    checkPublish(publish, publishing);
    const used = this.#running().flatMap(({ published }) => published.map(({ outside }) => outside));
    const taken = new Set([...used, ...this.strangers]);
    return choosePorts(publish, this.#publishedPorts, { taken, from: 0 });
  }

  publishing(): Publishing {
    return this.capabilities.publish ? { range: this.#publishedPorts } : { cannot: "this driver does not do it" };
  }

  /** A connection from outside to a port of the machine. Rejects when none of its instances is reached there. */
  async reach(outside: number): Promise<Duplex> {
    for (const instance of this.#running()) {
      const way = instance.published.find((one) => one.outside === outside);
      if (way) return instance.connect(way.inside);
    }
    throw new Error(`nothing is published at ${outside}`);
  }

  #running(): FakeInstance[] {
    return [...this.#instances.values()].filter(({ exited }) => !exited);
  }

  async stop(id: string, graceMs: number): Promise<void> {
    this.#mayFail("stop");
    const instance = this.#instances.get(id);
    if (!instance || instance.exited) return;
    if (this.hangsOnStop) return new Promise(() => {});
    const timer = this.#clock.after(graceMs, () => instance.exit({ signal: "SIGKILL" }));
    instance.thaw();
    instance.ask();
    await instance.whenExited;
    timer.cancel();
  }

  async remove(id: string): Promise<void> {
    this.#mayFail("remove");
    await this.#starting.get(id)?.catch(() => {});
    const instance = this.#instances.get(id);
    this.#instances.delete(id);
    instance?.exit({ signal: "SIGKILL" });
    instance?.end();
  }

  async list(): Promise<Instance[]> {
    this.#mayFail("list");
    return [...this.#instances.values()].map((instance) => instance.view());
  }

  watch(listener: (instance: Instance) => void): () => void {
    // A function of its own, so that one that listens twice is called twice.
    const own = (instance: Instance) => listener(instance);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  logs(id: string, options: { after?: string; signal: AbortSignal }): AsyncIterable<Output> {
    return this.#instances.get(id)?.logs(options) ?? nothing();
  }

  async dial(id: string, port: number): Promise<Duplex> {
    this.#mayFail("dial");
    const instance = this.#instances.get(id);
    if (!instance) throw new Error(`no instance ${id}`);
    return instance.dial(port);
  }

  async freeze(id: string): Promise<void> {
    this.#mayFail("freeze");
    if (!this.capabilities.freeze) throw new Error("this driver cannot freeze");
    this.instance(id).freeze();
  }

  async thaw(id: string): Promise<void> {
    this.#mayFail("thaw");
    this.instance(id).thaw();
  }

  async exec(id: string, spec: ExecSpec): Promise<Execution> {
    this.#mayFail("exec");
    return this.#executions.run(id, async () => {
      checkExec(spec);
      if (!this.capabilities.exec) throw new ExecRefused("this driver runs no further programs");
      const instance = this.#instances.get(id);
      if (!instance) throw new ExecRefused(`no instance ${id}`);
      return instance.exec(spec);
    });
  }

  async stats(id: string): Promise<Stats | undefined> {
    this.#mayFail("stats");
    const instance = this.#instances.get(id);
    if (!this.capabilities.stats || !instance || instance.exited) return undefined;
    return instance.stats(instance.gpus.map(({ id, virtual }) => ({ id, virtual })));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#executions.close();
    this.#listeners.clear();
  }

  #mayFail(verb: Verb): void {
    const error = this.#failures.get(verb);
    if (error) throw error;
  }

  #tell(instance: FakeInstance): void {
    if (!this.#instances.has(instance.id)) return;
    for (const listener of [...this.#listeners]) listener(instance.view());
  }
}

function boxesOf(capacity: FakeOptions["capacity"] = {}): Box[] {
  if (Array.isArray(capacity)) return [...capacity];
  const box = { id: ONLY_BOX, vcpu: 64, memoryMb: 262_144, diskGb: 1_000, gpus: [], ceilings: false };
  return [{ ...box, ...(capacity as Partial<Box>) }];
}

const devicesOf = (box: Box): Gpu[] =>
  box.gpus.flatMap(({ type, count, virtual }) =>
    Array.from({ length: count }, (_, n) => ({ id: `${box.id}/${type}/${n}`, type, virtual })),
  );

async function* nothing(): AsyncIterable<Output> {}
