/** What every Compute reports about what an instance uses. */

import { setImmediate } from "node:timers/promises";
import { describe, expect, type TestContext, test } from "vitest";
import { whyLacking } from "./abilities.ts";
import { ended, found, linesOf, type OpenedCompute, openWorld, type Step } from "./conformance-world.ts";
import type { Stats } from "./stats.ts";

const MB = 1_048_576;
const LIMITS = { vcpu: 1, memoryMb: 256, diskGb: 1 };

export function statsConformance(name: string, open: () => Promise<OpenedCompute>): void {
  describe.concurrent(`${name} says what an instance uses`, () => {
    /** Starts an instance that has done these steps and stays. */
    async function openInstance(context: TestContext, steps: readonly Step[], more = {}) {
      const world = await openWorld(open);
      if (!world.compute.stats) {
        await world[Symbol.asyncDispose]();
        context.skip(whyLacking(world.compute, "stats"));
      }
      const id = await world.start([...steps, { write: "done\n" }, { stayUntilAsked: 0 }], { limits: LIMITS, ...more });
      await linesOf(world.compute, id, { limit: 1 });
      const stats = async () => (await world.compute.stats!.of(id))!;
      return { world, id, stats, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
    }

    test("processor time since its start, which only grows, in the next process of the server too", async (context) => {
      await using instance = await openInstance(context, [{ burnMs: 300 }]);
      // Some drivers measure only now and then.
      let first: Stats;
      do {
        await setImmediate();
        first = await instance.stats();
      } while ((first.cpuMs ?? 0) < 300);
      expect(first.cpuMs).toBeLessThan(60_000);
      await instance.world.reopen();
      const second = await instance.stats();
      expect(second.cpuMs).toBeGreaterThanOrEqual(first.cpuMs!);
      expect(second.at).toBeGreaterThanOrEqual(first.at);
    });

    test("memory, and how much of it there may be", async (context) => {
      await using instance = await openInstance(context, [{ takeMemoryMb: 64 }]);
      let stats: Stats;
      do {
        await setImmediate();
        stats = await instance.stats();
      } while ((stats.memoryBytes ?? 0) < 64 * MB);
      const { memoryBytes, memoryLimitBytes } = stats;
      expect(memoryBytes).toBeLessThan(200 * MB);
      expect(memoryLimitBytes).toBe(256 * MB);
    });

    test("what it wrote to its own disk, as soon as that is known", async (context) => {
      await using instance = await openInstance(context, []);
      const { compute, disk, command } = instance.world;
      if (!compute.facts.sandbox) return context.skip("its disk is the machine's");
      const fill = await compute.exec!.run(instance.id, { cmd: command([{ fillMb: 16, in: `${disk}/large` }]) });
      expect(await fill.exit).toMatchObject({ code: 0 });
      let stats: Stats;
      do {
        await setImmediate();
        stats = await instance.stats();
        // A value may be up to a minute old.
      } while (stats.diskBytes === undefined || stats.diskBytes < 16 * MB);
      expect(stats.diskBytes).toBeLessThan(32 * MB);
    });

    test("of a GPU that is made up, that it is, and nothing that was not measured", async (context) => {
      await using instance = await openInstance(context, []);
      const { compute } = instance.world;
      const gpu = (await compute.capacity()).flatMap(({ gpus }) => gpus).find(({ virtual }) => virtual);
      if (!gpu) return context.skip("this driver has no made-up GPU here");
      const id = await instance.world.start([{ stayUntilAsked: 0 }], { gpu: { type: gpu.type, count: 1 } });
      const [device] = (await found(compute, id))!.devices!;
      expect((await compute.stats!.of(id))?.gpus).toEqual([{ id: device, virtual: true }]);
      expect((await instance.stats()).gpus).toEqual([]);
    });

    test("of one that is frozen as well, and of one that has ended or never was nothing", async (context) => {
      await using instance = await openInstance(context, [{ burnMs: 100 }]);
      const { compute } = instance.world;
      if (compute.freezing) {
        await compute.freezing!.freeze(instance.id);
        expect((await instance.stats()).cpuMs).toBeGreaterThanOrEqual(100);
      }
      const gone = await instance.world.start([{ exit: 0 }]);
      await ended(compute, gone);
      expect(await compute.stats!.of(gone)).toBeUndefined();
      expect(await compute.stats!.of("unknown")).toBeUndefined();
    });
  });
}
