/** Paths of volumes are taken apart, checked before they are sent, and shown in the order of people. */
import { expect, test } from "vitest";
import { crumbsOf, faultOfPath, folderOf, inOrder, isImage, isText, joined } from "./paths.ts";

test("the way to a folder is each of its folders", () => {
  expect(crumbsOf("")).toEqual([]);
  expect(crumbsOf("a/b c")).toEqual([
    { name: "a", path: "a" },
    { name: "b c", path: "a/b c" },
  ]);
});

test("a name joins the folder, and the top is no folder", () => {
  expect(joined("", "a")).toBe("a");
  expect(joined("x/y", "a")).toBe("x/y/a");
  expect(folderOf("x/y/a")).toBe("x/y");
  expect(folderOf("a")).toBe("");
});

test.each([
  ["models/a.bin", undefined],
  ["", "Enter a name."],
  ["/a", "A path has no slash at its ends and no two in a row."],
  ["a//b", "A path has no slash at its ends and no two in a row."],
  ["a/../b", "No part of a path is . or .."],
  ["é".repeat(128), "A name has 255 bytes at most."],
  [Array(6).fill("a".repeat(200)).join("/"), "A path has 1024 bytes at most."],
])("%j is refused with %j", (path, fault) => {
  expect(faultOfPath(path)).toBe(fault);
});

test("folders come first, and numbers count as numbers", () => {
  const file = (name: string, kind = "FILE") => ({ name, kind }) as never;
  const shown = inOrder([file("run 10"), file("z", "FOLDER"), file("run 2"), file("a", "FOLDER")]);
  expect(shown.map(({ name }) => name)).toEqual(["a", "z", "run 2", "run 10"]);
});

test("a drawing is text and a photograph is an image", () => {
  expect(isImage("a.PNG")).toBe(true);
  expect(isImage("a.svg")).toBe(false);
  expect(isText(new TextEncoder().encode("hello"))).toBe(true);
  expect(isText(new Uint8Array([104, 0, 105]))).toBe(false);
});
