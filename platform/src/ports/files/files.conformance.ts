/** What every adapter of the files port guarantees, whatever programs put into a volume. */
import { describe, expect, test } from "vitest";
import type { Draft, FilePath, Files, Listing } from "./files.ts";

/** A volume, and what a program can do to it. */
export interface OpenedFiles extends AsyncDisposable {
  files: Files;
  program: {
    write(path: string, text: string): Promise<void>;
    read(path: string): Promise<string>;
    folder(path: string): Promise<void>;
    /** Makes a link that leads out of the volume, to a folder with a file `secret` in it, or to that file. */
    link(path: string, to: "folder" | "file"): Promise<void>;
    pipe(path: string): Promise<void>;
    /** Sets when a file was last changed. */
    date(path: string, seconds: number): Promise<void>;
    /** Makes a file whose name is not valid text. */
    writeBadName(folder: string): Promise<void>;
    names(folder: string): Promise<string[]>;
  };
  /** Returns the content of the file outside, which nothing may change. */
  secret(): Promise<string>;
}

const path = (text: string): FilePath => text.split("/");

export async function put(files: Files, to: string, text: string, options: Parameters<Draft["keep"]>[1] = {}) {
  await using draft = await files.draft();
  await draft.write(Buffer.from(text));
  return await draft.keep(path(to), options);
}

