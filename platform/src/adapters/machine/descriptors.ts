/** Files that are open only while a program is being started. */
import { closeSync, fchownSync, openSync, readdirSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { realRandom } from "../../kernel/random.ts";

/** The folder of files in memory. */
const MEMORY = "/dev/shm";

/** Removes files of a server that died between creating a file and removing its name. Such files are empty. */
export function removeNamed(prefix: string): void {
  for (const name of readdirSync(MEMORY)) if (name.startsWith(prefix)) rmSync(join(MEMORY, name), { force: true });
}

/** Synchronous on purpose: a dozen calls take microseconds each, and would take milliseconds in the thread pool while a start waits. */
export class Descriptors implements Disposable {
  readonly #open: number[] = [];

  open(path: string, flags: string, mode?: number): number {
    const fd = openSync(path, flags, mode);
    this.#open.push(fd);
    return fd;
  }

  /**
   * A nameless file in memory that only its owner can read. A server that dies halfway leaves neither a file nor a program with half of its
   * variables.
   */
  nameless(text: string, owner: number | undefined, name: string): number {
    const path = join(MEMORY, name);
    rmSync(path, { force: true });
    const writing = this.open(path, "wx", 0o600);
    const reading = this.open(path, "r");
    rmSync(path);
    for (let bytes = Buffer.from(text); bytes.length > 0; ) bytes = bytes.subarray(writeSync(writing, bytes));
    if (owner !== undefined) fchownSync(writing, owner, owner);
    return reading;
  }

  /** A nameless file in memory that starts with this text. Whoever opens it by this descriptor reads and writes from its beginning. */
  inMemory(text: string): number {
    const path = join(MEMORY, `millrace-${Buffer.from(realRandom.bytes(9)).toString("hex")}`);
    const fd = this.open(path, "wx+", 0o600);
    rmSync(path);
    for (let bytes = Buffer.from(text); bytes.length > 0; ) bytes = bytes.subarray(writeSync(fd, bytes));
    return fd;
  }

  [Symbol.dispose](): void {
    for (const fd of this.#open) closeSync(fd);
  }
}
