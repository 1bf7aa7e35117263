/** All output of programs on the host is read, and whatever a program does with its output, it takes little of the disk. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ended, linesOf, newId, specOf } from "../../ports/compute/conformance-world.ts";
import { type HostWorld, openHost } from "./host-world.ts";

const MEGABYTES = 6;
const LINE = "x".repeat(999);
const LINES = MEGABYTES * 1_000;
const PROGRAM_BYTES = 3_000_000;

const openSmall = () => openHost({ output: { program: PROGRAM_BYTES, machine: 1_000_000_000 } });

async function run(world: HostWorld, command: string[]): Promise<string> {
  const id = newId();
  await world.compute.start(id, { ...specOf(world, []), entrypoint: command, cmd: [] });
  return id;
}

/** The bytes in an instance's files: their apparent length, and their size on the disk. */
async function takenBy(world: HostWorld, id: string) {
  const folder = join(world.data, "instances", id);
  const stats = await Promise.all((await readdir(folder)).map((name) => stat(join(folder, name))));
  return { long: sum(stats.map(({ size }) => size)), onDisk: sum(stats.map(({ blocks }) => blocks * 512)) };
}

const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);

test(`of ${MEGABYTES} MB that are read as they are written nothing is lost`, async () => {
  await using world = await openSmall();
  const script = `const { writeSync } = require("node:fs");
    for (let n = 0; n < ${LINES}; n++) writeSync(1, String(n).padStart(8) + "${LINE}".slice(8) + "\\n");`;
  const id = await run(world, ["node", "-e", script]);
  const signal = new AbortController().signal;
  let next = 0;
  let wrong = 0;
  for await (const { lines, lost } of world.compute.logs(id, { signal })) {
    expect(lost).toBeUndefined();
    for (const line of lines) if (Number(line.slice(0, 8)) !== next++ || line.length !== LINE.length) wrong++;
  }
  expect([next, wrong]).toEqual([LINES, 0]);
  expect((await takenBy(world, id)).long).toBeLessThan(PROGRAM_BYTES + 100_000);
  await world.compute.remove(id);
});

test("who comes later than what was kept is told how much is missing, and goes on with the rest", async () => {
  await using world = await openSmall();
  const script = `const { writeSync } = require("node:fs");
    for (let n = 0; n < ${LINES}; n++) writeSync(1, String(n).padStart(8) + "${LINE}".slice(8) + "\\n");`;
  const id = await run(world, ["node", "-e", script]);
  await ended(world.compute, id);
  const signal = new AbortController().signal;
  let missing = 0;
  let bytes = 0;
  let last = "";
  for await (const { lines, lost = 0 } of world.compute.logs(id, { signal })) {
    missing += lost;
    bytes += sum(lines.map(({ length }) => length + 1));
    last = lines.at(-1) ?? last;
  }
  expect(missing).toBeGreaterThan(1_000_000);
  expect(missing + bytes).toBe(LINES * 1_000);
  expect(Number(last.slice(0, 8))).toBe(LINES - 1);
  await world.compute.remove(id);
});

/** Ways to make a file large, each of which ends by itself. Every Debian has Perl, which can call the system directly. */
const perl = (script: string) => ["perl", "-e", script];
const WAYS = {
  "writes without end": ["sh", "-c", "yes | head -c 6000000"],
  "reserves room": perl(`syscall(${process.arch === "x64" ? 285 : 47}, 1, 0, 0, 50_000_000)`),
  "makes it long": ["node", "-e", "try { require('node:fs').ftruncateSync(1, 2e12) } catch {}"],
  "writes far behind its end": perl(
    "use Fcntl; fcntl(STDOUT, F_SETFL, 0); sysseek(STDOUT, 2e12, 0); syswrite(STDOUT, 'x')",
  ),
  "opens it anew": ["sh", "-c", "truncate -s 2T /proc/self/fd/1; fallocate -l 50000000 /dev/stdout; exit 0"],
};

test.each(Object.entries(WAYS))(
  "a program that %s with its output takes no more than its part of the disk",
  async (_, command) => {
    await using world = await openSmall();
    const id = await run(world, command);
    await ended(world.compute, id);
    const { long, onDisk } = await takenBy(world, id);
    expect(long).toBeLessThan(PROGRAM_BYTES + 100_000);
    expect(onDisk).toBeLessThan(PROGRAM_BYTES + 100_000);
    await world.compute.remove(id);
  },
);

test("a program whose child goes on with its output has ended all the same, and so has the child", async () => {
  await using world = await openSmall();
  const id = await run(world, ["sh", "-c", "echo last words; sleep 1000 & exit 3"]);
  expect(await ended(world.compute, id)).toMatchObject({ code: 3 });
  expect((await linesOf(world.compute, id)).lines).toEqual(["last words"]);
  await world.compute.remove(id);
  expect(await world.remains(id)).toEqual([]);
});
