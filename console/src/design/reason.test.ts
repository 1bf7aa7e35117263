/** The sentence of a reason, told from the lines of a program within it. */
import { expect, test } from "vitest";
import { shortText, withLines } from "./reason.tsx";

test("the last lines of a program are told from the sentence around them", () => {
  const { what, lines } = withLines(
    "crash loop: exit 1, last lines: ^ | Error: no file | } | Node.js; started 6 times again",
  );
  expect(what).toBe("crash loop: exit 1; started 6 times again");
  expect(lines).toBe("Error: no file\nNode.js");
});

test("a sentence without lines stays whole", () => {
  expect(withLines("no machine has a free GPU")).toEqual({ what: "no machine has a free GPU", lines: undefined });
});

test("what a program repeats is said once", () => {
  expect(withLines("crash loop: exit 1, last lines: no file | no file | bye | no file").lines).toBe(
    "no file  (2 times)\nbye\nno file",
  );
});

test("in one line, what happened stands before the first line that tells something", () => {
  expect(shortText("exit 1, last lines: ^ | Error: no file | }")).toBe("exit 1: Error: no file");
  expect(shortText("crash loop: exit 1, last lines: no file; started 6 times again")).toBe(
    "crash loop: exit 1: no file",
  );
  expect(shortText("no machine has a free GPU")).toBe("no machine has a free GPU");
});
