/** A page of a listing looks into a bounded number of folders. The next page goes on there, and no key is lost or shown twice. */
import { describe, expect, test } from "vitest";
import type { Entry, Files } from "../../ports/files/files.ts";
import { pageOf } from "./listing.ts";

/** Files that can only be listed, made from their keys. A key that ends with a slash is an empty folder. */
function filesWith(keys: readonly string[]): Files {
  const folders = new Map<string, Map<string, Entry>>([["", new Map()]]);
  for (const key of keys) {
    const names = key.split("/");
    for (const [n, name] of names.entries()) {
      if (name === "") continue;
      const kind = n === names.length - 1 ? "file" : "folder";
      const path = names.slice(0, n + 1).join("/");
      folders.get(names.slice(0, n).join("/"))!.set(path, { name, kind });
      if (kind === "folder" && !folders.has(path)) folders.set(path, new Map());
    }
  }
  const ordered = ({ name, kind }: Entry) => (kind === "folder" ? `${name}/` : name);
  const facts = { size: 0, modifiedAt: 0, tag: "" };
  return {
    find: async (path) => ({ ...facts, kind: folders.has(path.join("/")) ? "folder" : "file" }),
    list: async (path, { after, startsWith = "", most }) =>
      [...(folders.get(path.join("/"))?.values() ?? [])]
        .filter((entry) => ordered(entry).startsWith(startsWith) && (after === undefined || ordered(entry) > after))
        .sort((a, b) => (ordered(a) < ordered(b) ? -1 : 1))
        .slice(0, most),
  } as Partial<Files> as Files;
}

async function listed(files: Files, asked: { prefix?: string; delimiter?: string; most?: number }) {
  const found: string[] = [];
  let pages = 0;
  for (let after: string | undefined; ; ) {
    const page = await pageOf(files, { prefix: "", delimiter: "", most: 1000, ...asked, after });
    found.push(...page.contents.map(({ key }) => key), ...page.prefixes);
    pages++;
    if (page.next === undefined) return { found, pages };
    expect(page.next).not.toBe(after);
    after = page.next;
  }
}

const NUMBERS = Array.from({ length: 900 }, (_, n) => String(n).padStart(4, "0"));

describe("more folders than a page looks into", () => {
  test.each([
    ["deep ones with one file each", NUMBERS.map((n) => `run-${n}/a/b/c/d/e/f/file`)],
    ["deep ones that are empty at their end", NUMBERS.map((n) => `run-${n}/a/b/c/d/e/f/`)],
    [
      "folders beside files whose names sort next to theirs",
      NUMBERS.flatMap((n) => [`${n}/a/b/c/d/e/f/g/h/i/file`, `${n}-x/a/b/c/d/e/f/g/h/i/file`]).slice(0, 990),
    ],
  ])("%s", async (_, keys) => {
    const { found, pages } = await listed(filesWith(keys), {});
    expect(pages).toBeGreaterThan(1);
    expect(found).toEqual(keys.toSorted());
  });

  test("the next page goes on in the middle of a folder that has more names than are read at once", async () => {
    // Each folder is a look, and so is each thousand of the outer folder's names.
    const keys = Array.from({ length: 5200 }, (_, n) => `all/${String(n).padStart(4, "0")}/x/file`);
    const { found } = await listed(filesWith(keys), { most: 10_000 });
    expect(found).toEqual(keys);
  });

  test("groups by another mark than a slash are shown once", async () => {
    const keys = NUMBERS.map((n) => `run-${n}/a/b/c/d/e/f/file`);
    const { found } = await listed(filesWith([...keys, "z"]), { delimiter: "-" });
    expect(found.toSorted()).toEqual(["run-", "z"]);
  });
});
