/** How often a node tells the database that a worker is alive. */
import { expect, test } from "vitest";
import { ToldRenewals } from "./postgres-holders.ts";

const renewal = { holder: "w1", endpoint: "one", forMs: 30_000 };

test("what was told less than a second ago is not told again, and holds for as much longer", () => {
  const told = new ToldRenewals();
  expect(told.next(renewal, 0)).toEqual({ ...renewal, forMs: 31_000 });
  expect(told.next(renewal, 999)).toBeUndefined();
  expect(told.next({ ...renewal, holder: "w2" }, 999)).toBeDefined();
  expect(told.next(renewal, 1000)).toEqual({ ...renewal, forMs: 31_000 });
});

test("another time or endpoint is told at once, and so is a holder that was forgotten", () => {
  const told = new ToldRenewals();
  told.next(renewal, 0);
  expect(told.next({ ...renewal, forMs: 10 }, 1)).toEqual({ ...renewal, forMs: 10 });
  expect(told.next({ ...renewal, endpoint: "two" }, 1)).toBeDefined();
  told.next(renewal, 2);
  told.forget("w1");
  expect(told.next(renewal, 3)).toBeDefined();
});
