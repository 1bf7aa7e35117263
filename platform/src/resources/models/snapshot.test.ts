/** What becomes of a folder as a model: the layouts that are known, and what is refused. */
import { describe, expect, test } from "vitest";
import { MemoryFiles } from "../../ports/files/memory-files.ts";
import { snapshotIn } from "./snapshot.ts";

const NAME = "org/name";
const CACHE = "models--org--name";
const filesOf = (files: Record<string, string>, links: Record<string, string> = {}) => {
  const made = new MemoryFiles({ now: () => 0 });
  for (const [path, text] of Object.entries(files)) made.write(path, text);
  for (const [path, to] of Object.entries(links)) made.putLink(path, to);
  return made;
};
const found = async (files: MemoryFiles, revision?: string) => {
  const { revision: name, files: all, bytes } = await snapshotIn(files, [], { name: NAME, revision });
  return { revision: name, bytes, files: all.map(({ path, from }) => [path.join("/"), from.join("/")]) };
};

describe("a folder of files", () => {
  test("is a snapshot of its own, without what download tools leave there", async () => {
    const files = filesOf({ "config.json": "{}", "deep/er/w.bin": "123", ".cache/x": "no", ".git/y": "no" });
    const snapshot = await found(files);
    expect(snapshot).toMatchObject({ bytes: 5, revision: expect.stringMatching(/^[0-9a-f]{40}$/) });
    expect(snapshot.files.map(([path]) => path)).toEqual(["config.json", "deep/er/w.bin"]);
    expect((await found(files)).revision).toBe(snapshot.revision);
    expect((await found(files, "v1")).revision).toBe("v1");
  });

  test.each([
    ["an absolute link", "/etc/passwd"],
    ["a link that leads up and out", "../../secret"],
    ["a link to a folder", "deep"],
    ["a link to nothing", "none"],
  ])("is refused for %s", async (_, to) => {
    const files = filesOf({ "deep/a": "x" }, { link: to });
    await expect(found(files)).rejects.toThrow("the link 'link' leads to no file of the model's own folder");
  });

  test("is refused if it is empty or has too many files", async () => {
    await expect(found(filesOf({}))).rejects.toThrow("there are no files");
    const many = Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`f${n}`, ""]));
    await expect(found(filesOf(many))).rejects.toThrow("more than 10000 files");
    await expect(found(filesOf({ [`${"a/".repeat(25)}f`]: "x" }))).rejects.toThrow("more than 20 deep");
  });
});

describe("a cache", () => {
  const blobs = { [`${CACHE}/blobs/b1`]: "weights", [`${CACHE}/refs/main`]: "abc\n" };
  const links = { [`${CACHE}/snapshots/abc/model.bin`]: "../../blobs/b1" };

  test.each([
    ["itself", CACHE],
    ["in its hub", `hub/${CACHE}`],
    ["as the model's own folder", "."],
  ])("is found %s, and its links are the files that they lead to", async (_, at) => {
    const moved = (all: Record<string, string>) =>
      Object.fromEntries(Object.entries(all).map(([path, text]) => [path.replace(CACHE, at).replace("./", ""), text]));
    const snapshot = await found(filesOf({ ...moved(blobs) }, moved(links)));
    expect(snapshot).toMatchObject({ revision: "abc", bytes: 7 });
    expect(snapshot.files[0]?.[0]).toBe("model.bin");
  });

  test("gives the snapshot that is asked for, or says which it has", async () => {
    const files = filesOf({ ...blobs, [`${CACHE}/snapshots/def/x`]: "1", [`${CACHE}/refs/v2`]: "def" }, links);
    expect([(await found(files, "def")).revision, (await found(files, "v2")).revision]).toEqual(["def", "def"]);
    await expect(found(files, "none")).rejects.toThrow("its snapshots: abc, def");
  });

  test("is refused if a link leads out of the model's folder to another model", async () => {
    const files = filesOf(
      { ...blobs, "models--org--other/blobs/b": "theirs" },
      {
        [`${CACHE}/snapshots/abc/model.bin`]: "../../../models--org--other/blobs/b",
      },
    );
    await expect(found(files)).rejects.toThrow("leads to no file of the model's own folder");
  });
});
