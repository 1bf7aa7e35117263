/** The reserve of a disk is given to records, and to nothing else. */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { expect, test } from "vitest";
import { FakeClock } from "../kernel/clock.ts";
import { SeededRandom } from "../kernel/random.ts";
import { DataDisk, DISK_IS_FULL } from "./disk.ts";

async function setup() {
  const folder = await mkdtemp(join(tmpdir(), "millrace-disk-"));
  const log = pino({ level: "silent" });
  const disk = await DataDisk.open(folder, { clock: new FakeClock(), log, random: new SeededRandom(1) });
  return {
    disk,
    isHeld: async () => (await stat(join(folder, "reserve")).catch(() => undefined)) !== undefined,
    async [Symbol.asyncDispose]() {
      await disk[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

test("it is given once whoever writes stands still, and nothing new is taken on meanwhile", async () => {
  await using world = await setup();
  const { disk } = world;
  const stopped = Promise.withResolvers<boolean>();
  disk.stoppedBy(() => stopped.promise);
  expect([await world.isHeld(), disk.refusal]).toEqual([true, undefined]);
  const released = disk.release();
  expect([await world.isHeld(), disk.refusal]).toEqual([true, DISK_IS_FULL]);
  stopped.resolve(true);
  expect(await released).toBe(true);
  expect([await world.isHeld(), disk.refusal]).toEqual([false, DISK_IS_FULL]);
});

test("where nobody could be stopped it is given all the same", async () => {
  await using world = await setup();
  world.disk.stoppedBy(() => Promise.reject(new Error("no such program")));
  expect(await world.disk.release()).toBe(true);
  expect(await world.isHeld()).toBe(false);
});

test("when there is none left, only somebody who was stopped makes room", async () => {
  await using world = await setup();
  await world.disk.release();
  expect(await world.disk.release()).toBe(false);
  world.disk.stoppedBy(async () => true);
  expect(await world.disk.release()).toBe(true);
});
