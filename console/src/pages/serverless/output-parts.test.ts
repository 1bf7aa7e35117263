/** How outputs are taken apart for showing them. */
import { expect, test } from "vitest";
import { longOutput, picturesIn, shownJson } from "./output-parts.ts";

const png = `iVBORw0KGgo${"A".repeat(100)}=`;

test("pictures are found wherever they are, as base64 or as an address with data", () => {
  const output = { images: [png, { image: `data:image/webp;base64,${"A".repeat(50)}` }], text: "hello", n: 1 };
  expect(picturesIn(output).map(({ path }) => path)).toEqual(["images[0]", "images[1].image"]);
  expect(picturesIn(output)[0]!.src).toBe(`data:image/png;base64,${png}`);
});

test("other texts are no pictures", () => {
  expect(
    picturesIn(["iVBORw0KGgo", "/9j/ a word of text that is long enough to be taken for something else", "x"]),
  ).toEqual([]);
  expect(picturesIn("javascript:alert(1)")).toEqual([]);
});

test("an output that is too long is known by the server's link", () => {
  const link = { url: "https://x/v2/e/output/j?attempt=1&signature=abc", bytes: 31_457_280 };
  expect(longOutput(link)).toEqual(link);
  expect(longOutput({ url: "https://example.com/a.png", bytes: 3 })).toBeUndefined();
  expect(longOutput({ ...link, more: 1 })).toBeUndefined();
  expect(longOutput("text")).toBeUndefined();
});

test("long texts are cut where they are shown, and it says so", () => {
  const { text, isCut } = shownJson({ a: "x".repeat(3000), b: 1 });
  expect(isCut).toBe(true);
  expect(JSON.parse(text)).toEqual({ a: `${"x".repeat(120)}… (3,000 characters)`, b: 1 });
  expect(shownJson({ b: 1 })).toEqual({ text: '{\n  "b": 1\n}', isCut: false });
  expect(shownJson(undefined).text).toBe("null");
});
