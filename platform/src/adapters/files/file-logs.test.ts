/** Logs in files keep the port's promises, also through crashes, torn files and full disks. */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { FakeClock, turn } from "../../kernel/clock.ts";
import { linesOf, logsConformance, NOW, read, STREAM, said, texts } from "../../ports/logs/logs.conformance.ts";
import type { LogLine } from "../../ports/logs/logs.ts";
import { FileLogs, type LogLimits } from "./file-logs.ts";

async function openFiles(limits?: Partial<LogLimits>) {
  const folder = await mkdtemp(join(tmpdir(), "millrace-logs-"));
  const failures: unknown[] = [];
  const clock = new FakeClock();
  const open = () => new FileLogs(folder, { failed: (error) => failures.push(error), limits, clock });
  let logs = open();
  return {
    logs,
    clock,
    failures,
    folder,
    /** Where the stream's files are. */
    place: join(folder, STREAM),
    async reopen() {
      await logs[Symbol.asyncDispose]();
      logs = open();
      return logs;
    },
    /** A second writer on the same files, as after a crash of the first. */
    another: open,
    async [Symbol.asyncDispose]() {
      await logs[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

logsConformance("FileLogs", openFiles);
logsConformance("FileLogs with small files", () => openFiles({ fileBytes: 40_000, files: 1000 }));

const FIRST_FILE = "00000001.log";
const filesIn = async (folder: string) => (await readdir(folder)).toSorted();

test.each([{ tail: 5000 }, { since: NOW }, { since: NOW + 1e9 }])(
  "others get their turn while a long log is read from %j",
  async (from) => {
    await using opened = await openFiles();
    for (let appended = 0; appended < 40; appended++) {
      opened.logs.append(STREAM, linesOf(...Array<string>(10).fill("x".repeat(16_000))));
      await opened.logs.has(STREAM);
    }
    let [parsed, most, isOver] = [0, 0, false];
    const { parse } = JSON;
    using _ = vi.spyOn(JSON, "parse").mockImplementation((text) => {
      parsed += text.length;
      most = Math.max(most, parsed);
      return parse(text);
    });
    const turns = (async () => {
      for (; !isOver; await turn()) parsed = 0;
    })();
    await opened.logs.read(STREAM, { from });
    isOver = true;
    await turns;
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(600_000);
  },
);

test("the streams that were begun last are named first", async () => {
  await using opened = await openFiles();
  for (const [second, name] of ["b", "c", "a"].entries()) {
    opened.logs.append(`worker/ep/${name}`, linesOf("1"));
    await opened.logs.has(`worker/ep/${name}`);
    await utimes(join(opened.folder, "worker/ep", name), second, second);
  }
  expect(await opened.logs.newest("worker/ep/", 2)).toEqual(["a", "c"]);
});

test("only the owner can read the files", async () => {
  await using opened = await openFiles();
  opened.logs.append(STREAM, linesOf("a"));
  await opened.logs.has(STREAM);
  expect((await stat(opened.place)).mode & 0o777).toBe(0o700);
  expect((await stat(join(opened.place, FIRST_FILE))).mode & 0o777).toBe(0o600);
});

test("files are rotated by size, the oldest go, and numbers go on", async () => {
  await using opened = await openFiles({ fileBytes: 2000, files: 3 });
  for (let i = 0; i < 100; i++) {
    opened.logs.append(STREAM, linesOf(`${i} ${"x".repeat(100)}`), `${i}`);
    await opened.logs.has(STREAM);
  }
  const files = await filesIn(opened.place);
  expect(files).toHaveLength(3);
  for (const file of files) expect((await stat(join(opened.place, file))).size).toBeLessThanOrEqual(2000);
  const kept = await read(opened.logs);
  expect(kept.at(-1)!.sequence).toBe(100);
  expect(kept.map(({ sequence }) => sequence)).toEqual(kept.map((_, i) => 100 - kept.length + 1 + i));
  const again = await opened.reopen();
  expect(await read(again)).toEqual(kept);
  expect(await again.position(STREAM)).toBe("99");
});

test("a reader who was away too long is told how many lines are no longer kept", async () => {
  await using opened = await openFiles({ fileBytes: 2000, files: 2 });
  for (let i = 0; i < 100; i++) {
    opened.logs.append(STREAM, linesOf(`${i} ${"x".repeat(100)}`));
    await opened.logs.has(STREAM);
  }
  const [oldest] = await read(opened.logs);
  const stop = new AbortController();
  const query = { from: { after: { ts: NOW, sequence: 10 } } };
  const came: LogLine[] = [];
  for await (const lines of opened.logs.follow(STREAM, query, stop.signal)) {
    came.push(...lines);
    if (came.length > 1) stop.abort();
  }
  const missing = oldest!.sequence - 11;
  expect(came.slice(0, 2)).toEqual([
    { source: "system", ts: NOW, sequence: oldest!.sequence - 1, line: `${missing} lines are no longer kept` },
    oldest,
  ]);
});

test("a last record that a crash tore is ignored, its number is used again, and the rest is kept", async () => {
  await using opened = await openFiles();
  opened.logs.append(STREAM, linesOf("a"), "1");
  await opened.logs.has(STREAM);
  opened.logs.append(STREAM, linesOf("b", "c"), "2");
  await opened.logs.has(STREAM);
  const file = join(opened.place, FIRST_FILE);
  const whole = (await stat(file)).size;
  const firstRecord = (await readFile(file, "utf8")).indexOf("\n") + 1;
  for (let size = firstRecord; size < whole; size++) {
    await truncate(file, size);
    await using torn = opened.another();
    expect(texts(await read(torn))).toEqual(["a"]);
    expect(await torn.position(STREAM)).toBe("1");
  }
  await using after = opened.another();
  after.append(STREAM, linesOf("b again"), "2 again");
  expect((await read(after)).map(({ sequence, line }) => `${sequence} ${line}`)).toEqual(["1 a", "2 b again"]);
  expect(await after.position(STREAM)).toBe("2 again");
});

test("a file with nothing whole in it, or with another's text, hides no other", async () => {
  await using opened = await openFiles({ fileBytes: 100 });
  for (const line of ["a", "b", "c"]) {
    opened.logs.append(STREAM, linesOf(line.repeat(60)));
    await opened.logs.has(STREAM);
  }
  const [, second, third] = await filesIn(opened.place);
  await writeFile(join(opened.place, second!), "no record at all\n{}\n[1]\nnull\n");
  await writeFile(join(opened.place, third!), '{"n":3,"l":[[17');
  await writeFile(join(opened.place, "notes.txt"), "by hand");
  const again = await opened.reopen();
  expect((await read(again)).map(({ line }) => line[0])).toEqual(["a"]);
  again.append(STREAM, linesOf("d"));
  expect((await read(again)).map(({ sequence, line }) => `${sequence} ${line[0]}`)).toEqual(["1 a", "2 d"]);
});

test("what comes faster than it can be written is dropped, counted, and said in its place", async () => {
  await using opened = await openFiles({ waitingOfStream: 1000 });
  for (let i = 0; i < 100; i++) opened.logs.append(STREAM, linesOf(`${i} ${"x".repeat(90)}`), `${i}`);
  opened.logs.append("worker/ep/other", linesOf("has room of its own"));
  const kept = await read(opened.logs);
  const written = kept.length - 1;
  expect(written).toBeLessThan(20);
  expect(kept.slice(0, -1).map(({ line }) => Number.parseInt(line, 10))).toEqual(
    Array.from({ length: written }, (_, i) => i),
  );
  expect(kept.at(-1)).toEqual({
    ...{ source: "system", ts: NOW, sequence: written + 1 },
    line: `${100 - written} lines were dropped: they came faster than they could be written`,
  });
  expect(await opened.logs.position(STREAM)).toBe("99");
  expect(texts(await opened.logs.read("worker/ep/other", { from: { tail: 1 } }))).toEqual(["has room of its own"]);
  opened.logs.append(STREAM, linesOf("there is room again"));
  expect((await read(opened.logs)).at(-1)!.line).toBe("there is room again");
});

test("all streams together have a limit too", async () => {
  await using opened = await openFiles({ waitingOfAll: 5000 });
  for (let i = 0; i < 100; i++) opened.logs.append(`worker/ep/w${i}`, linesOf("x".repeat(100)));
  const first = await Promise.all(
    Array.from({ length: 100 }, (_, i) => opened.logs.read(`worker/ep/w${i}`, { from: { tail: 1 } })),
  );
  const dropped = first.filter(([line]) => line!.line.startsWith("1 line was dropped"));
  expect(dropped.length).toBeGreaterThan(50);
  expect(dropped.length).toBeLessThan(90);
});

test("a full disk costs lines and nothing else, is reported once, and is over by itself", async () => {
  await using opened = await openFiles();
  await mkdir(opened.place, { recursive: true });
  // Every write to this device fails for lack of space.
  await symlink("/dev/full", join(opened.place, FIRST_FILE));
  for (const line of ["a", "b", "c"]) {
    opened.logs.append(STREAM, linesOf(line), line);
    await opened.logs.position(STREAM);
  }
  expect(opened.failures).toHaveLength(1);
  expect(String(opened.failures[0])).toContain("ENOSPC");
  await rm(join(opened.place, FIRST_FILE));
  opened.logs.append(STREAM, linesOf("d"));
  expect((await read(opened.logs)).map(({ sequence, line }) => `${sequence} ${line}`)).toEqual([
    "1 3 lines were dropped: the server's disk was full",
    "2 d",
  ]);
  expect(await opened.logs.position(STREAM)).toBe("c");
});

test("removal leaves nothing on the disk, not even empty folders", async () => {
  await using opened = await openFiles();
  for (const stream of [STREAM, "worker/ep/w2", "worker/other/w1", "pod/p1"]) opened.logs.append(stream, linesOf("a"));
  await opened.logs.remove("worker/ep/");
  expect(await filesIn(join(opened.folder, "worker"))).toEqual(["other"]);
  await opened.logs.remove("worker/other/w1");
  await opened.logs.remove("pod/p1");
  expect(await filesIn(opened.folder)).toEqual([]);
});

test("lines that were appended just before the end are written", async () => {
  await using opened = await openFiles();
  for (let i = 0; i < 50; i++) opened.logs.append(`worker/ep/w${i}`, linesOf("last words"));
  const again = await opened.reopen();
  for (let i = 0; i < 50; i++)
    expect(texts(await again.read(`worker/ep/w${i}`, { from: { tail: 1 } }))).toEqual(["last words"]);
});

test("what the platform says stands where it was said, and a reader of one source sees only that", async () => {
  await using opened = await openFiles();
  opened.logs.append(STREAM, [said("starting"), ...linesOf("hello"), said("ended")]);
  expect(texts(await read(opened.logs, { tail: 5 }, "system"))).toEqual(["starting", "ended"]);
});

test("all files together stay within a size, and who writes much pays for it alone", async () => {
  await using opened = await openFiles({ fileBytes: 10_000, files: 5, total: 60_000 });
  const { logs, folder } = opened;
  logs.append("workers/quiet/w1", linesOf("said once"));
  await logs.has("workers/quiet/w1");
  for (let worker = 0; worker < 20; worker++)
    for (let i = 0; i < 50; i++) {
      logs.append(`workers/loud/w${worker}`, linesOf(`${worker} ${"x".repeat(1000)}`));
      await logs.has(`workers/loud/w${worker}`);
    }
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = names.filter((entry) => entry.isFile()).map(async (entry) => stat(join(entry.parentPath, entry.name)));
  const total = (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0);
  expect(total).toBeLessThan(65_000);
  expect((await logs.read("workers/quiet/w1", { from: { tail: 10 } })).map(({ line }) => line)).toEqual(["said once"]);
  expect((await logs.read("workers/loud/w19", { from: { tail: 1 } }))[0]!.line).toMatch(/^19 /);
  expect(opened.failures).toEqual([]);
});
