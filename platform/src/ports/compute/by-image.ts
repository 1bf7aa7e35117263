/** A driver made of two: images that name the machine's own files (`host`) run on one, all others on the other. */
import type { Duplex } from "node:stream";
import { type Ability, type Lacks, whyLacking } from "./abilities.ts";
import { type Again, isRepeatable, NEEDS_VOLUME } from "./again.ts";
import {
  type Absence,
  type Box,
  type Compute,
  type Facts,
  type Instance,
  type InstanceSpec,
  ONLY_BOX,
  type Output,
  StartRefused,
} from "./compute.ts";
import { dialLoopback } from "./dial-loopback.ts";
import type { Executing } from "./execution.ts";
import type { Freezing } from "./freezing.ts";
import type { Networks } from "./groups.ts";
import type { ImageFacts, Preparing } from "./images.ts";
import type { Link } from "./link.ts";
import type { Loopback } from "./loopback.ts";
import type { Publishing } from "./publish.ts";
import { ExecRefused, nothingLeft, unlessAway } from "./refusal.ts";
import type { Spanning } from "./spans.ts";
import type { Metering } from "./stats.ts";
import type { Volumes } from "./volumes.ts";
import { type DiskWriters, writersOf } from "./writers.ts";

/** True for `host` and `host:/abs/dir`. */
export const isHostImage = (image: string): boolean => image === "host" || image.startsWith("host:");

export interface Drivers {
  host: Compute;
  containers: Compute;
  /** Returns why `host` images do not run for this account now; undefined when they do. */
  refusesHost?: (account: string) => Promise<string | undefined>;
}

export class ByImage implements Compute {
  readonly #drivers: Drivers;
  readonly #both: readonly Compute[];
  readonly writers: DiskWriters | undefined;
  /** The driver of each known instance. For an instance of an earlier process, both drivers are asked. */
  readonly #places = new Map<string, Compute>();

