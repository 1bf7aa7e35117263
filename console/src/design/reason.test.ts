/** The sentence of a reason, told from the lines of a program within it. */
import { expect, test } from "vitest";
import { withLines } from "./reason.tsx";

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
