/** Readmes of strangers: what is shown of them, and what never becomes a link or a tag. */
import { expect, test } from "vitest";
import { blocksOf } from "./readme.ts";

test("headings, paragraphs, lists and code are known", () => {
  expect(blocksOf("# A\n\none\ntwo **three** `four`\n\n- x\n- y\n  z\n\n```sh\n# no heading\n```")).toEqual([
    { kind: "heading", level: 1, inlines: [{ kind: "text", text: "A" }] },
    {
      kind: "paragraph",
      inlines: [
        { kind: "text", text: "one two " },
        { kind: "strong", text: "three" },
        { kind: "text", text: " " },
        { kind: "code", text: "four" },
      ],
    },
    { kind: "list", items: [[{ kind: "text", text: "x" }], [{ kind: "text", text: "y z" }]] },
    { kind: "code", text: "# no heading" },
  ]);
});

test.each([
  ["[a](https://example.com/x)", { kind: "link", text: "a", href: "https://example.com/x" }],
  ["[a](javascript:alert)", { kind: "text", text: "a" }],
  ["[a](JaVaScRiPt:alert)", { kind: "text", text: "a" }],
  ["[a](data:text/html,x)", { kind: "text", text: "a" }],
  ["[a](//example.com)", { kind: "text", text: "a" }],
  ["![a](https://example.com/track.png)", { kind: "text", text: "a" }],
  ["<script>alert()</script>", { kind: "text", text: "<script>alert()</script>" }],
])("%s", (text, inline) => {
  expect(blocksOf(text)).toEqual([{ kind: "paragraph", inlines: [inline] }]);
});

test("a fence that never ends, and very many blocks, come to an end", () => {
  expect(blocksOf("```\nx")).toEqual([{ kind: "code", text: "x" }]);
  expect(blocksOf("# a\n".repeat(10_000))).toHaveLength(500);
});