export async function read(files: Files, from: string, range?: { start: number; end: number }) {
  await using opened = await files.open(path(from));
  if (!opened) return undefined;
  const chunks: Buffer[] = [];
  for await (const chunk of opened.read(range)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const namesIn = async (files: Files, folder: FilePath = [], ask: Partial<Listing> = {}) =>
  (await files.list(folder, { most: 1000, ...ask }))?.map(({ name, kind }) => (kind === "folder" ? `${name}/` : name));

export function filesConformance(name: string, setup: () => Promise<OpenedFiles>): void {
  describe(`${name} is a Files`, () => {
    test("a file that is kept is there whole, with its folders, for programs too", async () => {
      await using world = await setup();
      const { files, program } = world;
      const kept = await put(files, "a/b/c.txt", "hello");
      expect(kept).toMatchObject({ kind: "file", size: 5 });
      expect(await files.find(path("a/b/c.txt"))).toEqual(kept);
      expect(await files.find(path("a/b"))).toMatchObject({ kind: "folder", size: 0 });
      expect([await read(files, "a/b/c.txt"), await program.read("a/b/c.txt")]).toEqual(["hello", "hello"]);
      expect(await read(files, "a/b/c.txt", { start: 1, end: 3 })).toBe("ell");
    });

    test("a draft is seen by nobody, and gone without being kept", async () => {
      await using world = await setup();
      {
        await using draft = await world.files.draft();
        await draft.write(Buffer.from("never"));
        expect(await namesIn(world.files)).toEqual([]);
      }
      expect(await world.files.hidden.list([], { most: 10 })).toEqual([]);
    });

    test("a new file takes the place of the old one at once, and who reads the old one reads it to its end", async () => {
      await using world = await setup();
      const before = await put(world.files, "f", "before");
      await using opened = (await world.files.open(["f"]))!;
      const after = await put(world.files, "f", "after!!");
      expect(after.tag).not.toBe(before.tag);
      const chunks: Buffer[] = [];
      for await (const chunk of opened.read()) chunks.push(chunk);
      expect([Buffer.concat(chunks).toString(), await read(world.files, "f")]).toEqual(["before", "after!!"]);
    });

    test("of several that must be the first, one is", async () => {
      await using world = await setup();
      const puts = ["x", "y", "z"].map((text) => put(world.files, "once", text, { ifAbsent: true }));
      const settled = await Promise.allSettled(puts);
      expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(settled.find(({ status }) => status === "rejected")).toMatchObject({ reason: { reason: "taken" } });
    });

    test("a file is not put over a folder, nor below a file", async () => {
      await using world = await setup();
      await put(world.files, "a/b", "x");
      await expect(put(world.files, "a", "y")).rejects.toMatchObject({ reason: "taken" });
      await expect(put(world.files, "a/b/c", "y")).rejects.toMatchObject({ reason: "no-folder" });
      await expect(put(world.files, "n".repeat(300), "y")).rejects.toMatchObject({ reason: "long-name" });
      expect(await world.files.find(path("a/b/c"))).toBeUndefined();
    });

    test("removes files and empty folders, and leaves the rest", async () => {
      await using world = await setup();
      const { files } = world;
      await put(files, "a/b", "x");
      await files.remove(["a"]);
      expect(await read(files, "a/b")).toBe("x");
      await files.remove(path("a/b"));
      await files.remove(path("a/b"));
      await files.remove(path("nothing/here"));
      expect(await namesIn(files)).toEqual(["a/"]);
      await files.remove(["a"]);
      expect(await namesIn(files)).toEqual([]);
    });

    test("removes a folder with all that it holds, links and odd things too, and nothing that they lead to", async () => {
      await using world = await setup();
      const { files, program } = world;
      await put(files, "a/b/c", "x");
      await put(files, "a/d", "x");
      await put(files, "ab", "stays");
      await program.link("a/out", "folder");
      await program.link("a/b/file", "file");
      await program.pipe("a/pipe");
      await program.writeBadName("a/b");
      const { count, isWhole } = await files.removeAll(["a"], 100);
      expect([count >= 7, isWhole, await namesIn(files), await world.secret()]).toEqual([
        true,
        true,
        ["ab"],
        "outside",
      ]);
      expect(await files.removeAll(["ab"], 1)).toEqual({ count: 1, isWhole: true });
      expect(await files.removeAll(path("nothing/here"), 1)).toEqual({ count: 0, isWhole: true });
      await program.folder("kept");
      await program.link("kept/link", "folder");
      expect(await files.removeAll(path("kept/link"), 100)).toEqual({ count: 0, isWhole: true });
      expect([await program.names("kept"), await world.secret()]).toEqual([["link"], "outside"]);
    });

    test("removes no more names than it was told, the deepest first, and goes on with the next call", async () => {
      await using world = await setup();
      const { files } = world;
      for (const name of ["1", "2", "3", "4"]) await put(files, `a/b/${name}`, "x");
      expect(await files.removeAll(["a"], 3)).toEqual({ count: 3, isWhole: false });
      expect((await files.list(path("a/b"), { most: 10 }))?.length).toBe(1);
      expect(await files.removeAll(["a"], 2)).toEqual({ count: 2, isWhole: false });
      expect(await files.removeAll(["a"], 2)).toEqual({ count: 1, isWhole: true });
      expect(await namesIn(files)).toEqual([]);
    });

    test("neither the whole volume nor what is hidden is removed or moved", async () => {
      await using world = await setup();
      const { files } = world;
      await put(files, "a", "x");
      await put(files, "up/1", "part", { hidden: true });
      expect(await files.removeAll([], 100)).toEqual({ count: 0, isWhole: true });
      expect(await files.move([], ["b"]).catch((error) => error.reason)).toBe("no-folder");
      await expect(files.removeAll([".millrace-s3"], 100)).rejects.toMatchObject({ reason: "forbidden" });
      await expect(files.move([".millrace-s3", "up"], ["up"])).rejects.toMatchObject({ reason: "forbidden" });
      await expect(files.move(["a"], [".millrace-s3", "a"])).rejects.toMatchObject({ reason: "forbidden" });
      expect([await read(files, "a"), await files.hidden.find(path("up/1"))]).toEqual(["x", expect.anything()]);
    });

    test("moves a file or a folder with all that it holds, and makes the folders on the way", async () => {
      await using world = await setup();
      const { files } = world;
      const { tag } = await put(files, "a/b", "x");
      expect(await files.move(path("a/b"), path("c/d/e"))).toMatchObject({ kind: "file", size: 1, tag });
      expect([await read(files, "c/d/e"), await files.find(path("a/b"))]).toEqual(["x", undefined]);
      expect(await files.move(["c"], path("f"))).toMatchObject({ kind: "folder" });
      expect([await read(files, "f/d/e"), await namesIn(files)]).toEqual(["x", ["a/", "f/"]]);
      expect(await files.move(path("nothing/here"), ["g"])).toBeUndefined();
    });

    test("nothing is moved over something else, into itself, or along a link", async () => {
      await using world = await setup();
      const { files, program } = world;
      await put(files, "a/b", "x");
      await put(files, "file", "y");
      await files.makeFolder(["empty"]);
      await program.link("link", "folder");
      for (const to of ["file", "empty", "link"])
        for (const from of ["a", "a/b"])
          await expect(files.move(path(from), [to])).rejects.toMatchObject({ reason: "taken" });
      await expect(files.move(["a"], path("a/b/c"))).rejects.toMatchObject({ reason: "no-folder" });
      await expect(files.move(["a"], path("file/c"))).rejects.toMatchObject({ reason: "no-folder" });
      await expect(files.move(["a"], path("link/c"))).rejects.toMatchObject({ reason: "no-folder" });
      await expect(files.move(["a"], path("../c"))).rejects.toMatchObject({ reason: "no-folder" });
      expect(await files.move(path("link/secret"), ["stolen"])).toBeUndefined();
      expect(await files.move(["link"], ["stolen"])).toBeUndefined();
      expect([await read(files, "a/b"), await read(files, "file"), await world.secret()]).toEqual([
        "x",
        "y",
        "outside",
      ]);
    });

    test("lists a folder in the order of bytes, a folder as if a slash were behind it, from a name on", async () => {
      await using world = await setup();
      const { files, program } = world;
      for (const name of ["b", "a.txt", "a0", "ä", "Z", "\u{1f600}"]) await program.write(name, "x");
      await program.folder("a");
      const all = ["Z", "a.txt", "a/", "a0", "b", "ä", "\u{1f600}"];
      expect(await namesIn(files)).toEqual(all);
      expect(await namesIn(files, [], { after: "a/" })).toEqual(all.slice(3));
      expect(await namesIn(files, [], { most: 2 })).toEqual(all.slice(0, 2));
      expect(await namesIn(files, [], { startsWith: "a", after: "a.txt" })).toEqual(["a/", "a0"]);
      expect(await namesIn(files, ["b"])).toBeUndefined();
      expect(await namesIn(files, ["nothing"])).toBeUndefined();
      await program.writeBadName(".");
      expect(await namesIn(files)).toEqual(all);
    });

    test("makes folders, once", async () => {
      await using world = await setup();
      expect(await world.files.makeFolder(path("x/y"))).toMatchObject({ kind: "folder" });
      await world.files.makeFolder(path("x/y"));
      expect(await world.program.names("x")).toEqual(["y"]);
      await world.program.write("x/y/z", "by a program");
      expect(await read(world.files, "x/y/z")).toBe("by a program");
    });

    test("links lead nowhere: neither the last name nor one on the way", async () => {
      await using world = await setup();
      const { files, program } = world;
      await program.link("out", "folder");
      await program.link("file", "file");
      for (const way of ["out/secret", "out", "file"]) {
        expect(await files.find(path(way))).toBeUndefined();
        expect(await files.open(path(way))).toBeUndefined();
        await files.remove(path(way));
      }
      expect(await files.list(["out"], { most: 10 })).toBeUndefined();
      expect(await namesIn(files)).toEqual([]);
      await expect(put(files, "out/new", "x")).rejects.toMatchObject({ reason: "no-folder" });
      await expect(files.makeFolder(path("out/new"))).rejects.toMatchObject({ reason: "no-folder" });
      expect(await world.secret()).toBe("outside");
    });

    test("a file that is put in the place of a link replaces the link, and not what it leads to", async () => {
      await using world = await setup();
      await world.program.link("file", "file");
      await put(world.files, "file", "mine");
      expect([await read(world.files, "file"), await world.secret()]).toEqual(["mine", "outside"]);
    });

    test("says where links lead, and follows none", async () => {
      await using world = await setup();
      const { files, program } = world;
      await put(files, "a/file", "x");
      await program.link("a/out", "folder");
      expect((await files.links(["a"], 10))?.map(({ name }) => name)).toEqual(["out"]);
      expect([await files.links(["a"], 0), await files.links([], 10)]).toEqual([[], []]);
      for (const none of [["none"], ["a", "out"], ["a", "file"], [".."]])
        expect([none, await files.links(none, 10)]).toEqual([none, undefined]);
    });

    test("pipes and other odd things are not there, and nobody waits for them", async () => {
      await using world = await setup();
      await world.program.pipe("pipe");
      expect(await world.files.find(["pipe"])).toBeUndefined();
      expect(await world.files.open(["pipe"])).toBeUndefined();
      expect(await namesIn(world.files)).toEqual([]);
    });

    test("what is hidden is hidden, counts as on the same volume, and a link in its place is refused", async () => {
      await using world = await setup();
      const { files, program } = world;
      await put(files, "up/1", "part", { hidden: true });
      expect([await namesIn(files), await files.find(path(".millrace-s3/up/1"))]).toEqual([[], undefined]);
      expect(await files.open(path(".millrace-s3/up/1"))).toBeUndefined();
      expect(await files.list([".millrace-s3"], { most: 10 })).toBeUndefined();
      await expect(put(files, ".millrace-s3/x", "y")).rejects.toMatchObject({ reason: "forbidden" });
      expect(await program.names(".millrace-s3")).toEqual(["up"]);
      expect(await files.hidden.find(path("up/1"))).toMatchObject({ size: 4 });
      await using other = await setup();
      await other.program.link(".millrace-s3", "folder");
      await expect(other.files.draft()).rejects.toMatchObject({ reason: "no-folder" });
      expect(await other.files.hidden.list([], { most: 10 })).toBeUndefined();
    });

    test("no name leads up, to the place itself, or along several names at once", async () => {
      await using world = await setup();
      const { files } = world;
      await put(files, "a/b", "x");
      const ways = [
        ["..", "outside"],
        ["a", "..", "a", "b"],
        ["."],
        [""],
        ["a/b"],
        ["a", ""],
        ["a\0"],
        ["a", "..", "..", "outside"],
      ];
      for (const way of ways.flatMap((names) => [names, [...names, "secret"]])) {
        expect([way, await files.find(way), await files.open(way)]).toEqual([way, undefined, undefined]);
        expect([way, await files.list(way, { most: 10 })]).toEqual([way, undefined]);
        expect([way, await files.hidden.list(way, { most: 10 })]).toEqual([way, undefined]);
        await files.remove(way);
        await expect(files.makeFolder(way)).rejects.toMatchObject({ reason: "no-folder" });
        await using draft = await files.draft();
        await expect(draft.keep(way)).rejects.toMatchObject({ reason: "no-folder" });
      }
      expect([await read(files, "a/b"), await world.secret()]).toEqual(["x", "outside"]);
    });

    test("what is longer than any name is not there", async () => {
      await using world = await setup();
      const long = "n".repeat(300);
      expect([await world.files.find([long]), await world.files.list([long, "x"], { most: 1 })]).toEqual([
        undefined,
        undefined,
      ]);
    });

    test("a file is of a time that can be written down, whatever a program says", async () => {
      await using world = await setup();
      for (const seconds of [-5e9, 1e10, 1e12, 9e15]) {
        await world.program.write("f", "x");
        await world.program.date("f", seconds).catch(() => {});
        const { modifiedAt } = (await world.files.find(["f"]))!;
        expect([seconds, modifiedAt >= 0 && modifiedAt <= Date.UTC(9999, 11, 31, 23, 59, 59, 999)]).toEqual([
          seconds,
          true,
        ]);
      }
    });
  });
}
