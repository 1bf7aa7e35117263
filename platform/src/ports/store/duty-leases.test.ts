/** A node that leaves gives its duties away at once, and keeps those of others. */
import { expect, test } from "vitest";
import { SeededRandom } from "../../kernel/random.ts";
import { DutyLeases } from "./duty-leases.ts";
import { MemoryStore } from "./memory-store.ts";

const NOW = 1_000_000;

function setup() {
  const store = new MemoryStore();
  const node = (seed: number) => new DutyLeases({ store, random: new SeededRandom(seed), alone: false });
  return { first: node(1), second: node(2) };
}

test("one node does a duty, and the next when the first gave it away", async () => {
  const { first, second } = setup();
  const [mine, its] = [first.of("plan")!, second.of("plan")!];
  expect([await mine(NOW), await its(NOW)]).toEqual([true, false]);
  await first.giveAway();
  expect([await mine(NOW + 1), await its(NOW + 1)]).toEqual([false, true]);
});

test("a node that dies is replaced when its lease has run out", async () => {
  const { first, second } = setup();
  const [mine, its] = [first.of("plan")!, second.of("plan")!];
  expect(await mine(NOW)).toBe(true);
  expect([await its(NOW + 4999), await its(NOW + 5000)]).toEqual([false, true]);
});

test("a node that renews its lease once a second keeps it, also when one renewal comes four seconds late", async () => {
  const { first, second } = setup();
  const [mine, its] = [first.of("plan")!, second.of("plan")!];
  for (const second of [0, 1, 2, 6, 7, 11]) {
    expect(await mine(NOW + second * 1000)).toBe(true);
    expect(await its(NOW + second * 1000 + 4000)).toBe(false);
  }
});

test("named duties alone are given away, and nobody's are taken", async () => {
  const { first, second } = setup();
  const [plan, sweep, its] = [first.of("plan")!, first.of("sweep")!, second.of("sweep")!];
  for (const duty of [plan, sweep]) expect(await duty(NOW)).toBe(true);
  await first.giveAway(["plan"]);
  expect([await plan(NOW), await sweep(NOW)]).toEqual([false, true]);
  second.of("plan");
  await second.giveAway();
  expect([await sweep(NOW), await its(NOW)]).toEqual([true, false]);
});

test("a single process asks nobody", () => {
  expect(
    new DutyLeases({ store: new MemoryStore(), random: new SeededRandom(1), alone: true }).of("plan"),
  ).toBeUndefined();
});
