/** The Docker driver: each instance is a container of a Docker or Podman engine on this machine. */
import { dirname } from "node:path";
import type { Duplex } from "node:stream";
import { pause } from "../../kernel/wait.ts";
import type { Lacks } from "../../ports/compute/abilities.ts";
import type { Again } from "../../ports/compute/again.ts";
import {
  type Absence,
  type Box,
  type Compute,
  type Facts,
  type Instance,
  type InstanceSpec,
  type Mount,
  type Output,
  StartRefused,
} from "../../ports/compute/compute.ts";
import { Devices } from "../../ports/compute/devices.ts";
import type { Executing } from "../../ports/compute/execution.ts";
import type { Freezing } from "../../ports/compute/freezing.ts";
import type { Networks } from "../../ports/compute/groups.ts";
import type { Bringing, ImageFacts, Preparing } from "../../ports/compute/images.ts";
import type { Link } from "../../ports/compute/link.ts";
import type { Published, Publishing } from "../../ports/compute/publish.ts";
import { nothingLeft } from "../../ports/compute/refusal.ts";
import type { Metering, Stats } from "../../ports/compute/stats.ts";
import { connectTo } from "../machine/connection.ts";
import { Isolation } from "../machine/isolation.ts";
import type { VolumeFolders } from "../machine/volume-folders.ts";
import {
  type Container,
  type ContainerPlace,
  containerName,
  containerRequest,
  type GivenPlace,
  gpusOf,
  isPlain,
  label,
  portsOf,
  volumesOf,
} from "./container.ts";
import { ContainerLoopback } from "./container-loopback.ts";
import { ContainerNetwork } from "./container-network.ts";
import { Containers, type Made, refusal, refusesDiskLimit } from "./containers.ts";
import type { DockerOptions } from "./docker-options.ts";
import { DockerStats } from "./docker-stats.ts";
import { DockerWriters } from "./docker-writers.ts";
import { Engine } from "./engine.ts";
import { EngineRefused } from "./engine-api.ts";
import { boxOf } from "./engine-disk.ts";
import { type EngineEvent, followEvents } from "./engine-events.ts";
import { DockerExec } from "./exec.ts";
import { GroupNetworks, PODMAN } from "./group-networks.ts";
import { lookUp, originOf } from "./image-lookup.ts";
import { bringImage } from "./image-pull.ts";
import { readLog } from "./log-reader.ts";
import { networkName } from "./network.ts";
import { PublishedPorts } from "./published-ports.ts";
import { Sight } from "./sight.ts";
import { Watchdog } from "./watchdog.ts";

/** A server's start waits at most this long for an engine that hangs. */
const FIRST_ATTEMPT_MS = 5_000;

export type { DockerOptions } from "./docker-options.ts";

