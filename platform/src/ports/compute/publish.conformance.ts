/** What every Compute guarantees about ports that can be reached from outside. */

import { once } from "node:events";
import { describe, expect, type TestContext, test } from "vitest";
import { whyLacking } from "./abilities.ts";
import { StartRefused } from "./compute.ts";
import { found, linesOf, needs, type OpenedCompute, openWorld, startOn, type World } from "./conformance-world.ts";
import { PortTaken } from "./publish.ts";

const PORT = 8_080;

async function openPublishing(context: TestContext, open: () => Promise<OpenedCompute>) {
  const world = await openWorld(open);
  if (!world.compute.publishing) {
    await world[Symbol.asyncDispose]();
    context.skip(whyLacking(world.compute, "publishing"));
  }
  return world;
}

/** Starts an instance that listens, and returns where it is reached. */
async function startPublished(world: World, port = PORT) {
  const id = world.id();
  const instance = await startOn(world.compute, id, world.spec([{ echoOn: port }], { publish: [{ port }] }));
  await linesOf(world.compute, id, { limit: 1 });
  expect(instance.published).toEqual([{ inside: port, outside: expect.any(Number) }]);
  return { id, outside: instance.published![0]!.outside };
}

async function echo(world: World, outside: number, text: string): Promise<string> {
  const connection = await world.reach(outside);
  connection.write(text);
  const [answer] = await once(connection, "data");
  connection.destroy();
  return String(answer);
}

export function publishConformance(name: string, open: () => Promise<OpenedCompute>): void {
  describe.concurrent(`${name} publishes ports`, () => {
    test("at one of the machine's, which the instance tells, in the next process of the server too", async (context) => {
      await using world = await openPublishing(context, open);
      const { id, outside } = await startPublished(world);
      expect(await echo(world, outside, "hello")).toBe("hello");
      const compute = await world.reopen();
      expect((await found(compute, id))?.published).toEqual([{ inside: PORT, outside }]);
      expect(await echo(world, outside, "again")).toBe("again");
      // Publishing a port does not let the server dial it.
      await expect(compute.dial(id, PORT)).rejects.toThrow(String(PORT));
    });

    test("so that two that publish the same are reached at two, also when one was started by the next process", async (context) => {
      await using world = await openPublishing(context, open);
      const first = await startPublished(world);
      await world.reopen();
      const others = await Promise.all([startPublished(world), startPublished(world)]);
      const all = [first, ...others];
      expect(new Set(all.map(({ outside }) => outside)).size).toBe(3);
      await world.compute.stop(first.id, 10_000);
      for (const { outside } of others) expect(await echo(world, outside, "mine")).toBe("mine");
      await expect(world.reach(first.outside)).rejects.toThrow();
    });

    test("until the instance has ended", async (context) => {
      await using world = await openPublishing(context, open);
      const [stopped, removed] = [await startPublished(world), await startPublished(world)];
      await world.compute.stop(stopped.id, 10_000);
      expect(await found(world.compute, stopped.id)).not.toHaveProperty("published");
      await world.compute.remove(removed.id);
      for (const { outside } of [stopped, removed]) await expect(world.reach(outside)).rejects.toThrow();
    });

    test("at the one that was wished for, which is refused to others while it is somebody's", async (context) => {
      await using world = await openPublishing(context, open);
      const first = await startPublished(world);
      const { outside } = first;
      const wishing = (id: string) =>
        startOn(world.compute, id, world.spec([{ echoOn: PORT }], { publish: [{ port: PORT, outside }] }));
      const refused = world.id();
      const second = wishing(refused);
      await expect(second).rejects.toThrow(PortTaken);
      await expect(second).rejects.toThrow(`port ${outside} of the machine is taken`);
      expect([await found(world.compute, refused), await world.remains(refused)]).toEqual([undefined, []]);
      await world.compute.remove(first.id);
      const heir = world.id();
      expect((await wishing(heir)).published).toEqual([{ inside: PORT, outside }]);
      await linesOf(world.compute, heir, { limit: 1 });
      expect(await echo(world, outside, "hello")).toBe("hello");
    });

    test("of a frozen instance as well: who connects is answered after the thaw", async (context) => {
      await using world = await openPublishing(context, open);
      needs(context, world.compute, "freezing");
      const { id, outside } = await startPublished(world);
      await world.compute.freezing!.freeze(id);
      expect((await found(world.compute, id))?.published).toEqual([{ inside: PORT, outside }]);
      const answer = echo(world, outside, "late");
      await world.compute.freezing!.thaw(id);
      expect(await answer).toBe("late");
    });

    test("and none for an instance that asks for none", async () => {
      await using world = await openWorld(open);
      const instance = await startOn(world.compute, world.id(), world.spec([{ stayUntilAsked: 0 }]));
      expect(instance).not.toHaveProperty("published");
    });

    test("or refuses with the reason what cannot be published", async () => {
      await using world = await openWorld(open);
      const odd = [
        [{ port: 0 }],
        [{ port: 70_000 }],
        [{ port: 80 }, { port: 80 }],
        [
          { port: 80, outside: 20_001 },
          { port: 81, outside: 20_001 },
        ],
        [{ port: 80, outside: 1 }],
      ];
      for (const publish of [...odd, ...(world.compute.publishing ? [] : [[{ port: PORT }]])]) {
        const id = world.id();
        const refused = startOn(world.compute, id, world.spec([], { publish }));
        await expect(refused).rejects.toThrow(StartRefused);
        expect([await found(world.compute, id), await world.remains(id)]).toEqual([undefined, []]);
      }
    });
  });
}
