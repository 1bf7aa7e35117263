/** Makes new file systems by copying a prepared one: three times as fast, without the space reserved for a log, and one copy is ready. */
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { runTool } from "./forker.ts";

/** Programs ask for few different sizes. The oldest size is dropped first. */
const MOST_SIZES = 8;
/** The next copy waits this long, since the program that just started needs the processor more. */
const AHEAD_AFTER_MS = 500;

/** The files of one size. */
interface Size {
  /** The file system that all copies are made from. */
  original: Promise<string>;
  /** A copy that is ready for the next program. */
  ahead?: Promise<string> | undefined;
  timer?: Timer;
}

export interface CopiesOptions {
  /** A folder that only this object uses. It is emptied at the start, since files of an earlier server are not trusted. */
  folder: string;
  clock: Clock;
  /** Creates a file system in a new file. */
  make(file: string, bytes: number): Promise<void>;
}

export class ImageCopies implements AsyncDisposable {
  readonly #options: CopiesOptions;
  readonly #sizes = new Map<number, Size>();
  #made = 0;
  #isClosed = false;

  private constructor(options: CopiesOptions) {
    this.#options = options;
  }

  static async open(options: CopiesOptions): Promise<ImageCopies> {
    await rm(options.folder, { recursive: true, force: true });
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    return new ImageCopies(options);
  }

  /** Puts a file system of this size at `file`. It is on disk when this resolves. */
  async place(file: string, bytes: number): Promise<void> {
    const size = this.#sizeOf(bytes);
    const { ahead } = size;
    size.ahead = undefined;
    this.#prepare(size);
    const copy = await (ahead?.catch(() => this.#copyOf(size)) ?? this.#copyOf(size));
    await rename(copy, file);
  }

  #sizeOf(bytes: number): Size {
    const known = this.#sizes.get(bytes);
    if (known) return known;
    const [oldest] = this.#sizes;
    if (oldest && this.#sizes.size >= MOST_SIZES) this.#forget(...oldest);
    const original = this.#makeOriginal(bytes);
    const size = { original };
    this.#sizes.set(bytes, size);
    // A failure is forgotten, since the next attempt may succeed.
    floating(original, () => this.#sizes.delete(bytes));
    return size;
  }

  /** The original is itself a sparse copy, so that the empty space reserved for a log is not part of it. */
  async #makeOriginal(bytes: number): Promise<string> {
    const draft = this.#newFile();
    try {
      await this.#options.make(draft, bytes);
      return await this.#copied(draft);
    } finally {
      await rm(draft, { force: true });
    }
  }

  async #copyOf({ original }: Size): Promise<string> {
    return this.#copied(await original);
  }

  async #copied(from: string): Promise<string> {
    const to = this.#newFile();
    try {
      await runTool("cp", ["--sparse=always", from, to]);
      await using handle = await open(to, "r+");
      await handle.sync();
      return to;
    } catch (error) {
      await rm(to, { force: true });
      throw error;
    }
  }

  #prepare(size: Size): void {
    size.timer?.cancel();
    size.timer = this.#options.clock.after(AHEAD_AFTER_MS, () => {
      if (this.#isClosed || size.ahead) return;
      size.ahead = this.#copyOf(size);
      floating(size.ahead, () => {
        size.ahead = undefined;
      });
    });
  }

  #forget(bytes: number, size: Size): void {
    this.#sizes.delete(bytes);
    size.timer?.cancel();
    const remove = (file: string) => rm(file, { force: true });
    floating(Promise.all([size.original.then(remove), size.ahead?.then(remove)]), () => {});
  }

  #newFile(): string {
    return join(this.#options.folder, String(++this.#made));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const sizes = [...this.#sizes.values()];
    for (const { timer } of sizes) timer?.cancel();
    await Promise.allSettled(sizes.flatMap(({ original, ahead }) => [original, ahead]));
    await rm(this.#options.folder, { recursive: true, force: true });
  }
}
