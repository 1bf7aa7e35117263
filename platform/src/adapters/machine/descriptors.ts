/** Files opened for the moment in which a program is started. */
import { closeSync, fchownSync, openSync, readdirSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

/** Files there are in memory. */
const MEMORY = "/dev/shm";

/** Removes what a server that died between making a file and taking its name left there; such files are empty. */
export function removeNamed(prefix: string): void {
  for (const name of readdirSync(MEMORY)) if (name.startsWith(prefix)) rmSync(join(MEMORY, name), { force: true });
}

/**
 * Synchronous: a dozen calls of some microseconds each, which would take milliseconds as tasks of a thread pool, and a start is waited for.
 */
export class Descriptors implements Disposable {
  readonly #open: number[] = [];

  open(path: string, flags: string, mode?: number): number {
    const fd = openSync(path, flags, mode);
    this.#open.push(fd);
    return fd;
  }

  /**
   * A file without a name, in memory, that only its owner can read: a server that dies halfway leaves neither a file nor a program with half
   * of its variables.
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

  [Symbol.dispose](): void {
    for (const fd of this.#open) closeSync(fd);
  }
}
