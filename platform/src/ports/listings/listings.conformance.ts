/** What every source of listings does, whatever it is kept in. */
import { describe, expect, test } from "vitest";
import { type ListingSource, SOURCE_LIMITS } from "./listings.ts";

export interface OpenedSource extends AsyncDisposable {
  source: ListingSource;
  /** Makes these the files of the source. */
  put(files: Record<string, string>): Promise<void>;
}

const hub = (title = "T") => JSON.stringify({ title });

export function listingsConformance(name: string, open: (files: Record<string, string>) => Promise<OpenedSource>) {
  const read = async (files: Record<string, string>) => {
    await using opened = await open(files);
    return await opened.source.read();
  };

  describe(`${name} is a source of listings`, () => {
    test("a repository with .runpod/hub.json is one listing, and its own folder comes before the files beside it", async () => {
      const { listings, faults } = await read({
        ...{ ".runpod/hub.json": hub("inner"), "hub.json": hub("outer"), ".runpod/tests.json": "{}" },
        ...{ "README.md": "# Read", "deep/hub.json": hub("below"), "src/handler.py": "pass" },
      });
      expect(faults).toEqual([]);
      expect(listings).toHaveLength(1);
      const { hub: found, tests, readme } = listings[0]!;
      expect(found).toEqual({ path: ".runpod/hub.json", text: hub("inner") });
      expect([tests?.text, readme?.text]).toEqual(["{}", "# Read"]);
    });

    test("a folder of them has listings as name/ and owner/name/, and nothing deeper", async () => {
      const { listings } = await read({
        ...{ "one/hub.json": hub("1"), "ann/two/.runpod/hub.json": hub("2"), "ann/two/more/hub.json": hub("in two") },
        ...{ "a/b/c/hub.json": hub("deep"), "node_modules/x/hub.json": hub("library"), ".git/x/hub.json": hub("git") },
      });
      const names = listings.map(({ owner, name: called }) => [owner, called]);
      expect(names).toEqual([
        ["ann", "two"],
        [expect.any(String), "one"],
      ]);
    });

    test("the version changes with the listing, and only then", async () => {
      const files = { "one/hub.json": hub("1"), "two/hub.json": hub("2") };
      await using opened = await open(files);
      const versions = async () => (await opened.source.read()).listings.map(({ version }) => version);
      const before = await versions();
      expect(new Set(before).size).toBe(2);
      await opened.put({ ...files, "two/hub.json": hub("3") });
      const after = await versions();
      expect([after[0] === before[0], after[1] === before[1]]).toEqual([true, false]);
    });

    test("images.json is read beside the listings", async () => {
      const { images } = await read({ "one/hub.json": hub(), "images.json": '{"a/b":"c"}' });
      expect(images).toEqual({ path: "images.json", text: '{"a/b":"c"}' });
    });

    test("a file that is too large, and a folder with an odd name, are left out with the reason", async () => {
      const { listings, faults } = await read({
        "large/hub.json": JSON.stringify({ title: "x".repeat(SOURCE_LIMITS.fileBytes) }),
        "odd name/hub.json": hub(),
        "good/hub.json": hub(),
      });
      expect(listings.map(({ name: called }) => called)).toEqual(["good"]);
      expect(faults).toEqual([
        { file: "odd name", field: "", why: expect.stringContaining("1 to 100 letters") },
        { file: "large/hub.json", field: "", why: expect.stringMatching(/^has \d+ bytes, of 262144 at most$/) },
      ]);
    });

    test("more listings than allowed are cut off, and that is said", async () => {
      const many = Array.from({ length: SOURCE_LIMITS.listings + 1 }, (_, i) => [`l${i}/hub.json`, hub(String(i))]);
      const { listings, faults } = await read(Object.fromEntries(many));
      expect(listings).toHaveLength(SOURCE_LIMITS.listings);
      expect(faults).toEqual([{ file: "", field: "", why: "has 501 listings, of 500 at most" }]);
    });
  });
}
