/** Large payloads as files: they are safely on disk before a row refers to them, and are removed after no row does. */
import { constants, statSync } from "node:fs";
import { mkdir, open, readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { requestId } from "../../kernel/ids.ts";
import { isProblem, problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import type { Payload } from "../../ports/queue/job.ts";

const PIECE_BYTES = 256 * 1024;

export class PayloadFiles {
  readonly #folder: string;
  readonly #random: Random;

  private constructor(folder: string, random: Random) {
    this.#folder = folder;
    this.#random = random;
  }

  static async open(folder: string, random: Random): Promise<PayloadFiles> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return new PayloadFiles(folder, random);
  }

  /**
   * Every write has a name of its own, so two workers that report the same job never touch each other's file. An error in the pieces is
   * passed on unchanged.
   */
  async write(payload: Payload | AsyncIterable<Uint8Array>): Promise<string> {
    const name = `${requestId(this.#random)}${requestId(this.#random)}`;
    try {
      await this.#write(name, payload);
      return name;
    } catch (cause) {
      // Half a file would take space that a full disk lacks.
      await this.remove([name]).catch(() => undefined);
      if (isProblem(cause)) throw cause;
      throw problem("unavailable", `The data folder could not be written: ${(cause as Error).message}`, { cause });
    }
  }

  async #write(name: string, payload: Payload | AsyncIterable<Uint8Array>): Promise<void> {
    await using file = await open(join(this.#folder, name), "wx", 0o600);
    await file.writeFile(payload as Uint8Array | AsyncIterable<Uint8Array>);
    await file.sync();
    await using folder = await open(this.#folder, constants.O_RDONLY);
    await folder.sync();
  }

  async read(name: string): Promise<Buffer | undefined> {
    return readFile(join(this.#folder, name)).catch(missing);
  }

  /** Synchronous, like the queries of the database. A file that is gone counts as 0 bytes. */
  bytes(name: string): number {
    return statSync(join(this.#folder, name), { throwIfNoEntry: false })?.size ?? 0;
  }

  /** A part of a file, read as fast as the caller takes it. Once it is open, removing the file does not affect its readers. */
  async stretch(name: string, start: number, bytes: number): Promise<AsyncIterable<Uint8Array> | undefined> {
    const file = await open(join(this.#folder, name), constants.O_RDONLY).catch(missing);
    return file?.createReadStream({ start, end: start + bytes - 1, highWaterMark: PIECE_BYTES });
  }

  async remove(names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => unlink(join(this.#folder, name)).catch(missing)));
  }

  /** Removes files that a crash left without a row. */
  async sweep(isKnown: (name: string) => boolean): Promise<void> {
    const names = await readdir(this.#folder);
    await this.remove(names.filter((name) => !isKnown(name)));
  }
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
  return undefined;
}
