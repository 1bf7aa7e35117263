/** A folder as a source of listings, with files that try to lead out of it. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { listingsConformance } from "../../ports/listings/listings.conformance.ts";
import { FolderListings } from "./folder-listings.ts";

async function folderWith(files: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), "millrace-listings-"));
  const put = async (all: Record<string, string>) => {
    for (const [path, text] of Object.entries(all)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
  };
  await put(files);
  return {
    ...{ folder, put, source: new FolderListings(folder) },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

listingsConformance("FolderListings", folderWith);

test("links are not followed, to files and to folders", async () => {
  await using there = await folderWith({ "good/hub.json": "{}", "linked/README.md": "r" });
  await symlink("/etc/passwd", join(there.folder, "linked/hub.json"));
  await symlink("/etc", join(there.folder, "away"));
  const { listings, faults } = await there.source.read();
  expect(listings.map(({ name }) => name)).toEqual(["good"]);
  const why = "is a symbolic link, and links are not followed";
  expect(faults).toEqual(
    expect.arrayContaining([
      { file: "away", field: "", why },
      { file: "linked/hub.json", field: "", why },
    ]),
  );
});

test("text that is not UTF-8 is a fault of its file", async () => {
  await using there = await folderWith({ "good/hub.json": "{}" });
  await mkdir(join(there.folder, "bad"));
  await writeFile(join(there.folder, "bad/hub.json"), Buffer.from([0xff, 0xfe]));
  const { listings, faults } = await there.source.read();
  expect([listings.length, faults]).toEqual([1, [{ file: "bad/hub.json", field: "", why: expect.any(String) }]]);
});

test("a folder that does not exist cannot be read", async () => {
  await expect(new FolderListings("/nonexistent/listings").read()).rejects.toThrow("ENOENT");
});
