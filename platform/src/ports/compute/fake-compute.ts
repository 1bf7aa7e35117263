/** A compute driver in memory that does what a test says, including failures. It also lets people try Millrace without a machine. */
import type { Duplex } from "node:stream";
import type { Clock } from "../../kernel/clock.ts";
import { type Ability, type Lacks, whyLacking } from "./abilities.ts";
import { type Again, isRepeatable, NEEDS_VOLUME } from "./again.ts";
import {
  type Box,
  type Compute,
  type Facts,
  type Gpu,
  type Instance,
  type InstanceSpec,
  type Output,
  StartRefused,
} from "./compute.ts";
import { checkExec, type ExecSpec, type Executing, type Execution, Executions } from "./execution.ts";
import { FakeBoxes } from "./fake-boxes.ts";
import { withoutSignals } from "./fake-execution.ts";
import { FakeInstance } from "./fake-instance.ts";
import { FakeLoopback } from "./fake-loopback.ts";
import { FakeNetworkBook, FakeNetworks } from "./fake-networks.ts";
import { type Behaviour, CAN, type FakeCan, type FakeOptions, type Verb } from "./fake-options.ts";
import { FakePorts } from "./fake-ports.ts";
import { FakeQueue } from "./fake-queue.ts";
import { FakeRegistry } from "./fake-registry.ts";
import { FakeVolumes } from "./fake-volumes.ts";
import type { Freezing } from "./freezing.ts";
import { SHARED_NETWORK } from "./groups.ts";
import { parseReference } from "./image-reference.ts";
import type { Bringing, ImageFacts, Preparing } from "./images.ts";
import type { Link } from "./link.ts";
import { asBefore, PUBLISHED_PORTS, type Publishing } from "./publish.ts";
import { ExecRefused, nothingLeft } from "./refusal.ts";
import type { Metering } from "./stats.ts";
import type { DiskWriters } from "./writers.ts";

export { type Behaviour, exitsAfter, type FakeOptions } from "./fake-options.ts";

type Listener = (instance: Instance) => void;

export class FakeCompute implements Compute {
  readonly facts: Facts;
  readonly lacks: Lacks = { networks: SHARED_NETWORK };
  readonly link: Link | undefined;
  readonly preparing: Preparing | undefined;
  readonly freezing: Freezing | undefined;
  readonly again: Again | undefined;
  readonly networks: FakeNetworks | undefined;
  readonly exec: Executing | undefined;
  readonly loopback: FakeLoopback | undefined;
  readonly stats: Metering | undefined;
  readonly publishing: Publishing | undefined;
  readonly volumes: FakeVolumes | undefined;
  /** Reports Pods and what they keep on their disks. */
  readonly writers: DiskWriters | undefined;
  /** Images that a test put into the registry count as the registry's. All other names count as the operator's. */
  readonly registry: FakeRegistry;
  readonly images: ImageFacts = {
    originOf: async (image) => (this.registry.has(parseReference(image)) ? "registry" : "operator"),
    lookUp: (image, lookup) => this.registry.lookUp(image, lookup),
  };
  /** What every program does that is started from now on. By default it stays until it is asked to end. */
  behaviour: Behaviour;
  /** How long a start takes. */
  startMs = 0;
  /** The ports of the machine. */
  readonly ports: FakePorts;
  /** While true, a stop never resolves: the program neither ends nor can be ended. */
  hangsOnStop = false;
  /** Why the driver cannot be asked now, like one whose engine was not found. It lists nothing meanwhile. */
  away: string | undefined;
  /** While true, a start never resolves and has no effect, as if the server died before it could ask. */
  hangsOnStart = false;

  /** Starts that are accepted but have not begun, if the driver plays a cluster. */
  queue: FakeQueue;
  readonly #isCluster: boolean;
  readonly #can: FakeCan;
  readonly #options: FakeOptions;
  readonly #clock: Clock;
  readonly #boxes: FakeBoxes;
  readonly #instances: Map<string, FakeInstance>;
  readonly #starting = new Map<string, Promise<Instance>>();
  readonly #listeners = new Set<Listener>();
  /** The listeners of all drivers of one cluster. Each driver can be released on its own. */
  #ears = new Set([this.#listeners]);
  readonly #executions = new Executions();
  readonly #failures = new Map<Verb, Error>();
  #refusal: ((image: string, spec?: InstanceSpec) => string | undefined) | undefined;
  #isDead = false;

