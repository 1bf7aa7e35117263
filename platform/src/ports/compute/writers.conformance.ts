/** What every Compute guarantees about instances that fill the disk of the data folder. */
import { describe, expect, test } from "vitest";
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
} from "./conformance-world.ts";

const POD = { kind: "pod", owner: "p1" } as const;
const REASON = "the server's disk is full: 3 MB are left";

export function writersConformance(name: string, open: () => Promise<OpenedCompute>): void {
  describe.concurrent(`${name} knows who writes`, () => {
    test("a Pod is among them while it runs, and not once it has ended", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "writers");
      const id = await world.start([{ stayUntilAsked: 0 }], POD);
      const isListed = async () => (await world.compute.writers!.list()).some((writer) => writer.id === id);
      if (!(await isListed())) return context.skip("this driver's disk is not that of the data folder");
      await world.compute.stop(id, 10_000);
      expect(await isListed()).toBe(false);
    });

    test("one that is ended for it has the reason, for good, until it is started again", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "writers");
      const steps: Step[] = [{ count: `${world.disk}/boots` }, { stayWhateverIsAsked: true }];
      const pod = await world.repeatable();
      const id = await world.start(steps, pod);
      await linesOf(world.compute, id, { limit: 1 });
      await world.compute.writers!.end(id, REASON);
      expect(await ended(world.compute, id)).toMatchObject({ code: null, reason: REASON, isFinal: true });
      const before = await found(world.compute, id);
      await world.compute.writers!.end(id, "another reason");
      expect(await found(world.compute, id)).toEqual(before);
      await againOn(world.compute, id, world.spec(steps, pod));
      expect((await found(world.compute, id))?.exit).toBeUndefined();
    });

    test("one that never was is no error", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "writers");
      await world.compute.writers!.end(newId(), REASON);
    });
  });
}
