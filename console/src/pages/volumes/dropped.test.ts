/** Files and folders that are dropped on a volume. */
import { expect, it } from "vitest";
import { droppedIn, MOST_DROPPED } from "./dropped.ts";

const fileEntry = (fullPath: string) => ({
  ...{ isDirectory: false, fullPath },
  file: (done: (file: File) => void) => done(new File([fullPath], fullPath.split("/").at(-1)!)),
});

/** Tells two entries at a time, as a browser tells a hundred. */
const folderEntry = (fullPath: string, entries: object[]) => ({
  ...{ isDirectory: true, fullPath },
  createReader: () => {
    const left = [...entries];
    return { readEntries: (done: (some: object[]) => void) => done(left.splice(0, 2)) };
  },
});

const drop = (...roots: { entry: object | null; file: File | null }[]) => {
  const items = roots.map(({ entry, file }) => ({
    ...{ kind: "file", webkitGetAsEntry: () => entry, getAsFile: () => file },
  }));
  return droppedIn({ items: items as unknown as DataTransferItemList });
};

it("are taken with their paths, also those of folders in folders", async () => {
  const inner = folderEntry("/data/inner", [fileEntry("/data/inner/c")]);
  const data = folderEntry("/data", [fileEntry("/data/a"), fileEntry("/data/b"), inner]);
  const single = new File(["x"], "single.txt");
  const taken = await drop({ entry: data, file: null }, { entry: fileEntry("/single.txt"), file: single });
  expect(taken.map(({ path }) => path)).toEqual(["data/a", "data/b", "data/inner/c", "single.txt"]);
  expect(taken.at(-1)!.file).toBe(single);
});

it("are taken from a browser that knows no entries", async () => {
  expect((await drop({ entry: null, file: new File(["x"], "a") })).map(({ path }) => path)).toEqual(["a"]);
});

it("are nothing where a folder is empty", async () => {
  expect(await drop({ entry: folderEntry("/empty", []), file: null })).toEqual([]);
});

it("are told to be too many by one more than are taken", async () => {
  const many = Array.from({ length: MOST_DROPPED + 9 }, (_, place) => fileEntry(`/many/${place}`));
  expect(await drop({ entry: folderEntry("/many", many), file: null })).toHaveLength(MOST_DROPPED + 1);
});
