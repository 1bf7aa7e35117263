/** Text that no database can hold is found, and replaced if the caller allows that. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { isStorable, storable, storableJson, unstorable } from "./storable.ts";

test("U+0000 and halves of surrogate pairs cannot be kept, and everything else can", () => {
  expect(unstorable("a\0b")).toContain("U+0000");
  for (const half of ["\ud800", "a\udfffb", "\udf0a\ud83c"]) expect(unstorable(half)).toContain("surrogate");
  for (const fine of ["", "\u0001\u001f", "ü€🌊", "\\u0000", "\ufffd"]) expect(isStorable(fine)).toBe(true);
});

test("what cannot be kept is replaced, one character for another", () => {
  expect(storable("a\0b\ud800c\udf0a\ud83c🌊")).toBe("a\ufffdb\ufffdc\ufffd\ufffd🌊");
  expect(storable("fine 🌊")).toBe("fine 🌊");
});

test("in JSON, names are cleaned as texts are", () => {
  expect(JSON.parse(storableJson({ "a\0": ["b\ud800", { c: "\0" }], n: 1, none: undefined }))).toEqual({
    "a\ufffd": ["b\ufffd", { c: "\ufffd" }],
    n: 1,
  });
});

test("what only looks like an escape is left alone", () => {
  const inner = JSON.stringify({ t: "\0\ud800" });
  for (const text of [inner, "\\u0000", "\\\\u0000", '"\\ud800"', "\\"]) {
    expect(JSON.parse(storableJson([text, text]))).toEqual([text, text]);
  }
  expect(JSON.parse(storableJson("\\\0\\\\\ud8000"))).toBe("\\\ufffd\\\\\ufffd0");
});

test("JSON is cleaned as each of its texts would be", () => {
  const odd = fc.string({ unit: fc.constantFrom("\0", "\ud800", "\udc00", "\\", "u0000", "ud800", '"', "\n", "a") });
  fc.assert(
    fc.property(fc.array(odd), (texts) => {
      expect(JSON.parse(storableJson(texts))).toEqual(texts.map(storable));
    }),
  );
});
