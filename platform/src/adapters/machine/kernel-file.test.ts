/** Files of the kernel are read whole, with few system calls. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readKernelFile } from "./kernel-file.ts";

test("a file of the kernel is read whole, also where another text was read before", () => {
  const [status, comm] = ["/proc/self/status", "/proc/self/comm"];
  expect(readKernelFile(status)).toContain(`\nPid:\t${process.pid}\n`);
  expect(readKernelFile(comm)).toBe(readFileSync(comm, "utf8"));
});

test("a file that is longer than expected is read whole too", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-kernel-file-"));
  try {
    const file = join(folder, "long");
    await writeFile(file, "x".repeat(100_000));
    expect(readKernelFile(file)).toHaveLength(100_000);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a file that is not there is an error with its code", () => {
  expect(() => readKernelFile("/proc/self/nothing")).toThrow(expect.objectContaining({ code: "ENOENT" }));
});
