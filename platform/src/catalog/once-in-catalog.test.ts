/** What is made of a record and the catalog is made again when prices change, and not before. */
import { expect, test } from "vitest";
import { catalogFrom } from "./catalog.ts";
import { installPrices } from "./compute.ts";
import { onceInCatalog } from "./once-in-catalog.ts";

test("a value is made once for each record and catalog", () => {
  let made = 0;
  const priceOf = onceInCatalog(
    (_: { doc: object }, { storage }) => ({ number: ++made, price: storage.containerDiskPerGbMonth }),
    ({ doc }) => doc,
  );
  const doc = {};
  const first = priceOf({ doc });
  expect([priceOf({ doc }), made]).toEqual([first, 1]);
  {
    using _ = installPrices(catalogFrom(JSON.stringify({ storage: { containerDiskPerGbMonth: 9 } })));
    expect(priceOf({ doc })).toEqual({ number: 2, price: 9 });
  }
  expect(priceOf({ doc })).toEqual({ number: 3, price: first.price });
  expect(priceOf({ doc: {} }).number).toBe(4);
});