  constructor(drivers: Drivers) {
    this.#drivers = drivers;
    this.#both = [drivers.host, drivers.containers];
    this.writers = writersOf(this.#both);
  }

  /** Returns the driver that runs an image. That driver's abilities and link apply to the image. */
  driverOf(image: string): Compute {
    return isHostImage(image) ? this.#drivers.host : this.#drivers.containers;
  }

  /** A fact holds only if it holds for both drivers. */
  get facts(): Facts {
    const { host, containers } = this.#drivers;
    const both = (fact: keyof Facts) => host.facts[fact] && containers.facts[fact];
    return { ownNetwork: both("ownNetwork"), sandbox: both("sandbox"), limits: both("limits") };
  }

  get lacks(): Lacks {
    return { ...this.#drivers.containers.lacks, ...this.#drivers.host.lacks };
  }

  /** The link of programs on the host. For another image, ask its driver. */
  get link(): Link | undefined {
    return this.#drivers.host.link;
  }

  /** Both drivers share one machine, so their capacities are not added up. */
  async capacity(): Promise<Box[]> {
    const boxes = (await Promise.all(this.#both.map((driver) => driver.capacity()))).flat();
    const most = (of: "vcpu" | "memoryMb" | "diskGb") => Math.max(0, ...boxes.map((box) => box[of]));
    const gpus = new Map(boxes.toReversed().flatMap((box) => box.gpus.map((stock) => [stock.type, stock])));
    const cuda = boxes.find((box) => box.cuda !== undefined)?.cuda;
    return [
      {
        id: ONLY_BOX,
        vcpu: most("vcpu"),
        memoryMb: most("memoryMb"),
        diskGb: most("diskGb"),
        gpus: [...gpus.values()],
        ceilings: boxes.some(({ ceilings }) => ceilings),
        ...(cuda !== undefined && { cuda }),
      },
    ];
  }

  /** Both drivers get the same volumes, as far as they can use any. */
  get volumes(): Volumes | undefined {
    return this.#drivers.host.volumes ?? this.#drivers.containers.volumes;
  }

  /** Both drivers are on one machine, so other machines reach their networks in the same way. */
  get #spanning(): Spanning | undefined {
    const spanning = {
      host: this.#drivers.host.networks?.spanning,
      container: this.#drivers.containers.networks?.spanning,
    };
    const images = (["host", "container"] as const).filter((kind) => spanning[kind] !== undefined);
    const [first] = images;
    return first && { ...spanning[first], ...(images.length === 1 && { images }) };
  }

  /** Present only if both drivers have networks, so that a member with any image can join. */
  get networks(): Networks | undefined {
    if (!this.#both.every(({ networks }) => networks)) return undefined;
    const all = () => this.#both.map(({ networks }) => networks!);
    return {
      interfaceOf: (image) => this.driverOf(image).networks!.interfaceOf(image),
      spanning: this.#spanning,
      reserve: (ask) => this.driverOf(ask.image).networks!.reserve(ask),
      list: async () => (await Promise.all(all().map((networks) => networks.list()))).flat(),
      // Nothing records which driver had the members, so both are asked.
      release: async (network) => {
        for (const networks of all()) await networks.release(network);
      },
    };
  }

  get publishing(): Publishing | undefined {
    if (!this.#either("publishing")) return undefined;
    return { rangeFor: (image) => this.driverOf(image).publishing?.rangeFor(image) };
  }

  get preparing(): Preparing | undefined {
    if (!this.#either("preparing")) return undefined;
    return {
      prepare: async (image, box, bringing) => this.driverOf(image).preparing?.prepare(image, box, bringing),
    };
  }

  get freezing(): Freezing | undefined {
    if (!this.#either("freezing")) return undefined;
    const of = async (id: string) => {
      const driver = await this.#known(id);
      if (!driver.freezing) throw new Error(whyLacking(driver, "freezing"));
      return driver.freezing;
    };
    return { freeze: async (id) => (await of(id)).freeze(id), thaw: async (id) => (await of(id)).thaw(id) };
  }

  get again(): Again | undefined {
    if (!this.#either("again")) return undefined;
    const abilities = this.#both.flatMap(({ again = [] }) => again);
    return {
      freshEnv: abilities.every(({ freshEnv }) => freshEnv),
      // If one driver needs no volume, this says false: the driver of the instance then decides at its start.
      needsVolume: abilities.every(({ needsVolume }) => needsVolume),
      start: async (id, spec) => {
        const driver = await this.#placeOf(id);
        if (!driver) throw new StartRefused(nothingLeft(id), { reason: "nothing-left" });
        if (!driver.again) throw new StartRefused(whyLacking(driver, "again"));
        if (!isRepeatable(driver.again, spec)) throw new StartRefused(NEEDS_VOLUME);
        return driver.again.start(id, spec);
      },
    };
  }

  get exec(): Executing | undefined {
    if (!this.#either("exec")) return undefined;
    return {
      run: async (id, spec) => {
        const driver = await this.#placeOf(id);
        if (!driver) throw new ExecRefused(`no instance ${id}`);
        if (!driver.exec) throw new ExecRefused(whyLacking(driver, "exec"));
        return driver.exec.run(id, spec);
      },
    };
  }

  get stats(): Metering | undefined {
    if (!this.#either("stats")) return undefined;
    return { of: async (id) => (await this.#placeOf(id))?.stats?.of(id) };
  }

  /** True when at least one driver has the ability. Calls then fail for instances of a driver that lacks it. */
  #either(ability: Ability): boolean {
    return this.#both.some((driver) => driver[ability] !== undefined);
  }

  get loopback(): Loopback | undefined {
    if (!this.#either("loopback")) return undefined;
    return {
      dial: async (id, target) => dialLoopback(await this.#known(id), id, target),
    };
  }

  readonly images: ImageFacts = {
    originOf: (image) => this.driverOf(image).images.originOf(image),
    lookUp: (image, lookup) => this.driverOf(image).images.lookUp(image, lookup),
  };

  /** An id belongs to one image for ever, so a second start reaches the same driver as the first. */
  async start(id: string, spec: InstanceSpec): Promise<Instance> {
    const driver = this.driverOf(spec.image);
    const reason = isHostImage(spec.image) ? await this.#drivers.refusesHost?.(spec.account) : undefined;
    if (reason !== undefined) throw new StartRefused(reason, { reason: "image-unsupported" });
    const instance = await driver.start(id, spec);
    this.#places.set(id, driver);
    return instance;
  }

  async stop(id: string, graceMs: number): Promise<void> {
    await (await this.#placeOf(id))?.stop(id, graceMs);
  }

  /** If the driver is not known, both are asked, since the remains of an instance may be missing from the lists. */
  async remove(id: string): Promise<void> {
    const place = this.#places.get(id);
    await Promise.all((place ? [place] : this.#both).map((driver) => driver.remove(id)));
    this.#places.delete(id);
  }

  async list(image?: string): Promise<Instance[]> {
    const drivers = image === undefined ? this.#both : [this.driverOf(image)];
    // While one driver is away, the others go on. Whoever misses an instance in the list asks for its driver.
    const isOneOfMany = drivers.length > 1;
    const lists = await Promise.all(
      drivers.map(async (driver) => ({ driver, all: await (isOneOfMany ? unlessAway(driver.list()) : driver.list()) })),
    );
    for (const { driver, all } of lists) for (const { id } of all) this.#places.set(id, driver);
    return lists.flatMap(({ all }) => all);
  }

  async whyAway(image: string): Promise<Absence | undefined> {
    return this.driverOf(image).whyAway?.(image);
  }

  watch(listener: (instance: Instance) => void): () => void {
    const stops = this.#both.map((driver) => driver.watch(listener));
    return () => {
      for (const stop of stops) stop();
    };
  }

  async *logs(id: string, options: { after?: string; signal: AbortSignal }): AsyncIterable<Output> {
    const place = await this.#placeOf(id);
    if (place) yield* place.logs(id, options);
  }

  async dial(id: string, port: number): Promise<Duplex> {
    return (await this.#known(id)).dial(id, port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const driver of this.#both) await driver[Symbol.asyncDispose]();
  }

  async #placeOf(id: string): Promise<Compute | undefined> {
    if (!this.#places.has(id)) await this.list();
    return this.#places.get(id);
  }

  async #known(id: string): Promise<Compute> {
    const place = await this.#placeOf(id);
    if (!place) throw new Error(`no instance ${id}`);
    return place;
  }
}
