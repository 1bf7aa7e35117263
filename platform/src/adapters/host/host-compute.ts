/** The host driver: instances are processes of this machine, in a sandbox where bubblewrap is installed. */

import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import { allDone } from "../../kernel/all-done.ts";
import { type Duty, every } from "../../kernel/background.ts";
import { type Failed, failedTo } from "../../kernel/failed.ts";
import { floating } from "../../kernel/floating.ts";
import type { Lacks } from "../../ports/compute/abilities.ts";
import type { Again } from "../../ports/compute/again.ts";
import {
  type Box,
  type Compute,
  type Facts,
  type Gpu,
  type Instance,
  type InstanceSpec,
  type Output,
  StartRefused,
} from "../../ports/compute/compute.ts";
import { Devices } from "../../ports/compute/devices.ts";
import type { Executing } from "../../ports/compute/execution.ts";
import type { Freezing } from "../../ports/compute/freezing.ts";
import type { Networks } from "../../ports/compute/groups.ts";
import { machinesOwn, type Preparing } from "../../ports/compute/images.ts";
import type { Link } from "../../ports/compute/link.ts";
import { checkPublish, type Publishing } from "../../ports/compute/publish.ts";
import { nothingLeft } from "../../ports/compute/refusal.ts";
import type { Metering } from "../../ports/compute/stats.ts";
import { DISK_IS_FULL, isFull } from "../../ports/disk.ts";
import type { Isolation } from "../machine/isolation.ts";
import { VolumeFolders } from "../machine/volume-folders.ts";
import { thisBox } from "./box.ts";
import type { Cgroups } from "./cgroups.ts";
import type { Device } from "./gpus.ts";
import type { HostExec } from "./host-exec.ts";
import { checkFolderExists, findFolder, type HostFolder, refusalOf } from "./host-folder.ts";
import { HostGroups } from "./host-groups.ts";
import { HostInstance } from "./host-instance.ts";
import { HostLoopback } from "./host-loopback.ts";
import type { HostOptions } from "./host-options.ts";
import { factsOf, type HostParts, lacksOf, networkedOf, openParts } from "./host-parts.ts";
import { HostPlaces, type Starting } from "./host-places.ts";
import { HostWriters } from "./host-writers.ts";
import { InstanceFolder, keptFrom } from "./instance-folder.ts";
import { type Launcher, launchedFrom } from "./launcher.ts";
import type { InstanceNetwork } from "./network.ts";
import type { Scratches } from "./scratches.ts";
import type { Watchdog } from "./watchdog.ts";

const LOOK_MS = 2_000;
const LOOK_AFTER = "look after programs of this machine";
const LOOKS_PER_RENEWAL = 15;

export type { HostOptions } from "./host-options.ts";

