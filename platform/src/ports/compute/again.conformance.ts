/** What every Compute guarantees when it starts an ended instance once more. */
import { describe, expect, test } from "vitest";
import { isRepeatable, NEEDS_VOLUME } from "./again.ts";
import { StartRefused } from "./compute.ts";
import {
  againOn,
  ended,
  found,
  linesOf,
  needs,
  newId,
  type OpenedCompute,
  openWorld,
  type Step,
  type World,
} from "./conformance-world.ts";

const mounting = async (world: World) => world.spec([], await world.repeatable());

export function againConformance(name: string, open: () => Promise<OpenedCompute>): void {
  describe.concurrent(`${name} starts again what has ended`, () => {
    test("on the disk that it had, as often as it ends, and its log goes on", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "again");
      const pod = await world.repeatable();
      const steps: Step[] = [{ count: `${world.disk}/boots` }, { exit: 3 }];
      const id = await world.start(steps, pod);
      await ended(world.compute, id);
      const { at, lines } = await linesOf(world.compute, id);
      for (const _ of [2, 3]) {
        await againOn(world.compute, id, world.spec(steps, pod));
        expect(await ended(world.compute, id)).toMatchObject({ code: 3 });
      }
      const rest = await linesOf(world.compute, id, { after: at });
      expect([lines, rest.lines]).toEqual([["1"], ["2", "3"]]);
    });

    test("a new boot is told as one, and is found by the next process", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "again");
      const pod = await world.repeatable();
      const steps: Step[] = [{ count: `${world.disk}/boots` }, { stayUntilAsked: 4 }];
      const id = await world.start(steps, pod);
      const first = (await found(world.compute, id))!;
      await linesOf(world.compute, id, { limit: 1 });
      await world.compute.stop(id, 10_000);
      await world.reopen();
      const heard: string[] = [];
      world.compute.watch(({ state }) => state !== "pending" && heard.push(state));
      await world.pass(10);
      const again = await againOn(world.compute, id, world.spec(steps, pod));
      expect(again).toMatchObject({ id, kind: "pod", owner: "p1", state: "running" });
      expect(again.startedAt).toBeGreaterThan(first.startedAt);
      await linesOf(world.compute, id, { limit: 2 });
      expect(heard).toEqual(["running"]);
      await world.reopen();
      expect(await found(world.compute, id)).toEqual(again);
      await world.compute.stop(id, 10_000);
      expect((await found(world.compute, id))?.exit).toMatchObject({ code: 4 });
    });

    test("one that runs is left alone, and of several at once there is one boot", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "again");
      const pod = await world.repeatable();
      const steps: Step[] = [{ count: `${world.disk}/boots` }, { stayUntilAsked: 0 }];
      const spec = world.spec(steps, pod);
      const id = await world.start(steps, pod);
      const running = await found(world.compute, id);
      expect(await againOn(world.compute, id, spec)).toEqual(running);
      await linesOf(world.compute, id, { limit: 1 });
      await world.compute.stop(id, 10_000);
      const all = await Promise.all([1, 2, 3].map(() => againOn(world.compute, id, spec)));
      expect(new Set(all.map(({ startedAt }) => startedAt)).size).toBe(1);
      expect((await linesOf(world.compute, id, { limit: 2 })).lines).toEqual(["1", "2"]);
    });

    test("with the variables of that boot where the driver can, else with those of the first", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "again");
      const pod = await world.repeatable();
      const steps: Step[] = [{ writeVariable: "TOKEN" }];
      const id = await world.start(steps, { ...pod, env: { TOKEN: "old" } });
      await ended(world.compute, id);
      await againOn(world.compute, id, world.spec(steps, { ...pod, env: { TOKEN: "new" } }));
      await ended(world.compute, id);
      const second = world.compute.again!.freshEnv ? "new" : "old";
      expect((await linesOf(world.compute, id)).lines).toEqual(['"old"', `"${second}"`]);
    });

    test("is refused where nothing is left of it", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "again");
      const pod = await world.repeatable();
      const refused = againOn(world.compute, newId(), world.spec([], pod));
      await expect(refused).rejects.toBeInstanceOf(StartRefused);
      const id = await world.start([], pod);
      await ended(world.compute, id);
      await world.compute.remove(id);
      await expect(againOn(world.compute, id, world.spec([], pod))).rejects.toBeInstanceOf(StartRefused);
    });

    test("is refused without a volume where the driver needs one, and it stays ended as it was", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "again");
      if (!world.compute.again!.needsVolume) return context.skip("this driver keeps every disk");
      const spec = world.spec([{ exit: 5 }], { kind: "pod" });
      expect([
        isRepeatable(world.compute.again, spec),
        isRepeatable(world.compute.again, await mounting(world)),
      ]).toEqual([false, true]);
      const id = await world.start([{ exit: 5 }], { kind: "pod" });
      await ended(world.compute, id);
      const before = await found(world.compute, id);
      await expect(againOn(world.compute, id, spec)).rejects.toThrow(NEEDS_VOLUME);
      expect(await found(world.compute, id)).toEqual(before);
    });

    test("is refused while others have its GPUs, and it stays ended as it was", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "again");
      const pod = await world.repeatable();
      const stock = (await world.compute.capacity())[0]!.gpus.find(({ count }) => count > 1);
      if (!stock) return context.skip("this driver has no two GPUs of one type here");
      const gpu = { type: stock.type, count: stock.count };
      const id = await world.start([{ exit: 5 }], { ...pod, gpu });
      await ended(world.compute, id);
      const before = await found(world.compute, id);
      const other = await world.start([{ stayUntilAsked: 0 }], { gpu });
      await expect(againOn(world.compute, id, world.spec([{ exit: 5 }], { ...pod, gpu }))).rejects.toThrow(
        StartRefused,
      );
      expect(await found(world.compute, id)).toEqual(before);
      await world.compute.remove(other);
      await againOn(world.compute, id, world.spec([{ exit: 5 }], { ...pod, gpu }));
      expect(await ended(world.compute, id)).toMatchObject({ code: 5 });
    });

    test("it is reached at the ports where it was, and leaves nothing when it is removed", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "again");
      needs(context, world.compute, "publishing");
      const pod = await world.repeatable();
      const steps: Step[] = [{ echoOn: 8080 }];
      const more = { ...pod, ports: [8080], publish: [{ port: 8080 }] };
      const id = await world.start(steps, more);
      const { published } = (await found(world.compute, id))!;
      await linesOf(world.compute, id, { limit: 1 });
      await world.compute.stop(id, 10_000);
      expect((await againOn(world.compute, id, world.spec(steps, more))).published).toEqual(published);
      await linesOf(world.compute, id, { limit: 2 });
      (await world.compute.dial(id, 8080)).destroy();
      (await world.reach(published![0]!.outside)).destroy();
      await world.compute.remove(id);
      expect(await world.remains(id)).toEqual([]);
    });
  });
}
