/** Reads short files that the kernel makes, such as those of processes and of control groups, in as few system calls as possible. */
import { closeSync, openSync, readFileSync, readSync } from "node:fs";

const buffer = Buffer.allocUnsafeSlow(16_384);

/**
 * The whole text of a file that the kernel hands out in one piece. A file of unknown length takes `readFileSync` two calls more, and hundreds
 * of instances are looked at every few seconds.
 */
export function readKernelFile(file: string): string {
  const fd = openSync(file, "r");
  try {
    const length = readSync(fd, buffer, 0, buffer.length, null);
    return length < buffer.length ? buffer.toString("latin1", 0, length) : readFileSync(file, "latin1");
  } finally {
    closeSync(fd);
  }
}
