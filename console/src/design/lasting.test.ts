/** What passes within seconds does not move a page. */
import { expect, test } from "vitest";
import { firstSeen, lastingOf } from "./lasting.ts";

test("what is there when the page opens is shown at once", () => {
  const seen = firstSeen(new Map(), ["paused"], 1000, true);
  expect(lastingOf(seen, 1000)).toEqual({ lasting: new Set(["paused"]), nextMs: undefined });
});

test("what comes later is shown once it has lasted, and not when it left meanwhile", () => {
  const came = firstSeen(new Map(), ["busy"], 1000, false);
  expect(lastingOf(came, 1000)).toEqual({ lasting: new Set(), nextMs: 4000 });
  expect(lastingOf(firstSeen(came, ["busy"], 5000, false), 5000).lasting).toEqual(new Set(["busy"]));
  const left = firstSeen(came, [], 3000, false);
  const again = firstSeen(left, ["busy"], 5000, false);
  expect(lastingOf(again, 5000)).toEqual({ lasting: new Set(), nextMs: 4000 });
});

test("what has lasted stays while others come", () => {
  const first = firstSeen(new Map(), ["paused"], 0, true);
  const both = firstSeen(first, ["paused", "busy"], 9000, false);
  expect(lastingOf(both, 9000)).toEqual({ lasting: new Set(["paused"]), nextMs: 4000 });
});