  constructor(clock: Clock, options: FakeOptions = {}, instances = new Map<string, FakeInstance>()) {
    this.#clock = clock;
    this.#isCluster = options.isCluster ?? false;
    this.#can = { ...CAN, preparing: !this.#isCluster, ...options.can };
    const begin = (id: string, spec: InstanceSpec) => this.#begin(id, spec, this.#instances.get(id));
    const tell = (instance: Instance) => this.#tellAll(instance);
    this.queue = new FakeQueue({ clock, begin, tell, hasEnded: (id) => this.#instances.has(id) });
    const { ownNetwork, sandbox, limits } = this.#can;
    this.facts = { ownNetwork, sandbox, limits };
    this.#options = { storage: new Map(), networks: new FakeNetworkBook(), ...options };
    this.behaviour = options.behaviour ?? (() => {});
    this.registry = options.registry ?? new FakeRegistry();
    this.#instances = instances;
    this.#boxes = new FakeBoxes(options.capacity, async () => this.#running().flatMap(({ devices }) => devices));
    const able = <T>(ability: Ability, made: T): T | undefined => (this.#can[ability] ? made : undefined);
    const { volumeSizes: sizes, sharedVolumes: shared, freshEnv, needsVolume } = this.#can;
    this.link = able("link", { host: options.linkHost ?? "127.0.0.1", open: async () => {} });
    this.preparing = able("preparing", { prepare: (image, _, bringing) => this.#prepare(image, bringing) });
    this.freezing = able("freezing", { freeze: (id) => this.#freeze(id), thaw: (id) => this.#thaw(id) });
    this.again = able("again", { freshEnv, needsVolume, start: (id, spec) => this.#startAgain(id, spec) });
    this.networks = able("networks", this.#makeNetworks());
    this.exec = able("exec", { run: (id, spec) => this.#exec(id, spec) });
    this.loopback = able("loopback", new FakeLoopback(this));
    this.stats = able("stats", { of: (id) => this.#stats(id) });
    const range = options.publishedPorts ?? PUBLISHED_PORTS;
    this.publishing = able("publishing", { rangeFor: () => range });
    const cannotPublish = this.publishing ? undefined : whyLacking(this, "publishing");
    this.ports = new FakePorts({ range, ownNetwork, cannotPublish, running: () => this.#running() });
    const kept = this.#options.storage!;
    this.volumes = able("volumes", options.volumes ?? new FakeVolumes(clock, kept, { sizes, shared }));
    this.volumes?.users.toldBy(async (id) => this.#usersOf(id));
    this.writers = able("writers", {
      list: async () => this.#running().flatMap((instance) => instance.asWriter()),
      end: async (id, reason) => this.#instances.get(id)?.endFor(reason),
    });
    for (const instance of instances.values()) instance.changed = () => this.#tell(instance);
  }

  #makeNetworks(): FakeNetworks {
    const { networks, addresses = this.#isCluster ? "of boxes" : "of a range" } = this.#options;
    return new FakeNetworks({
      book: networks!,
      spanning: this.#options.spanning,
      wire: this.#options.wire,
      byName: addresses === "of boxes",
      members: () => [...this.#instances.values()].filter(({ spec }) => spec.group),
      mayFail: () => this.#mayFail("reserve"),
    });
  }

  /** Refuses every start and preparation from now on with this reason, or those for which the function returns one. */
  refuse(reason: string | ((image: string, spec?: InstanceSpec) => string | undefined) | undefined): void {
    this.#refusal = typeof reason === "string" ? () => reason : reason;
  }

  /** Makes every call of this verb fail with this error, which says nothing about the instance. Undefined ends that. */
  fail(verb: Verb, error: Error | undefined): void {
    if (error) this.#failures.set(verb, error);
    else this.#failures.delete(verb);
  }

  /** Changes what the machine, or its first box, has. Running instances keep what they have. */
  resize(capacity: Partial<Box>): void {
    this.#boxes.resize(capacity);
  }

  /**
   * Returns an instance, so that a test can play its program: what it writes, where it listens and how it ends. Throws when there is none.
   */
  instance(id: string): FakeInstance {
    const instance = this.#instances.get(id);
    if (!instance) throw new Error(`no instance ${id}`);
    return instance;
  }

  /** Removes the instance as a crash of its machine would: nobody is told, and the list does not show it. */
  lose(id: string): void {
    this.#instances.get(id)?.end();
    this.#instances.delete(id);
  }

  /** Takes the instance's place from it, as the cluster or something more important would. */
  evict(id: string, reason: string): void {
    this.instance(id).exit({ signal: "SIGKILL", isLost: true, reason });
  }

  /** Loses one of its boxes, with everything that ran there. */
  loseBox(box: string): void {
    this.#boxes.lose(box);
    for (const instance of this.#running())
      if (instance.spec.box === box) this.evict(instance.id, `box ${box} is lost`);
  }

  /** Removes one of its boxes, and what ran there, from all lists. No end is reported. */
  vanish(box: string): void {
    this.#boxes.lose(box);
    for (const instance of this.#running()) if (instance.spec.box === box) this.lose(instance.id);
  }

  /** Returns the driver of another node that uses the same cluster at the same time. */
  peer(): FakeCompute {
    const next = this.#next({});
    next.#ears = this.#ears.add(next.#listeners);
    next.queue = this.queue;
    return next;
  }

  /**
   * Plays the end of the driver's process. A start that has not begun its program by now never does: no real driver leaves anything behind
   * that could begin a program later and that the next process does not find.
   */
  crash(): void {
    this.#isDead = true;
  }

  /** Returns the driver of the server's next process on the same machine. */
  restarted(options: FakeOptions = {}): FakeCompute {
    this.crash();
    const next = this.#next(options);
    next.queue.takeOver(this.queue);
    return next;
  }

  #next(options: FakeOptions): FakeCompute {
    const now = { behaviour: this.behaviour, registry: this.registry, capacity: this.#boxes.all };
    return new FakeCompute(this.#clock, { ...this.#options, ...now, ...options }, this.#instances);
  }

  async capacity(): Promise<Box[]> {
    this.#mayFail("capacity");
    return this.#boxes.all;
  }

  async #prepare(image: string, bringing: Bringing): Promise<void> {
    this.#mayFail("prepare");
    await this.registry.send(image, bringing);
    await this.#options.pulling?.(bringing);
    const reason = this.#refusal?.(image) ?? this.registry.bring(image);
    if (reason !== undefined) throw new StartRefused(reason);
  }

  async start(id: string, spec: InstanceSpec): Promise<Instance> {
    this.#mayFail("start");
    if (this.hangsOnStart) return new Promise(() => {});
    const known = this.queue.view(id) ?? this.#instances.get(id)?.view();
    if (known) return known;
    if (this.#isCluster) return this.queue.accept(id, spec);
    const starting = this.#starting.get(id) ?? this.#begin(id, spec).finally(() => this.#starting.delete(id));
    this.#starting.set(id, starting);
    return starting;
  }

  async #startAgain(id: string, spec: InstanceSpec): Promise<Instance> {
    this.#mayFail("again");
    const before = this.#instances.get(id);
    if (!before) throw new StartRefused(nothingLeft(id), { reason: "nothing-left" });
    if (!before.exited) return before.view();
    if (!isRepeatable(this.again, spec)) throw new StartRefused(NEEDS_VOLUME);
    if (this.#isCluster) return this.queue.view(id) ?? this.queue.accept(id, spec);
    const starting = this.#starting.get(id) ?? this.#begin(id, spec, before).finally(() => this.#starting.delete(id));
    this.#starting.set(id, starting);
    return starting;
  }

  async #begin(id: string, spec: InstanceSpec, before?: FakeInstance): Promise<Instance> {
    if (!this.preparing) this.#mayFail("prepare");
    const missing = () => (this.preparing ? this.registry.whyNotHere(spec.image) : this.registry.bring(spec.image));
    const reason = this.#refusal?.(spec.image, spec) ?? missing();
    if (reason !== undefined) throw new StartRefused(reason);
    if (this.startMs > 0) await new Promise<void>((resolve) => this.#clock.after(this.startMs, resolve));
    // What a cluster has accepted, the cluster itself begins.
    if (this.#isDead && !this.#isCluster) return new Promise(() => {});
    const meanwhile = this.#instances.get(id);
    // The driver of another node has started it while this start was slow.
    if (meanwhile && meanwhile !== before) return meanwhile.view();
    if (this.#isCluster && this.queue.view(id)?.state !== "pending") throw new StartRefused("nobody wants it any more");
    this.#boxes.check(spec);
    this.ports.check(spec);
    if (spec.mounts?.length && !this.volumes) throw new StartRefused(whyLacking(this, "volumes"));
    this.volumes?.checkMounts(spec.mounts);
    return this.#boxes.give(id, spec.gpu, async (gpus) => this.#run(id, spec, gpus, before));
  }

  #run(id: string, spec: InstanceSpec, gpus: readonly Gpu[], before?: FakeInstance): Instance {
    if (spec.group && !this.networks) throw new StartRefused(whyLacking(this, "networks"));
    const address = spec.group && this.networks!.choose(spec, before);
    const published = this.ports.publish(asBefore(spec.publish, before?.published));
    const instance = new FakeInstance(id, spec, this.#clock, { gpus, address, published, before });
    instance.changed = () => this.#tell(instance);
    this.#instances.set(id, instance);
    this.queue.drop(id);
    this.#tell(instance);
    this.behaviour(instance, spec);
    return instance.view();
  }

  /** Whether this instance reaches a member of its group that listens on this port, by address or name. */
  reaches(from: FakeInstance, host: string, port: number): boolean {
    return this.networks?.reachedBy(from, host)?.isListening(port) ?? false;
  }

  #usersOf(volume: string): string[] {
    const users = this.#running().filter(({ spec }) => spec.mounts?.some((mount) => mount.volume === volume));
    return [...users.map(({ id }) => id), ...this.queue.usersOf(volume)];
  }

  #running(): FakeInstance[] {
    return [...this.#instances.values()].filter(({ exited }) => !exited);
  }

  async stop(id: string, graceMs: number): Promise<void> {
    this.#mayFail("stop");
    this.queue.stop(id);
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
    this.queue.drop(id);
    const instance = this.#instances.get(id);
    this.#instances.delete(id);
    instance?.exit({ signal: "SIGKILL" });
    instance?.end();
  }

  whyAway: NonNullable<Compute["whyAway"]> = async () =>
    this.away === undefined ? undefined : { why: this.away, isNone: false };

  async list(): Promise<Instance[]> {
    this.#mayFail("list");
    if (this.away !== undefined) return [];
    const views = [...[...this.#instances.values()].map((instance) => instance.view()), ...this.queue.views()];
    // An instance that is accepted to be started again appears once, as pending and not as ended.
    return [...new Map(views.map((view) => [view.id, view])).values()];
  }

  watch(listener: (instance: Instance) => void): () => void {
    // Each call gets a function of its own, so a listener that is registered twice is called twice.
    const own = (instance: Instance) => listener(instance);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  logs(id: string, options: { after?: string; signal: AbortSignal }): AsyncIterable<Output> {
    return this.#instances.get(id)?.logs(options) ?? nothing();
  }

  async dial(id: string, port: number): Promise<Duplex> {
    this.#mayFail("dial");
    return this.instance(id).dial(port);
  }

  async #freeze(id: string): Promise<void> {
    this.#mayFail("freeze");
    this.instance(id).freeze();
  }

  async #thaw(id: string): Promise<void> {
    this.#mayFail("thaw");
    this.instance(id).thaw();
  }

  async #exec(id: string, spec: ExecSpec): Promise<Execution> {
    this.#mayFail("exec");
    return this.#executions.run(id, async () => {
      checkExec(spec);
      const instance = this.#instances.get(id);
      if (!instance) throw new ExecRefused(`no instance ${id}`);
      return this.#can.execSignals ? instance.exec(spec) : withoutSignals(instance.exec(spec));
    });
  }

  async #stats(id: string) {
    this.#mayFail("stats");
    const instance = this.#instances.get(id);
    if (!instance || instance.exited) return undefined;
    return instance.stats(instance.gpus.map(({ id, virtual }) => ({ id, virtual })));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#executions.close();
    this.#ears.delete(this.#listeners);
  }

  #mayFail(verb: Verb): void {
    const error = this.#failures.get(verb);
    if (error) throw error;
  }

  #tell(instance: FakeInstance): void {
    if (this.#instances.has(instance.id)) this.#tellAll(instance.view());
  }

  #tellAll(instance: Instance): void {
    for (const listener of [...this.#ears].flatMap((ears) => [...ears])) listener(instance);
  }
}

async function* nothing(): AsyncIterable<Output> {}
