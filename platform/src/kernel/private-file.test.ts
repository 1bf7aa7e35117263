/** Private files: only their owner can read them, they are whole or absent, and a second writer never changes them. */
import { chown, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keepPrivately, readPrivate, replacePrivately } from "./private-file.ts";

async function setup() {
  const folder = await mkdtemp(join(tmpdir(), "millrace-private-"));
  return {
    folder,
    file: join(folder, "key"),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

const modeOf = async (file: string) => (await stat(file)).mode & 0o777;

/** The texts are long enough that two writers to one file would mix. Each text repeats one letter. */
const texts = Array.from("abcdefghijklmnop", (letter) => letter.repeat(1_000_000));

test("a kept file can be read by its owner alone", async () => {
  await using world = await setup();
  await keepPrivately(world.file, "text\n");
  expect(await readPrivate(world.file)).toBe("text\n");
  expect(await modeOf(world.file)).toBe(0o600);
});

test("the first text counts: keeping another changes nothing", async () => {
  await using world = await setup();
  await keepPrivately(world.file, "first");
  await keepPrivately(world.file, "second");
  expect(await readPrivate(world.file)).toBe("first");
  expect(await readdir(world.folder)).toEqual(["key"]);
});

test("of many who keep at once one counts, and its text is whole", async () => {
  await using world = await setup();
  await Promise.all(texts.map((text) => keepPrivately(world.file, text)));
  expect(texts.includes(await readPrivate(world.file))).toBe(true);
  expect(await readdir(world.folder)).toEqual(["key"]);
});

test("a file that cannot be written is not there at all, and the error is told", async () => {
  await using world = await setup();
  await expect(keepPrivately(join(world.folder, "missing", "key"), "text")).rejects.toThrow("ENOENT");
  expect(await readdir(world.folder)).toEqual([]);
});

test("a draft left behind by a crash stands in nobody's way", async () => {
  await using world = await setup();
  await writeFile(`${world.file}.${process.pid}.new`, "half");
  await keepPrivately(world.file, "whole");
  expect(await readPrivate(world.file)).toBe("whole");
});

test.runIf(process.getuid!() === 0)("a file that root replaces still belongs to its owner", async () => {
  await using world = await setup();
  await keepPrivately(world.file, "old");
  await chown(world.file, 4711, 4712);
  await replacePrivately(world.file, "new");
  const { uid, gid } = await stat(world.file);
  expect([uid, gid, await modeOf(world.file)]).toEqual([4711, 4712, 0o600]);
});

test("replacing puts the new text in the place of the old, as private as before", async () => {
  await using world = await setup();
  await keepPrivately(world.file, "old");
  await replacePrivately(world.file, "new");
  expect(await readPrivate(world.file)).toBe("new");
  expect(await modeOf(world.file)).toBe(0o600);
  expect(await readdir(world.folder)).toEqual(["key"]);
});

test("replacing makes a file private that was not", async () => {
  await using world = await setup();
  await writeFile(world.file, "old", { mode: 0o644 });
  await replacePrivately(world.file, "new");
  expect(await modeOf(world.file)).toBe(0o600);
});

test("a reader sees one whole text while many replace it at once", async () => {
  await using world = await setup();
  await keepPrivately(world.file, texts[0]!);
  const replacing = Promise.all(texts.map((text) => replacePrivately(world.file, text)));
  const seen = await Promise.all(texts.map(() => readPrivate(world.file)));
  await replacing;
  seen.push(await readPrivate(world.file));
  expect(seen.filter((text) => !texts.includes(text)).map((text) => text.length)).toEqual([]);
  expect(await readdir(world.folder)).toEqual(["key"]);
});
