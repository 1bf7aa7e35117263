/** Disks that are made and mounted ahead, so that a program that starts waits for none. Each is a copy of a prepared file system. */
import { mkdir, open, readdir, readlink, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { ifNotThere } from "../../kernel/not-there.ts";
import { realRandom } from "../../kernel/random.ts";
import { runTool } from "./forker.ts";

/** The names of disks begin like this until they are given away. Their folders keep the name. */
const READY = ".ready-";
const ORIGINALS = ".originals";
/** Programs ask for few different sizes. The oldest size is dropped first. */
const MOST_SIZES = 8;
/** How many disks of one size lie ready. */
const AHEAD = 2;
/** The next disk waits this long, since the program that just started needs the processor more. */
const AHEAD_AFTER_MS = 50;

/** The files of one size. */
interface Size {
  bytes: number;
  /** The file system that all disks are copied from. */
  original: Promise<string>;
  /** Disks for the next programs. */
  ahead: Promise<string>[];
  timer?: Timer | undefined;
}

export interface ReadyDisksOptions {
  /** The folder in which disks are mounted. */
  places: string;
  /** The folder of their files. */
  files: string;
  clock: Clock;
  /** Creates a file system in a new file. */
  make(file: string, bytes: number): Promise<void>;
  /** Mounts a file that no device has. */
  attach(file: string, place: string): Promise<void>;
  /** Unmounts whatever is mounted at a place. */
  detach(place: string): Promise<void>;
}

export class ReadyDisks implements AsyncDisposable {
  readonly #options: ReadyDisksOptions;
  readonly #sizes = new Map<number, Size>();
  #isClosed = false;

  private constructor(options: ReadyDisksOptions) {
    this.#options = options;
  }

  /** Removes what a killed server had ready, since nothing says in which state it is. */
  static async open(options: ReadyDisksOptions): Promise<ReadyDisks> {
    const disks = new ReadyDisks(options);
    const { places, files } = options;
    await rm(disks.#originals, { recursive: true, force: true });
    await mkdir(disks.#originals, { recursive: true, mode: 0o700 });
    await mkdir(files, { recursive: true, mode: 0o700 });
    const [made, mounted] = await Promise.all([readdir(files), readdir(places, { withFileTypes: true })]);
    const links = mounted.filter((entry) => entry.isSymbolicLink()).map(({ name }) => join(places, name));
    const given = new Set(await Promise.all(links.map((link) => readlink(link).catch(ifNotThere("")))));
    const names = [...made, ...mounted.map(({ name }) => name)].filter((name) => name.startsWith(READY));
    for (const name of new Set(names)) if (made.includes(name) || !given.has(name)) await disks.#discard(name);
    return disks;
  }

  /** Returns the name of an empty, mounted disk of this size, which belongs to the caller from now on. */
  async take(bytes: number): Promise<string> {
    const size = this.#sizeOf(bytes);
    const ready = size.ahead.shift();
    this.#prepare(size);
    return ready ? ready.catch(() => this.#disk(size)) : this.#disk(size);
  }

  #sizeOf(bytes: number): Size {
    const known = this.#sizes.get(bytes);
    if (known) return known;
    const [oldest] = this.#sizes.values();
    if (oldest && this.#sizes.size >= MOST_SIZES) this.#forget(oldest);
    const original = this.#makeOriginal(bytes);
    const size: Size = { bytes, original, ahead: [] };
    this.#sizes.set(bytes, size);
    // A failure is forgotten, since the next attempt may succeed.
    floating(original, () => this.#sizes.delete(bytes));
    return size;
  }

  /** The original is itself a sparse copy, so that blocks of zeros take no space in any copy. */
  async #makeOriginal(bytes: number): Promise<string> {
    const draft = join(this.#originals, `${bytes}.new`);
    const original = join(this.#originals, String(bytes));
    try {
      await this.#options.make(draft, bytes);
      await copied(draft, original);
      return original;
    } finally {
      await rm(draft, { force: true });
    }
  }

  async #disk({ original }: Size): Promise<string> {
    const { files, places, attach } = this.#options;
    const name = `${READY}${Buffer.from(realRandom.bytes(6)).toString("hex")}`;
    const [file, place] = [join(files, name), join(places, name)];
    try {
      await Promise.all([copied(await original, file), mkdir(place, { mode: 0o700 })]);
      await attach(file, place);
      await rm(join(place, "lost+found"), { recursive: true, force: true });
      return name;
    } catch (error) {
      await this.#discard(name);
      throw error;
    }
  }

  #prepare(size: Size): void {
    if (this.#isClosed || size.timer || size.ahead.length >= AHEAD) return;
    size.timer = this.#options.clock.after(AHEAD_AFTER_MS, () => {
      size.timer = undefined;
      if (this.#isClosed || this.#sizes.get(size.bytes) !== size) return;
      const disk = this.#disk(size);
      size.ahead.push(disk);
      floating(
        disk.then(() => this.#prepare(size)),
        () => {
          size.ahead = size.ahead.filter((one) => one !== disk);
        },
      );
    });
  }

  #forget(size: Size): void {
    this.#sizes.delete(size.bytes);
    floating(this.#drop(size), () => {});
  }

  async #drop({ original, ahead, timer }: Size): Promise<void> {
    timer?.cancel();
    for (const made of await Promise.allSettled(ahead))
      if (made.status === "fulfilled") await this.#discard(made.value);
    await rm(await original, { force: true });
  }

  async #discard(name: string): Promise<void> {
    const { files, places, detach } = this.#options;
    await detach(join(places, name));
    await rm(join(files, name), { force: true });
    await rmdir(join(places, name)).catch(ifNotThere(undefined));
  }

  get #originals(): string {
    return join(this.#options.places, ORIGINALS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([...this.#sizes.values()].map((size) => this.#drop(size)));
    await rm(this.#originals, { recursive: true, force: true });
  }
}

/** Copies a file without its blocks of zeros. The copy is on disk when this resolves. */
async function copied(from: string, to: string): Promise<void> {
  try {
    await runTool("cp", ["--sparse=always", from, to]);
    await using handle = await open(to, "r+");
    await handle.sync();
  } catch (error) {
    await rm(to, { force: true });
    throw error;
  }
}
