/** The disk guard ends programs that write while the disk runs short, gives the reason, and leaves room for records. */
import { expect, test } from "vitest";
import { FakeClock } from "../kernel/clock.ts";
import { silentLog } from "../kernel/log.ts";
import { DiskGuard } from "./disk-guard.ts";

const MB = 1_048_576;
const GB = 1024 * MB;
const TOTAL = 100 * GB;
/** 5% of the disk is more than the largest margin, so the largest margin applies. */
const MARGIN = 2 * GB;

/** A disk on which programs take as much as a test says. A program that is ended frees its bytes, unless they are on a volume. */
function setup({ free = 50 * GB, frees = true } = {}) {
  const clock = new FakeClock(0);
  const taken = new Map<string, number | undefined>();
  const ended = new Map<string, string>();
  let others = TOTAL - free;
  const sum = () => [...taken.values()].reduce<number>((all, bytes) => all + (bytes ?? 0), others);
  const world = {
    clock,
    taken,
    ended,
    /** How often all sizes were read. */
    lists: 0,
    /** How long ending a program takes. */
    endMs: 0,
    write: (id: string, bytes: number) => taken.set(id, (taken.get(id) ?? 0) + bytes),
    /** Something other than the platform fills the disk. */
    fill: (left: number) => {
      others += TOTAL - sum() - left;
    },
    look: (ms = 1000) => clock.advance(ms),
    guard: undefined as unknown as DiskGuard,
    async [Symbol.asyncDispose]() {
      await world.guard[Symbol.asyncDispose]();
    },
  };
  world.guard = new DiskGuard({
    clock,
    log: silentLog,
    room: async () => ({ totalBytes: TOTAL, freeBytes: Math.max(0, TOTAL - sum()) }),
    writers: {
      async list() {
        world.lists++;
        return [...taken].map(([id, bytes]) => ({ id, ...(bytes !== undefined && { bytes }) }));
      },
      async end(id, reason) {
        ended.set(id, reason);
        if (world.endMs > 0) await new Promise<void>((resolve) => clock.after(world.endMs, resolve));
        if (!frees) others += taken.get(id) ?? 0;
        taken.delete(id);
      },
    },
  });
  return world;
}

test("while nobody writes, sizes are read once a minute; somebody who writes is noticed within seconds", async () => {
  await using world = setup();
  world.write("sleeps", GB);
  await world.look(6000);
  const before = world.lists;
  for (let second = 0; second < 60; second++) await world.look();
  expect(world.lists - before).toBeLessThanOrEqual(1);
  world.write("writes", 1);
  await world.look(6000);
  expect(world.lists - before).toBeGreaterThanOrEqual(2);
});

test("room that others free hides nobody who takes it again", async () => {
  await using world = setup();
  world.write("sleeps", GB);
  await world.look(6000);
  world.fill(60 * GB);
  await world.look(6000);
  const before = world.lists;
  world.write("writes", 5 * GB);
  await world.look(6000);
  expect(world.lists - before).toBe(1);
});

test("while there is room everybody writes", async () => {
  await using world = setup();
  for (let n = 0; n < 20; n++) {
    world.write("busy", GB);
    await world.look();
  }
  expect([world.ended.size, world.guard.refusal]).toEqual([0, undefined]);
});

test("when room runs short the one that writes is ended, and is told what happened, why and what to do", async () => {
  await using world = setup();
  world.write("quiet", 20 * GB);
  await world.look();
  world.fill(MARGIN + GB);
  await world.look();
  world.write("writer", 100 * MB);
  await world.look();
  world.write("writer", 1200 * MB);
  await world.look();
  expect([...world.ended.keys()]).toEqual(["writer"]);
  const reason = world.ended.get("writer")!;
  expect(reason).toMatch(
    /^the server's disk is full: 1772 MB of 100 GB are left, .* it wrote 1200 MB of late; start it again/,
  );
});

test("of several the one that wrote most is ended first, and the others only while room is still short", async () => {
  await using world = setup({ free: MARGIN + 3 * GB });
  for (const id of ["less", "most"]) world.write(id, MB);
  await world.look();
  world.write("most", 2 * GB);
  world.write("less", 1200 * MB);
  await world.look(250);
  await world.look(1000);
  expect([...world.ended.keys()]).toEqual(["most"]);
  expect(world.guard.refusal?.text).toBeUndefined();
});

test("when there is no time for that all that write are ended at once, also while an end takes long", async () => {
  await using world = setup({ free: MARGIN + 3 * GB });
  world.endMs = 60_000;
  for (const id of ["a", "b", "c"]) world.write(id, MB);
  await world.look();
  world.write("a", 3500 * MB);
  await world.look(250);
  expect([...world.ended.keys()]).toEqual(["a"]);
  world.write("b", 600 * MB);
  world.write("c", 2 * MB);
  await world.look(250);
  expect([...world.ended.keys()].toSorted()).toEqual(["a", "b", "c"]);
  await world.clock.advance(60_000);
});

test("a disk that somebody else fills ends nobody who does not write, and starts nothing", async () => {
  await using world = setup();
  world.write("quiet", 20 * GB);
  await world.look();
  world.fill(10 * MB);
  await world.look();
  expect(await world.guard.standStill()).toBe(false);
  expect(world.ended.size).toBe(0);
  expect(world.guard.refusal?.text).toMatch(/^the server's disk is full: 10 MB of 100 GB are left/);
  world.fill(10 * GB);
  await world.look();
  expect(world.guard.refusal?.text).toBeUndefined();
});

test("records that find no room stop whoever wrote lately, also one that cannot write any more since the disk is full", async () => {
  await using world = setup({ free: 10 * GB, frees: false });
  for (const id of ["quiet", "writer", "another"]) world.write(id, MB);
  await world.look(6000);
  await world.look(6000);
  // This is faster than the guard looks.
  world.write("writer", 9 * GB);
  world.write("another", 900 * MB);
  world.fill(0);
  expect(await world.guard.standStill()).toBe(true);
  expect([...world.ended.keys()].toSorted()).toEqual(["another", "writer"]);
  expect(await world.guard.standStill()).toBe(false);
});

test("records wait for those that are about to end instead of ending more", async () => {
  await using world = setup({ free: MARGIN + 3 * GB });
  world.endMs = 5000;
  for (const id of ["a", "b"]) world.write(id, 2 * MB);
  await world.look();
  world.write("b", 2 * MB);
  world.write("a", 3500 * MB);
  await world.look(250);
  const stood = world.guard.standStill();
  await world.clock.advance(5000);
  expect([await stood, [...world.ended.keys()]]).toEqual([true, ["a"]]);
});

test("one whose size nobody can tell is ended when records find no room", async () => {
  await using world = setup();
  world.taken.set("uncounted", undefined);
  await world.look();
  world.fill(0);
  await world.look();
  expect(world.ended.size).toBe(0);
  expect(await world.guard.standStill()).toBe(true);
  expect(world.ended.get("uncounted")).toContain("it may have written there");
});
