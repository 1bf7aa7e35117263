/** Memory for bodies and results: it is bounded as a whole, divided fairly, and a refusal gives the reason. */
import { expect, test } from "vitest";
import { BodyMemory, type Hold, MEMORY_WAIT_MS } from "./body-memory.ts";
import { FakeClock, turn } from "./clock.ts";
import { floating } from "./floating.ts";

const MB = 1024 * 1024;

function setup(mb = 100) {
  const clock = new FakeClock();
  const memory = new BodyMemory({ bytes: mb * MB, clock });
  const given: string[] = [];
  return {
    clock,
    memory,
    /** Names of those who waited and got their hold, in the order in which they got it. */
    given,
    /** Takes a hold at once, and fails the test if it would have to wait. */
    now(whose: string, size: number): Hold {
      const hold = memory.take(whose, size * MB);
      if (hold instanceof Promise) throw new Error(`${whose} has to wait`);
      return hold;
    },
    later(whose: string, size: number, gone?: AbortSignal, name = whose): Promise<Hold> {
      const hold = memory.take(whose, size * MB, gone ? { gone } : {});
      if (!(hold instanceof Promise)) throw new Error(`${whose} does not have to wait`);
      hold.then(
        () => given.push(name),
        () => given.push(`${name} refused`),
      );
      return hold;
    },
    /** Waits for a hold whose arrival the test reads in `given`. */
    queued(whose: string, size: number, name = whose): void {
      floating(this.later(whose, size, undefined, name), () => {});
    },
    get heldMb() {
      return memory.held / MB;
    },
  };
}

const release = (...holds: Hold[]) => {
  for (const hold of holds) hold[Symbol.dispose]();
};

test("what was held is free again, once, however often it is given back", () => {
  const world = setup();
  const hold = world.now("a", 60);
  release(hold, hold);
  expect(world.heldMb).toBe(0);
  const next = world.now("a", 100);
  release(hold);
  expect(world.heldMb).toBe(100);
  release(next);
});

test("an account holds as much as stays free for others, and its first as soon as that is free at all", () => {
  const world = setup();
  world.now("a", 30);
  world.now("a", 20);
  expect(() => world.now("a", 1)).toThrow("a has to wait");
  world.now("b", 50);
  expect(() => world.now("c", 1)).toThrow("c has to wait");
});

test("while one account waits for more, another is served at once", async () => {
  const world = setup();
  const [first] = Array.from({ length: 5 }, () => world.now("greedy", 10));
  for (let n = 0; n < 50; n++) world.queued("greedy", 10);
  world.now("modest", 20);
  expect(world.given).toEqual([]);
  // The other account now holds something, so this one may hold less than before.
  release(first!);
  await turn();
  expect([world.given, world.heldMb]).toEqual([[], 60]);
});

test("accounts are served in turns, and each one's own in order", async () => {
  const world = setup();
  const all = world.now("full", 100);
  for (const name of ["a1", "a2", "a3"]) world.queued("a", 10, name);
  for (const name of ["b1", "b2"]) world.queued("b", 10, name);
  world.queued("c", 10, "c1");
  release(all);
  await turn();
  expect(world.given).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
  expect(world.heldMb).toBe(60);
});

test("one that is too long for what is free keeps nobody of other accounts waiting, and its own stay behind it", async () => {
  const world = setup();
  const [first] = [world.now("full", 90)];
  world.queued("a", 40, "a1");
  world.queued("a", 1, "a2");
  release(world.now("b", 10));
  await turn();
  expect(world.given).toEqual([]);
  release(first!);
  await turn();
  expect(world.given).toEqual(["a1", "a2"]);
});

test("whoever waited too long is refused, and is told whether its own is in the way", async () => {
  const world = setup();
  world.now("a", 50);
  const own = world.later("a", 30);
  const far = expect(own).rejects.toMatchObject({ code: "too-much", retryAfterS: 5 });
  world.now("b", 40);
  const others = expect(world.later("c", 20)).rejects.toMatchObject({ code: "unavailable", retryAfterS: 5 });
  await world.clock.advance(MEMORY_WAIT_MS - 1);
  expect(world.given).toEqual([]);
  await world.clock.advance(1);
  await Promise.all([far, others]);
  expect(world.clock.waiting).toBe(0);
  await expect(own).rejects.toThrow("take 50 MB of the server's memory, and there is no room for 30 MB more");
});

test("where others have what it asks for, an account that holds something is not blamed", async () => {
  const world = setup();
  world.now("a", 5);
  world.now("b", 90);
  const refused = expect(world.later("a", 20)).rejects.toMatchObject({ code: "unavailable" });
  await world.clock.advance(MEMORY_WAIT_MS);
  await refused;
});

test("whoever is gone leaves the line, and those behind it go on", async () => {
  const world = setup();
  world.now("a", 40);
  const gone = new AbortController();
  const left = expect(world.later("a", 30, gone.signal, "long")).rejects.toThrow("gone");
  world.queued("a", 5, "short");
  gone.abort();
  await left;
  expect(world.given).toEqual(["long refused", "short"]);
  expect(world.clock.waiting).toBe(0);
  await expect(world.memory.take("a", 90 * MB, { gone: gone.signal })).rejects.toThrow("gone");
});

test("what turns out to be shorter gives back the rest", async () => {
  const world = setup();
  const hold = world.now("a", 40);
  world.queued("a", 20);
  hold.keep(10 * MB);
  await turn();
  expect([world.given, world.heldMb]).toEqual([["a"], 30]);
  hold.keep(50 * MB);
  expect(world.heldMb).toBe(30);
});

test("what is there already is counted beyond the bound, and others wait for it", async () => {
  const world = setup();
  const noted = world.memory.note("a", 150 * MB);
  expect(world.heldMb).toBe(150);
  world.queued("b", 1);
  release(noted);
  await turn();
  expect(world.given).toEqual(["b"]);
});

test("what is longer than all the room has it to itself", async () => {
  const world = setup();
  const small = world.now("b", 1);
  world.queued("a", 500);
  release(small);
  await turn();
  expect([world.given, world.heldMb]).toEqual([["a"], 100]);
});

test("whoever cannot wait is refused at once, and holds nothing", () => {
  const world = setup();
  const hold = world.memory.takeAtOnce("a", 50 * MB);
  expect(() => world.memory.takeAtOnce("a", 1)).toThrow(expect.objectContaining({ code: "too-much" }));
  expect(() => world.memory.takeAtOnce("b", 60 * MB)).toThrow(expect.objectContaining({ code: "unavailable" }));
  release(hold);
  expect(world.heldMb).toBe(0);
});
