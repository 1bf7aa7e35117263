/** A driver made of two: images that name the machine's own file system run on one, all others on the other. */
import type { Duplex } from "node:stream";
import {
  type Box,
  type Capabilities,
  type Compute,
  type Instance,
  type InstanceSpec,
  ONLY_BOX,
  type Output,
  type RegistryCredential,
  StartRefused,
} from "./compute.ts";
import type { ExecSpec, Execution } from "./execution.ts";
import type { ImageFacts } from "./images.ts";
import type { Publishing } from "./publish.ts";
import { ExecRefused, nothingLeft } from "./refusal.ts";
import type { Stats } from "./stats.ts";
import type { Volumes } from "./volumes.ts";
import { type DiskWriters, writersOf } from "./writers.ts";

/** `host` or `host:/abs/dir`. */
export const isHostImage = (image: string): boolean => image === "host" || image.startsWith("host:");

export interface Drivers {
  host: Compute;
  containers: Compute;
  /** Why images of the machine's own files are not run for this account now; undefined when they are. */
  refusesHost?: (account: string) => Promise<string | undefined>;
}

export class ByImage implements Compute {
  readonly #drivers: Drivers;
  readonly #both: readonly Compute[];
  readonly writers: DiskWriters;
  /** Which driver has an instance; those of an earlier process are found by asking. */
  readonly #places = new Map<string, Compute>();

  constructor(drivers: Drivers) {
    this.#drivers = drivers;
    this.#both = [drivers.host, drivers.containers];
    this.writers = writersOf(this.#both);
  }

  /** The driver that runs an image, whose abilities and link host hold for it. */
  driverOf(image: string): Compute {
    return isHostImage(image) ? this.#drivers.host : this.#drivers.containers;
  }

  /** What both can. */
  get capabilities(): Capabilities {
    const { host, containers } = this.#drivers;
    const both = (ability: keyof Capabilities) => host.capabilities[ability] && containers.capabilities[ability];
    const names = Object.keys(host.capabilities) as (keyof Capabilities)[];
    return Object.fromEntries(names.map((name) => [name, both(name)])) as unknown as Capabilities;
  }

  /** The one of the machine's own programs; for an image ask its driver. */
  get linkHost(): string {
    return this.#drivers.host.linkHost;
  }

  /** Both stand on the same machine, so nothing is added up. */
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

  /** Both see the same ones, so one of them makes and removes them, for the instances of both. */
  get volumes(): Volumes {
    const [first, second] = this.#both.toSorted(
      (a, b) => Number(b.capabilities.volumes) - Number(a.capabilities.volumes),
    );
    const [own, other] = [first!.volumes, second!.volumes];
    return {
      create: (volume) => own.create(volume),
      grow: (id, sizeGb) => own.grow(id, sizeGb),
      remove: (id) => own.remove(id, other.usersOf),
      usage: (id) => own.usage(id),
      list: () => own.list(),
      find: (id) => own.find(id),
      usersOf: async (id) => (await Promise.all([own.usersOf(id), other.usersOf(id)])).flat(),
      rest: () => own.rest(other.usersOf),
    };
  }

  publishing(image: string): Publishing {
    return this.driverOf(image).publishing(image);
  }

  groupInterface(image: string): string {
    return this.driverOf(image).groupInterface(image);
  }

  readonly images: ImageFacts = {
    originOf: (image) => this.driverOf(image).images.originOf(image),
    lookUp: (image, lookup) => this.driverOf(image).images.lookUp(image, lookup),
  };

  async prepare(image: string, progress: (line: string) => void, credential?: RegistryCredential): Promise<void> {
    await this.driverOf(image).prepare(image, progress, credential);
  }

  /** An id belongs to one image for ever, so a second start finds the driver of the first. */
  async start(id: string, spec: InstanceSpec): Promise<Instance> {
    const driver = this.driverOf(spec.image);
    const reason = isHostImage(spec.image) ? await this.#drivers.refusesHost?.(spec.account) : undefined;
    if (reason !== undefined) throw new StartRefused(reason);
    const instance = await driver.start(id, spec);
    this.#places.set(id, driver);
    return instance;
  }

  async again(id: string, spec: InstanceSpec): Promise<Instance> {
    const place = await this.#placeOf(id);
    if (!place) throw new StartRefused(nothingLeft(id));
    return place.again(id, spec);
  }

  async stop(id: string, graceMs: number): Promise<void> {
    await (await this.#placeOf(id))?.stop(id, graceMs);
  }

  /** Asks both: what is left of an instance is not always in a list. */
  async remove(id: string): Promise<void> {
    const place = this.#places.get(id);
    await Promise.all((place ? [place] : this.#both).map((driver) => driver.remove(id)));
    this.#places.delete(id);
  }

  async list(): Promise<Instance[]> {
    const lists = await Promise.all(this.#both.map(async (driver) => ({ driver, all: await driver.list() })));
    for (const { driver, all } of lists) for (const { id } of all) this.#places.set(id, driver);
    return lists.flatMap(({ all }) => all);
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

  async freeze(id: string): Promise<void> {
    await (await this.#known(id)).freeze(id);
  }

  async thaw(id: string): Promise<void> {
    await (await this.#known(id)).thaw(id);
  }

  async exec(id: string, spec: ExecSpec): Promise<Execution> {
    const place = await this.#placeOf(id);
    if (!place) throw new ExecRefused(`no instance ${id}`);
    return place.exec(id, spec);
  }

  async stats(id: string): Promise<Stats | undefined> {
    return (await this.#placeOf(id))?.stats(id);
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