export class DockerCompute implements Compute {
  readonly facts: Facts = { ownNetwork: true, sandbox: true, limits: true };
  readonly lacks: Lacks = { networks: PODMAN };
  readonly link: Link;
  readonly preparing: Preparing = { prepare: (image, _, bringing) => this.#prepare(image, bringing) };
  readonly again: Again = { freshEnv: false, start: (id, spec) => this.#startAgain(id, spec) };
  readonly freezing: Freezing = { freeze: (id) => this.#freeze(id), thaw: (id) => this.#thaw(id) };
  readonly exec: Executing;
  readonly stats: Metering = { of: (id) => this.#statsOf(id) };
  readonly publishing: Publishing = { rangeFor: () => this.#published.range };
  readonly images: ImageFacts = {
    originOf: async (image) => originOf(await this.#engine.find(), image),
    lookUp: async (image, lookup) => lookUp(await this.#engine.find(), image, lookup),
  };
  readonly volumes: VolumeFolders;
  readonly writers: DockerWriters;
  readonly loopback: ContainerLoopback;
  readonly #options: DockerOptions;
  readonly #engine: Engine;
  readonly #network: ContainerNetwork;
  readonly #groups: GroupNetworks;
  readonly #sight: Sight;
  readonly #devices: Devices;
  readonly #starting = new Map<string, Promise<Instance>>();
  /** Mounts of the instances that are being started, by instance id. */
  readonly #mounting = new Map<string, readonly Mount[]>();
  readonly #disposed = new AbortController();
  readonly #watchdog: Watchdog | undefined;
  readonly #exec: DockerExec;
  readonly #stats: DockerStats;
  readonly #published: PublishedPorts;
  #following: Promise<void> | undefined;
  #limitsDisk = true;

  /** Also resolves when there is no engine, since one may be installed later. */
  static async open(options: DockerOptions): Promise<DockerCompute> {
    const compute = new DockerCompute(options);
    await compute.#follow();
    return compute;
  }

  private constructor(options: DockerOptions) {
    this.#options = options;
    this.#engine = new Engine(options.addresses, options.clock);
    const { leave = "nobody", isOwners = async () => true } = options;
    const isolation = new Isolation({ leave, isOwners });
    this.#network = new ContainerNetwork({ ...options, engine: this.#engine, isolation });
    const network = this.#network;
    this.link = {
      get host() {
        return network.linkHost;
      },
      open: (port) => network.openLink(port),
    };
    this.#devices = options.devices ?? new Devices([]);
    this.#devices.heldBy(() => this.#heldDevices());
    this.#groups = new GroupNetworks({ ...options, engine: this.#engine });
    const { volumes, clock } = options;
    this.volumes = volumes;
    volumes.users.toldBy((volume) => this.#usersOf(volume));
    const isComing = (id: string) => this.#starting.has(id);
    const verdictOf = (id: string) => this.writers.verdictOf(id);
    this.#sight = new Sight({ clock, containers: () => this.#containers(), isComing, verdictOf });
    const engine = async () => {
      const found = await this.#engine.findIfAny();
      return found && { containers: await this.#containers(), rootFolder: found.info.DockerRootDir };
    };
    const kill = (id: string) => this.stop(id, 0);
    this.writers = new DockerWriters({ data: dirname(volumes.folder), volumes, clock, engine, kill });
    this.#exec = new DockerExec(options.clock);
    this.exec = {
      run: async (id, spec) => {
        const { api } = await this.#engine.find();
        return this.#exec.exec(api, await (await this.#containers()).find(id), id, spec);
      },
    };
    this.#stats = new DockerStats(this.#devices.all, options.clock);
    this.#published = new PublishedPorts(options);
    this.loopback = new ContainerLoopback({ ...options, find: async (id) => (await this.#containers()).find(id) });
    this.#watchdog = options.watchdog && new Watchdog({ ...options, ...options.watchdog });
  }

  get networks(): Networks | undefined {
    return this.#engine.found?.podman ? undefined : this.#groups;
  }

  /** Empty without an engine, since there is nothing to run containers on, and until one that is away has answered for the first time. */
  async capacity(): Promise<Box[]> {
    const { ceilings = false } = this.#options;
    const found = await this.#engine.findIfThere();
    return found ? [{ ...(await boxOf(found.info)), gpus: this.#devices.stock(), ceilings }] : [];
  }

  async #prepare(image: string, bringing: Bringing): Promise<void> {
    const { api } = await this.#engine.find();
    await this.#network.ensure();
    await bringImage(api, { ...bringing, image, clock: this.#options.clock });
  }

  start(id: string, spec: InstanceSpec): Promise<Instance> {
    return this.#starting.get(id) ?? this.#under(id, spec, () => this.#begin(id, spec));
  }

  #under(id: string, { mounts = [] }: InstanceSpec, begin: () => Promise<Instance>): Promise<Instance> {
    this.#mounting.set(id, mounts);
    const starting = begin().finally(() => {
      this.#starting.delete(id);
      this.#mounting.delete(id);
    });
    this.#starting.set(id, starting);
    return starting;
  }

  /** Starts the same container with its original variables. A new container would not have the files that this one wrote. */
  #startAgain(id: string, spec: InstanceSpec): Promise<Instance> {
    return this.#starting.get(id) ?? this.#under(id, spec, () => this.#beginAgain(id, spec));
  }

  async #beginAgain(id: string, spec: InstanceSpec): Promise<Instance> {
    const containers = await this.#containers();
    const container = await containers.find(id);
    if (!container) throw new StartRefused(nothingLeft(id), { reason: "nothing-left" });
    if (!container.State.Running) {
      this.writers.forget(id);
      await this.#devices.giveAgain(id, gpusOf(container.Config.Labels ?? {}), async () => {
        await this.#surround(spec);
        await containers.start(container).catch((error) => Promise.reject(refusal(error)));
      });
    }
    return this.#started(id, spec, container);
  }

  async #usersOf(volume: string): Promise<string[]> {
    const coming = [...this.#mounting].filter(([, mounts]) => mounts.some((mount) => mount.volume === volume));
    const containers = (await this.#engine.findIfAny()) ? await (await this.#containers()).open() : [];
    const there = containers.filter(({ Labels }) => volumesOf(Labels).includes(volume));
    return [...new Set([...coming.map(([id]) => id), ...there.map(({ Labels }) => Labels[label.instance]!)])];
  }

  async #begin(id: string, spec: InstanceSpec): Promise<Instance> {
    const containers = await this.#containers();
    if (isPlain(spec)) {
      await this.#network.ensureFor(spec.account);
      const made = await this.#create(id, spec, { gpus: [] });
      if (made) await containers.startNew(made);
      if (made) return this.#started(id, spec, made);
    }
    const known = await containers.find(id);
    if (!known) await this.#published.claim(spec.publish, containers, (ports) => this.#make(id, spec, ports));
    const container = known ?? (await containers.find(id));
    if (!container) throw new StartRefused(`there is a container millrace-${id} that is not of this installation`);
    // A crash may have left a container that was created and never started: it is started now. One that has ended is not started again.
    if (container.State.Status === "created") {
      if (known) await this.#surround(spec);
      await this.#startMade(container);
    }
    return this.#started(id, spec, container);
  }

  /** Restores the network, the rules and the mounts of an existing container. A restart of the machine removes them. */
  async #surround({ account, mounts }: InstanceSpec): Promise<void> {
    await this.#network.ensureFor(account);
    await this.volumes.mounted(mounts);
  }

  async #started(id: string, spec: InstanceSpec, container: Made): Promise<Instance> {
    if (spec.kind === "worker") await this.#watchdog?.guard((await this.#engine.find()).api.address);
    const instance = await this.#sight.look(container.Id);
    if (!instance) throw new Error(`instance ${id} was removed while it was started`);
    return instance;
  }

  /** A container with published ports is also started here, since only the start shows whether its ports are free. */
  async #make(id: string, spec: InstanceSpec, published: readonly Published[]): Promise<void> {
    await this.#groups.make(spec, id, async (seat) => {
      await this.#network.ensureFor(spec.account);
      await this.#devices.give(id, spec.gpu, (gpus) => this.#create(id, spec, { gpus, published, ...seat }));
    });
    const made = published.length > 0 ? await (await this.#containers()).find(id) : undefined;
    if (made) await this.#startMade(made);
  }

  async #create(id: string, spec: InstanceSpec, given: GivenPlace): Promise<Made | undefined> {
    const containers = await this.#containers();
    const place = { ...(await this.#place()), ...given };
    const folders = await this.volumes.mounted(spec.mounts);
    try {
      return await containers.create(id, containerRequest(id, spec, place, folders));
    } catch (error) {
      if (!place.limitsDisk || !refusesDiskLimit(error)) throw refusal(error);
      this.#limitsDisk = false;
      return this.#create(id, spec, given);
    }
  }

  async #startMade(container: Container): Promise<void> {
    const containers = await this.#containers();
    try {
      await this.#groups.connect(container);
      await containers.start(container);
    } catch (error) {
      if (error instanceof EngineRefused) await this.#removeWhole(containers, container);
      throw refusal(error);
    }
  }

  async #removeWhole(containers: Containers, container: Container): Promise<void> {
    await containers.remove(container);
    await this.#groups.settle(container.Config.Labels);
  }

  async #heldDevices(): Promise<string[]> {
    if (!(await this.#engine.findIfAny())) return [];
    return (await (await this.#containers()).open()).flatMap(({ Labels }) => gpusOf(Labels));
  }

  async stop(id: string, graceMs: number): Promise<void> {
    if (!(await this.#engine.findIfAny())) return;
    const containers = await this.#containers();
    const container = await containers.find(id);
    if (!container?.State.Running) return;
    await containers.stop(container, graceMs, this.#options.clock);
    await this.#sight.look(container.Id);
  }

  async remove(id: string): Promise<void> {
    await this.#starting.get(id)?.catch(() => {});
    if (!(await this.#engine.findIfAny())) return;
    const containers = await this.#containers();
    await this.loopback.leave(id);
    await this.#sight.without(id, async () => {
      const container = await containers.find(id);
      if (container) await this.#removeWhole(containers, container);
    });
    this.writers.forget(id);
  }

  async list(): Promise<Instance[]> {
    if (!(await this.#engine.findIfAny())) return [];
    return this.#sight.list();
  }

  whyAway(): Promise<Absence | undefined> {
    return this.#engine.whyAway();
  }

  watch(listener: (instance: Instance) => void): () => void {
    return this.#sight.book.watch(listener);
  }

  async *logs(id: string, { after, signal }: { after?: string; signal: AbortSignal }): AsyncIterable<Output> {
    const until = AbortSignal.any([signal, this.#disposed.signal]);
    const { clock, installation } = this.#options;
    yield* readLog(await this.#engine.find(), {
      name: containerName(id),
      installation,
      signal: until,
      clock,
      ...(after !== undefined && { after }),
    });
  }

  async dial(id: string, port: number): Promise<Duplex> {
    const container = await (await this.#containers()).find(id);
    if (!container) throw new Error(`no instance ${id}`);
    if (!portsOf(container).includes(port)) throw new Error(`port ${port} is not one of ${id}`);
    const host = container.NetworkSettings.Networks[networkName(this.#options.installation)]?.IPAddress;
    if (!host) throw new Error(`nobody listens on port ${port} of ${id}: it has ended`);
    return connectTo({ host, port }).catch((error: Error) => {
      throw new Error(`nobody listens on port ${port} of ${id}`, { cause: error });
    });
  }

  async #freeze(id: string): Promise<void> {
    const container = await this.#known(id);
    await (await this.#containers()).pause(container);
    await this.#sight.look(container);
  }

  async #thaw(id: string): Promise<void> {
    // A job waits for the thaw, so nobody inspects the container first. An event will report the change.
    await (await this.#containers()).unpause(await this.#known(id));
  }

  async #statsOf(id: string): Promise<Stats | undefined> {
    if (!(await this.#engine.findIfAny())) return undefined;
    const container = await this.#known(id).catch(() => undefined);
    return container ? this.#stats.of((await this.#engine.find()).api, container) : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#exec[Symbol.asyncDispose](), this.loopback[Symbol.asyncDispose]()]);
    this.#disposed.abort();
    this.#watchdog?.[Symbol.dispose]();
    await Promise.all([this.#following, this.#network[Symbol.asyncDispose]()]);
  }

  async #follow(): Promise<void> {
    const { installation, clock, log } = this.#options;
    let isFirst = true;
    const connected = async () => {
      await this.#network.find();
      await this.#groups.sweep();
      const instances = await this.#sight.lookAtAll(isFirst);
      isFirst = false;
      if (instances.some(({ kind, state }) => kind === "worker" && state !== "exited"))
        await this.#watchdog?.guard((await this.#engine.find()).api.address);
    };
    const happened = (event: EngineEvent) => this.#sight.happened(event);
    const { signal } = this.#disposed;
    const first = new AbortController();
    const follower = { attempted: () => first.abort(), connected, happened };
    this.#following = followEvents({ engine: this.#engine, installation, follower, clock, log, signal });
    await pause(clock, FIRST_ATTEMPT_MS, first.signal);
  }

  /** The id of an instance's container. The engine is asked only when this process has not seen the container. */
  async #known(id: string): Promise<string> {
    const container = this.#sight.book.containerOf(id) ?? (await (await this.#containers()).find(id))?.Id;
    if (!container) throw new Error(`no instance ${id}`);
    return container;
  }

  async #containers(): Promise<Containers> {
    return new Containers((await this.#engine.find()).api, this.#options.installation);
  }

  async #place(): Promise<Omit<ContainerPlace, "gpus">> {
    const { info, podman } = await this.#engine.find();
    const { installation } = this.#options;
    const network = networkName(installation);
    return { installation, network, processors: info.NCPU, podman, limitsDisk: this.#limitsDisk };
  }
}
