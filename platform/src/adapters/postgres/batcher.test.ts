/** The batcher makes as few round trips as possible, and one item's failure does not fail the others. */
import { expect, test } from "vitest";
import { turn } from "../../kernel/clock.ts";
import { problem } from "../../kernel/problem.ts";
import { Batcher, Lane } from "./batcher.ts";

function setup({ failing = (_items: number[]): Error | undefined => undefined } = {}) {
  const batches: number[][] = [];
  let gate = Promise.resolve();
  let release = () => {};
  const batcher = new Batcher<number, string>(async (items) => {
    batches.push(items);
    await gate;
    const error = failing(items);
    if (error) throw error;
    return items.map((item) => `answer ${item}`);
  });
  return {
    batcher,
    batches,
    release: () => release(),
    hold() {
      ({ promise: gate, resolve: release } = Promise.withResolvers<void>());
    },
  };
}

test("what one turn asks goes out together, and each gets its own answer", async () => {
  const { batcher, batches } = setup();
  expect(await Promise.all([1, 2, 3].map((item) => batcher.ask(item)))).toEqual(["answer 1", "answer 2", "answer 3"]);
  expect(batches).toEqual([[1, 2, 3]]);
});

test("what is asked during a round trip forms the next one, in order", async () => {
  const world = setup();
  world.hold();
  const first = world.batcher.ask(1);
  await turn();
  const later = [2, 3].map((item) => world.batcher.ask(item));
  await turn();
  expect(world.batches).toEqual([[1]]);
  world.release();
  await Promise.all([first, ...later]);
  expect(world.batches).toEqual([[1], [2, 3]]);
});

test("a batch has a largest size", async () => {
  const { batcher, batches } = setup();
  await Promise.all(Array.from({ length: 1_200 }, (_, i) => batcher.ask(i)));
  expect(batches.map(({ length }) => length)).toEqual([500, 500, 200]);
});

test("a fault that one item brings is its own", async () => {
  const { batcher } = setup({ failing: (items) => (items.includes(2) ? new Error("bad 2") : undefined) });
  const answers = await Promise.allSettled([1, 2, 3].map((item) => batcher.ask(item)));
  expect(answers).toMatchObject([
    { value: "answer 1" },
    { status: "rejected", reason: { message: "bad 2" } },
    { value: "answer 3" },
  ]);
});

test("an outage is everybody's, asked about once, and the next batch is tried anew", async () => {
  let down = true;
  const { batcher, batches } = setup({ failing: () => (down ? problem("unavailable", "down") : undefined) });
  const answers = await Promise.allSettled([1, 2].map((item) => batcher.ask(item)));
  expect(answers).toMatchObject([{ reason: { code: "unavailable" } }, { reason: { code: "unavailable" } }]);
  expect(batches).toHaveLength(1);
  down = false;
  expect(await batcher.ask(3)).toBe("answer 3");
});

test("whoever waited in a lane while nothing was heard is told so too, and waits for no further batch", async () => {
  const lane = new Lane();
  const silence = problem("unavailable", "late", { cause: new Error("Query read timeout") });
  const held = Promise.withResolvers<never>();
  const silent = new Batcher<number, number>(() => held.promise, lane);
  let asked = 0;
  const other = new Batcher<number, number>(async (items) => {
    asked++;
    return items;
  }, lane);
  const [first, second] = [silent.ask(1), other.ask(2)];
  await turn();
  const third = silent.ask(3);
  held.reject(silence);
  const outcomes = await Promise.allSettled([first, second, third]);
  expect(outcomes).toMatchObject([{ reason: silence }, { reason: silence }, { reason: silence }]);
  expect(await other.ask(4)).toBe(4);
  expect(asked).toBe(1);
});

test("it is idle once everything asked is answered", async () => {
  const world = setup();
  await world.batcher.idle();
  world.hold();
  let answered = false;
  void world.batcher.ask(1).then(() => (answered = true));
  const idle = world.batcher.idle();
  world.release();
  await idle;
  expect(answered).toBe(true);
});

test("batchers of one lane take turns, and gather meanwhile", async () => {
  const sent: string[] = [];
  const lane = new Lane();
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const batcher = (name: string) =>
    new Batcher<number, number>(async (items) => {
      sent.push(`${name}: ${items}`);
      await gate;
      return items;
    }, lane);
  const one = batcher("one");
  const other = batcher("other");
  const asked = [one.ask(1), other.ask(2)];
  await turn();
  asked.push(other.ask(3), one.ask(4), one.ask(5));
  await turn();
  expect(sent).toEqual(["one: 1"]);
  open();
  expect(await Promise.all(asked)).toEqual([1, 2, 3, 4, 5]);
  expect(sent).toEqual(["one: 1", "other: 2,3", "one: 4,5"]);
});
