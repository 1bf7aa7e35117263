/** Files in memory keep the port's guarantees. */
import { expect, test } from "vitest";
import { filesConformance, type OpenedFiles, put } from "./files.conformance.ts";
import { MemoryFiles } from "./memory-files.ts";

async function setup(): Promise<OpenedFiles> {
  const files = new MemoryFiles({ now: () => 0 });
  return {
    files,
    program: {
      write: async (path, text) => files.write(path, text),
      read: async (path) => files.read(path)!,
      folder: async (path) => void (await files.makeFolder(path.split("/"))),
      link: async (path, to) => files.putLink(path, `/outside/${to}`),
      pipe: async (path) => files.putOdd(path),
      date: async (path, seconds) => files.date(path, seconds * 1000),
      // In memory every name is valid text.
      writeBadName: async () => {},
      names: async (folder) => files.names(folder),
    },
    secret: async () => "outside",
    [Symbol.asyncDispose]: async () => {},
  };
}

filesConformance("MemoryFiles", setup);

test("what would be more than the volume's size is refused", async () => {
  const files = new MemoryFiles({ now: () => 0, bytesLeft: () => 3 });
  await put(files, "fits", "abc");
  await expect(put(files, "too-long", "abcd")).rejects.toMatchObject({ reason: "full" });
  expect(files.usedBytes).toBe(3);
});
