/** Prices over time: a change applies from a moment on, on every node, and changes apply in the order in which they were made. */
import { expect, test } from "vitest";
import { catalogFrom } from "../catalog/catalog.ts";
import { installCatalog } from "../catalog/compute.ts";
import { priceSetsFrom } from "../catalog/price-changes.ts";
import { gpuPriceIn } from "../catalog/prices.ts";
import { FakeClock } from "../kernel/clock.ts";
import { MemoryStore } from "../ports/store/memory-store.ts";
import { AHEAD_MS, PriceBook } from "./price-book.ts";

const A40 = "NVIDIA A40";
const set = (price: number | null, name = "secure") => [{ section: "gpus" as const, id: A40, name, price }];

function setup() {
  const store = new MemoryStore();
  const clock = new FakeClock();
  const node = () => new PriceBook({ store, clock });
  const priceAt = (book: PriceBook, moment: number) => gpuPriceIn(book.at(moment), "pod", A40);
  return { clock, node, priceAt };
}

test("a change holds a little later, and not before", async () => {
  const { node, priceAt, clock } = setup();
  const book = node();
  const before = priceAt(book, clock.now());
  const at = await book.change(set(7));
  expect(at).toBe(clock.now() + AHEAD_MS);
  expect([priceAt(book, at - 1), priceAt(book, at)]).toEqual([before, 7]);
  expect([book.changes(at - 1, at), book.changes(at, at + 1), book.changes(at - 2, at - 1)]).toEqual([[at], [], []]);
  expect([book.numberAt(at - 1), book.numberAt(at)]).toEqual([0, 1]);
});

test("another node, and one that starts later, know of it by a look", async () => {
  const { node, priceAt, clock } = setup();
  const [one, other] = [node(), node()];
  await other.prepare();
  const at = await one.change(set(7));
  expect(at).toBeGreaterThan(clock.now());
  await other.refresh();
  const late = node();
  await late.prepare();
  expect([priceAt(other, at), priceAt(late, at)]).toEqual([7, 7]);
});

test("of two changes at once both happen, one after the other", async () => {
  const { node, priceAt } = setup();
  const [one, other] = [node(), node()];
  const [first, second] = await Promise.all([one.change(set(7)), other.change(set(8, "cluster"))]);
  expect(Math.abs(first - second)).toBe(1);
  await one.refresh();
  const last = Math.max(first, second);
  expect([priceAt(one, last), gpuPriceIn(one.at(last), "member", A40)]).toEqual([7, 8]);
});

test("what was set stays, until the price of the files is asked for again", async () => {
  const { node, priceAt, clock } = setup();
  const book = node();
  const before = priceAt(book, clock.now());
  const first = await book.change(set(7));
  const second = await book.change(set(9, "community"));
  const third = await book.change(set(null));
  expect([first, second, third].map((at) => priceAt(book, at))).toEqual([7, 7, before]);
});

test("the operator's file lies below what was set, and what it takes away has no price", async () => {
  const { node, priceAt } = setup();
  const book = node();
  const at = await book.change(set(7));
  using _ = installCatalog(catalogFrom(JSON.stringify({ gpus: { [A40]: { price: { secure: 1, community: 2 } } } })));
  expect([priceAt(book, at), priceAt(book, at - 1)]).toEqual([7, 1]);
  using __ = installCatalog(
    catalogFrom(JSON.stringify({ gpus: { [A40]: null }, pools: { AMPERE_48: { gpus: ["NVIDIA RTX A6000"] } } })),
  );
  expect(priceAt(book, at)).toBe(0);
});

test.each([
  [A40, "secure=0.5,serverless=0.6", [`gpus ${A40} secure 0.5`, "pools AMPERE_48 price 0.6"]],
  ["AMPERE_48", "serverless=1", ["pools AMPERE_48 price 1"]],
  ["cpu3c", " pod=0.03 , serverless=0 ", ["cpus cpu3c securePerVcpu 0.03", "cpus cpu3c serverlessPerVcpu 0"]],
  ["storage", "containerDiskStoppedPerGbMonth=0.000000001", ["storage storage containerDiskStoppedPerGbMonth 1e-9"]],
  [A40, "secure=catalog", [`gpus ${A40} secure null`]],
])("%s %s", (what, text, said) => {
  const sets = priceSetsFrom(catalogFrom("{}"), what, text);
  expect(sets.map(({ section, id, name, price }) => `${section} ${id} ${name} ${price}`)).toEqual(said);
});

test.each([
  ["moon", "secure=1", "the catalog has no GPU type, pool or CPU flavor 'moon'"],
  [A40, "", "say which price: secure, community, cluster, secureSpot, communitySpot, serverless"],
  [
    A40,
    "moon=1",
    `'${A40}' has no price 'moon'; it has secure, community, cluster, secureSpot, communitySpot, serverless`,
  ],
  [A40, "constructor=1", "has no price 'constructor'"],
  [A40, "secure", "secure must be USD from 0 to 1000000"],
  [A40, "secure=-1", "secure must be USD"],
  [A40, "secure=1000001", "secure must be USD"],
  [A40, "secure=0.0000000001", "at most 9 decimals"],
  [A40, "secure=1e3", "secure must be USD"],
])("refuses %s %s", (what, text, why) => {
  expect(() => priceSetsFrom(catalogFrom("{}"), what, text)).toThrow(why);
});