export class HostCompute implements Compute {
  readonly facts: Facts;
  readonly lacks: Lacks;
  readonly link: Link;
  readonly preparing: Preparing = { prepare: (image) => checkFolderExists(image) };
  readonly again: Again = { freshEnv: true, start: (id, spec) => this.#startAgain(id, spec) };
  readonly freezing: Freezing | undefined;
  readonly networks: Networks | undefined;
  readonly exec: Executing | undefined;
  readonly stats: Metering | undefined;
  readonly publishing: Publishing | undefined;
  readonly images = machinesOwn;
  /** Undefined where programs run without a sandbox and see the machine's own files. */
  readonly volumes: VolumeFolders | undefined;
  /** The machine's volumes, for its other drivers too, even where no program of this driver can mount them. */
  readonly volumeFolders: VolumeFolders;
  readonly writers: HostWriters;
  readonly loopback: HostLoopback;
  /** The gaps in what keeps programs apart from this machine. */
  readonly isolation: Isolation;
  readonly spans: HostOptions["spans"];
  readonly #options: HostOptions;
  readonly #cgroups: Cgroups | undefined;
  readonly #network: InstanceNetwork;
  readonly #launcher: Launcher;
  readonly #watchdog: Watchdog;
  readonly #exec: HostExec;
  readonly #scratches: Scratches;
  /** The machine's GPUs. Its other drivers assign them too. */
  readonly devices: Devices;
  readonly #gpus: readonly Device[];
  readonly #cuda: string | undefined;
  readonly #instances = new Map<string, HostInstance>();
  readonly #starting = new Map<string, Starting>();
  readonly #groups: HostGroups;
  readonly #places: HostPlaces;
  readonly #listeners = new Set<(instance: Instance) => void>();
  #duty: Duty | undefined;
  #looks = 0;
  #closing: Promise<void> | undefined;

  private constructor(options: HostOptions, parts: HostParts) {
    this.#options = options;
    this.spans = options.spans;
    this.isolation = parts.isolation;
    this.#cgroups = parts.cgroups;
    this.#network = parts.network;
    const members = () => this.#places.groupMembers();
    this.#groups = new HostGroups({ ...options, bridges: parts.network.groups, members });
    const known = { instances: this.#instances, starting: this.#starting };
    this.#places = new HostPlaces({ ...known, network: parts.network, groups: this.#groups, output: options.output });
    this.loopback = new HostLoopback(this.#instances, parts.network);
    this.#launcher = parts.launcher;
    this.#gpus = parts.gpus;
    this.#cuda = parts.cuda;
    this.devices = new Devices(parts.gpus.map(({ id, type, virtual }) => ({ id, type, virtual })));
    this.devices.heldBy(async () => this.#places.heldDevices());
    this.#watchdog = parts.watchdog;
    this.#exec = parts.exec;
    this.#scratches = parts.scratches;
    this.facts = factsOf(parts);
    this.lacks = lacksOf(parts);
    this.link = {
      get host() {
        return parts.network.linkHost;
      },
      open: (port) => parts.network.openLink(port),
    };
    this.freezing = parts.cgroups && {
      freeze: async (id) => this.#known(id).freeze(),
      thaw: async (id) => this.#known(id).thaw(),
    };
    this.networks = parts.network.groups && this.#places.networks;
    this.exec =
      parts.exec.cannot === undefined
        ? { run: (id, spec) => this.#exec.exec(id, this.#instances.get(id), spec) }
        : undefined;
    this.stats = parts.cgroups && { of: (id) => parts.stats.of(this.#instances.get(id)) };
    const { published } = parts.network;
    this.publishing = published && { rangeFor: () => published.range };
    const { volumes: folder, sharedVolumes: shared, clock, random, log } = options;
    const warn = (text: string) => log.warn({}, text);
    this.volumeFolders = new VolumeFolders({ folder, shared, clock, random, images: parts.images, warn });
    this.volumeFolders.users.toldBy(async (volume) => this.#places.usersOf(volume));
    const { scratches, launcher } = parts;
    this.volumes = launcher.sandboxed ? this.volumeFolders : undefined;
    const about = { instances: this.#instances, scratches, volumes: this.volumeFolders, sandboxed: launcher.sandboxed };
    this.writers = new HostWriters({ ...options, ...about, volumesFolder: folder });
  }

  static async open(options: HostOptions): Promise<HostCompute> {
    const compute = new HostCompute(options, await openParts(options));
    await compute.#recover();
    return compute;
  }

  /** Finds every instance that an earlier server started, and removes the remains of those that are gone. */
  async #recover(): Promise<void> {
    const ids = await InstanceFolder.list(this.#options.folder);
    await Promise.all([...ids.map((id) => this.#recoverOne(id)), this.volumeFolders.sweep()]);
    const open = [...this.#instances.values()].filter(({ isEnded }) => !isEnded);
    const published = open.map(({ kept: { address = 0, published = [] } }) => [address, published] as const);
    await this.#network.published?.restore(new Map(published));
    for (const id of (await this.#cgroups?.list()) ?? []) if (!this.#instances.has(id)) await this.#clear(id);
    await this.#scratches.sweep((id) => this.#instances.has(id));
    await this.#groups.recover();
    this.#duty = every(this.#options.clock, { name: LOOK_AFTER, everyMs: LOOK_MS }, () => this.#look(), this.#reports);
    await this.#watchdog.ensure();
  }

  async #recoverOne(id: string): Promise<void> {
    const folder = this.#folderOf(id);
    const [kept, identity] = await Promise.all([folder.kept(), launchedFrom(folder)]);
    // The server died before the program began, so it never will. An instance that had run before is kept as ended, with its files.
    if (!kept || (!identity && !(await folder.endUnbegun()))) {
      await folder.remove();
      return this.#clear(id);
    }
    const instance = this.#follow(id, folder, kept);
    await instance.follow(identity);
  }

  async #clear(id: string): Promise<void> {
    await this.#cgroups?.kill(id);
    await this.#cgroups?.remove(id);
  }

  /** Finds ends that no event reported, and restores the watchdog and the network's rules if they are missing. */
  async #look(): Promise<void> {
    if (this.#looks++ % LOOKS_PER_RENEWAL === 0) await this.#network.renew();
    await Promise.all([...this.#instances.values()].map((instance) => instance.lookAgain()));
    await this.#watchdog.ensure();
  }

  get #reports(): Failed {
    const { log, failed = failedTo(log) } = this.#options;
    return failed;
  }

  #failed = (error: unknown) => this.#reports(error, LOOK_AFTER);

  #folderOf = (id: string) => new InstanceFolder(join(this.#options.folder, id));

  #follow(id: string, folder: InstanceFolder, kept: ConstructorParameters<typeof HostInstance>[2]): HostInstance {
    const instance = new HostInstance(id, folder, kept, {
      clock: this.#options.clock,
      cgroups: this.#cgroups,
      sandboxed: this.#launcher.sandboxed,
      changed: () => this.#tell(instance),
      failed: this.#failed,
    });
    this.#instances.set(id, instance);
    return instance;
  }

  async capacity(): Promise<Box[]> {
    return [await thisBox(this.#options.folder, this.devices, this.#cuda)];
  }

  /**
   * Why programs of this account cannot have the image's folder, or nothing can be mounted at one of these paths. A reason that may not
   * hold on another machine counts only where this is the only one.
   */
  async refuses(image: string, account: string, paths: readonly string[] = []): Promise<string | undefined> {
    const { isOnlyMachine = true } = this.#options;
    const refused = await refusalOf(this.#appOf(image, account), isOnlyMachine);
    return refused ?? (isOnlyMachine ? this.#launcher.refusedOver(paths) : undefined);
  }

  async #appOf(image: string, account: string): Promise<HostFolder | undefined> {
    const { folder, roots } = this.#options;
    const rules = { data: dirname(folder), roots, asAnother: this.#launcher.changesUser };
    return findFolder(image, rules, await this.#isOwners(account));
  }

  async #isOwners(account: string): Promise<boolean> {
    return (await this.#options.isOwners?.(account)) ?? true;
  }

  async start(id: string, spec: InstanceSpec): Promise<Instance> {
    const known = this.#instances.get(id);
    return known ? known.view() : this.#once(id, spec);
  }

  async #startAgain(id: string, spec: InstanceSpec): Promise<Instance> {
    const known = this.#instances.get(id);
    if (!known) throw new StartRefused(nothingLeft(id), { reason: "nothing-left" });
    return known.isEnded ? this.#once(id, spec, known) : known.view();
  }

  #once(id: string, spec: InstanceSpec, before?: HostInstance): Promise<Instance> {
    const running = this.#starting.get(id);
    if (running) return running.done;
    const idsOf = (gpus: readonly Gpu[]) => gpus.map((gpu) => gpu.id);
    const begun = this.devices.give(id, spec.gpu, (gpus) => this.#begin(id, spec, idsOf(gpus), before));
    const done = begun.finally(() => this.#starting.delete(id));
    this.#starting.set(id, { spec, done });
    return done;
  }

  async #begin(id: string, spec: InstanceSpec, given: readonly string[], before?: HostInstance): Promise<Instance> {
    // The folder is checked beside everything that is made for the program. If it is refused, all of that is removed again.
    const finding = this.#appOf(spec.image, spec.account);
    floating(finding, () => {});
    checkPublish(spec.publish, this.lacks.publishing);
    await this.#launcher.check(spec);
    const { place, group, published = [] } = await this.#places.choose(id, spec, before?.kept);
    const folder = this.#folderOf(id);
    const segment = before?.kept.segment ?? this.#places.segmentOfNext();
    const undo = before && (await folder.beginAgain());
    try {
      const cgroups = this.#cgroups?.folders(id) ?? [];
      // Memory and time that the previous run used must not be counted for this one.
      if (before) await this.#clear(id);
      const scratching = spec.kind === "worker" ? undefined : this.#scratches.place(id, folder, spec.limits.diskGb);
      const record = { segment, address: place, group, gpus: given, published };
      const keeping = folder.make(keptFrom(spec, this.#options.clock.now(), record), cgroups);
      // Everything is in place before the program starts. After a crash the next server finds and removes it.
      await allDone([
        this.#cgroups?.create(id, spec.limits),
        keeping,
        place === undefined ? undefined : this.#network.published?.open(place, published),
        scratching,
        this.#groups.settle(group),
        finding,
      ]);
      const launched = await this.#launcher.launch({
        id,
        spec,
        folder,
        app: await finding,
        cgroups,
        segment,
        devices: this.#gpus.filter((device) => given.includes(device.id)),
        volumes: this.volumeFolders,
        scratch: await scratching,
        names: this.#groups.namesFile(group),
        enter: (command) => this.#network.enter(place, command, group && { ...group, index: place! }),
        ownNetwork: this.#network.own,
      });
      before?.letGo();
      const instance = this.#follow(id, folder, await keeping);
      instance.explainedBy(this.#launcher.unseen(spec, await finding, this.#isOwners(spec.account)));
      this.#tell(instance);
      // The program runs. If this look fails, a later one makes up for it.
      await instance.follow(launched).catch(this.#failed);
      return instance.view();
    } catch (error) {
      if (place !== undefined) await this.#network.published?.close(place);
      if (before) this.#instances.set(id, before);
      else this.#instances.delete(id);
      if (!before) await this.#scratches.remove(id);
      await (undo ? undo() : folder.remove());
      await this.#clear(id);
      delete this.#starting.get(id)?.group;
      await this.#groups.settle(group);
      throw isFull(error) ? Object.assign(new Error(DISK_IS_FULL, { cause: error }), { reason: "disk-full" }) : error;
    }
  }

  async stop(id: string, graceMs: number): Promise<void> {
    await this.#starting.get(id)?.done.catch(() => {});
    const instance = this.#instances.get(id);
    await instance?.stop(graceMs);
    if (instance) await this.#closePorts(instance);
  }

  /** Closes an ended instance's published ports before another instance can get its place. */
  async #closePorts({ kept: { address, published } }: HostInstance): Promise<void> {
    if (address !== undefined && published) await this.#network.published?.close(address);
  }

  async remove(id: string): Promise<void> {
    await this.#starting.get(id)?.done.catch(() => {});
    const instance = this.#instances.get(id);
    if (!instance) return;
    await instance.remove();
    await Promise.all([this.#cgroups?.remove(id), this.#network.leave(instance.kept.address)]);
    await this.#scratches.remove(id);
    await instance.folder.remove();
    this.#instances.delete(id);
    await this.#groups.settle(instance.kept.group);
  }

  async list(): Promise<Instance[]> {
    return [...this.#instances.values()].map((instance) => instance.view());
  }

  watch(listener: (instance: Instance) => void): () => void {
    // A new function each time, so that a listener that subscribes twice is called twice.
    const own = (instance: Instance) => listener(instance);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  #tell(instance: HostInstance): void {
    if (instance.isEnded) floating(this.#closePorts(instance), this.#failed);
    for (const listener of [...this.#listeners]) listener(instance.view());
  }

  logs(id: string, options: { after?: string; signal: AbortSignal }): AsyncIterable<Output> {
    return this.#instances.get(id)?.logs(options) ?? nothing();
  }

  async dial(id: string, port: number): Promise<Duplex> {
    const instance = this.#instances.get(id);
    if (!instance) throw new Error(`no instance ${id}`);
    if (!instance.kept.ports.includes(port)) throw new Error(`port ${port} is not one of ${id}`);
    if (instance.isEnded) throw new Error(`nobody listens on port ${port} of ${id}: it has ended`);
    return this.#network.dial(networkedOf(instance), port).catch((error: Error) => {
      throw new Error(`port ${port} of ${id} cannot be reached: ${error.message}`, { cause: error });
    });
  }

  #known(id: string): HostInstance {
    const instance = this.#instances.get(id);
    if (!instance) throw new Error(`no instance ${id}`);
    return instance;
  }

  /** Runs only once: the processes that remain on the machine afterwards belong to the next server. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled([...this.#starting.values()].map(({ done }) => done));
    await this.#duty?.[Symbol.asyncDispose]();
    await this.#scratches.close();
    this.#exec.close();
    this.#listeners.clear();
    for (const instance of this.#instances.values()) instance.letGo();
    const isLeft = [...this.#instances.values()].some(({ isEnded }) => !isEnded);
    await this.#watchdog.leave(isLeft);
    await this.#network.letGo();
    if (isLeft) return;
    await this.#network.close();
    await this.#groups.close();
    await this.#cgroups?.close();
  }
}

async function* nothing(): AsyncIterable<Output> {}
