/** Files in a folder keep the port's promises while somebody replaces what is there. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SeededRandom } from "../../kernel/random.ts";
import { filesConformance, type OpenedFiles, put, read } from "../../ports/files/files.conformance.ts";
import { FolderFiles } from "./folder-files.ts";

async function setup(): Promise<OpenedFiles & { volume: string; outside: string }> {
  const base = await mkdtemp(join(tmpdir(), "millrace-files-"));
  const [volume, outside] = [join(base, "volume"), join(base, "outside")];
  await mkdir(volume);
  await mkdir(outside);
  await writeFile(join(outside, "secret"), "outside");
  return {
    volume,
    outside,
    files: new FolderFiles(volume, new SeededRandom(1)),
    program: {
      write: (path, text) => writeFile(join(volume, path), text),
      read: (path) => readFile(join(volume, path), "utf8"),
      folder: async (path) => void (await mkdir(join(volume, path))),
      link: (path, to) => symlink(to === "folder" ? outside : join(outside, "secret"), join(volume, path)),
      pipe: async (path) => void execFileSync("mkfifo", [join(volume, path)]),
      date: async (path, seconds) =>
        void execFileSync("touch", ["-d", `@${seconds}`, join(volume, path)], { stdio: "ignore" }),
      writeBadName: (folder) =>
        writeFile(Buffer.concat([Buffer.from(`${volume}/${folder}/`), Buffer.from([0xff])]), ""),
      names: (folder) => readdir(join(volume, folder)),
    },
    secret: () => readFile(join(outside, "secret"), "utf8"),
    [Symbol.asyncDispose]: () => rm(base, { recursive: true }),
  };
}

filesConformance("FolderFiles", setup);

test("what would be more than the volume's size is refused, where nothing else holds it to that", async () => {
  await using world = await setup();
  const files = new FolderFiles(world.volume, new SeededRandom(1), async () => 10);
  await put(files, "fits", "0123456789");
  await expect(put(files, "too-long", "0123456789a")).rejects.toMatchObject({ reason: "full" });
  expect([await read(files, "fits"), await files.hidden.list([], { most: 10 })]).toEqual(["0123456789", []]);
});

test("what is announced to be more than the volume, its file system or the disk takes is refused before it comes", async () => {
  await using world = await setup();
  const { volume } = world;
  const own = new FolderFiles(volume, new SeededRandom(1), async () => 10);
  await using fits = await own.draft(10);
  expect(fits).toBeDefined();
  await expect(own.draft(11)).rejects.toMatchObject({ reason: "full", message: expect.stringContaining("volume") });
  await expect(world.files.draft(2 ** 60)).rejects.toMatchObject({ reason: "full" });
  const disk = new FolderFiles(volume, new SeededRandom(1), undefined, async () => 10);
  await expect(disk.draft(11)).rejects.toMatchObject({ reason: "full", message: expect.stringContaining("disk") });
});

test("a folder that is deeper than anybody walks is not removed, and says so", async () => {
  await using world = await setup();
  const deep = Array.from({ length: 70 }, () => "d");
  await world.files.makeFolder(deep);
  await expect(world.files.removeAll(["d"], 100)).rejects.toMatchObject({ reason: "forbidden" });
  expect(await world.files.find(deep)).toBeDefined();
});

test("a folder in a tree that is removed, and is swapped for a link again and again, takes nothing outside with it", async () => {
  await using world = await setup();
  const { volume, outside } = world;
  let isOver = false;
  const swapping = (async () => {
    while (!isOver) {
      await mkdir(join(volume, "tree/folder"), { recursive: true }).catch(() => {});
      await writeFile(join(volume, "tree/folder/secret"), "inside").catch(() => {});
      await rm(join(volume, "tree/folder"), { recursive: true, force: true }).catch(() => {});
      await symlink(outside, join(volume, "tree/folder")).catch(() => {});
      await rm(join(volume, "tree/folder"), { force: true }).catch(() => {});
    }
  })();
  for (let tries = 0; tries < 200; tries++) await world.files.removeAll(["tree"], 100);
  isOver = true;
  await swapping;
  expect([await world.secret(), await readdir(outside)]).toEqual(["outside", ["secret"]]);
});

test("the last room of the disk is not for files: one is refused with words, also in the middle", async () => {
  await using world = await setup();
  let left = 2 ** 25;
  const files = new FolderFiles(world.volume, new SeededRandom(1), undefined, async () => left);
  const piece = Buffer.alloc(2 ** 20);
  await using draft = await files.draft();
  await draft.write(piece);
  // Other programs took the space. The draft notices it some MB later.
  left = 0;
  const more = (async () => {
    for (let pieces = 0; pieces < 64; pieces++) await draft.write(piece);
  })();
  const words = /^The server's disk is full: .* ask the operator/;
  await expect(more).rejects.toMatchObject({ reason: "full", message: expect.stringMatching(words) });
  await expect(put(files, "another", "a")).rejects.toMatchObject({ reason: "full" });
});

test("a folder that is swapped for a link again and again shows nothing of what is outside", async () => {
  await using world = await setup();
  await world.program.folder("real");
  await world.program.write("real/secret", "inside");
  const { volume, outside } = world;
  let swaps = 0;
  const swapping = (async () => {
    for (; swaps < 300; swaps++) {
      await rm(join(volume, "way"), { recursive: true, force: true });
      if (swaps % 2 === 0) await symlink(outside, join(volume, "way"));
      else {
        await mkdir(join(volume, "way"));
        await writeFile(join(volume, "way", "secret"), "inside");
      }
    }
  })();
  const seen = new Set<string | undefined>();
  while (swaps < 300) seen.add(await read(world.files, "way/secret"));
  await swapping;
  seen.delete(undefined);
  seen.delete("");
  expect([...seen].filter((text) => text !== "inside")).toEqual([]);
});
