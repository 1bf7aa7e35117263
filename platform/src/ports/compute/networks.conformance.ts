/** What every Compute guarantees about reserved networks: members' addresses are known before the first one runs, and do not change. */
import { isIPv4 } from "node:net";
import { describe, expect, test } from "vitest";
import { overlap, parseSubnet } from "../../kernel/subnet.ts";
import { type InstanceSpec, StartRefused } from "./compute.ts";
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
  startOn,
  type World,
} from "./conformance-world.ts";

const PORT = 7_000;
const LISTENS: Step[] = [{ echoOn: PORT }];
const NAMES = ["node-0", "node-1", "node-2"];
const calls = (...hosts: string[]): Step[] => hosts.map((call) => ({ call, port: PORT }));

const seat = (id: string, rank: number, more: Partial<InstanceSpec> = {}): Partial<InstanceSpec> => ({
  group: { id, name: `node-${rank}`, isReserved: true },
  kind: "pod",
  ...more,
});

async function listening(world: World, more: Partial<InstanceSpec>): Promise<string> {
  const id = await world.start(LISTENS, more);
  await linesOf(world.compute, id, { limit: 1 });
  return id;
}

async function linesFrom(world: World, steps: Step[], more?: Partial<InstanceSpec>): Promise<string[]> {
  return (await linesOf(world.compute, await world.start(steps, more))).lines;
}

export function networksConformance(name: string, open: () => Promise<OpenedCompute>): void {
  describe.concurrent(`${name} reserves networks`, () => {
    test("what it tells before any member runs is where the others reach each of them", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const { id, hosts } = await world.reserve({ names: NAMES });
      expect(new Set(hosts).size).toBe(NAMES.length);
      const early = await world.start([{ call: hosts[1]!, port: PORT, isPatient: true }], seat(id, 0));
      const second = await listening(world, seat(id, 1));
      await world.pass(100);
      expect((await linesOf(world.compute, early)).lines).toEqual(["reached"]);
      expect(await linesFrom(world, calls(hosts[1]!, "node-1"), seat(id, 2))).toEqual(["reached", "reached"]);
      const { address } = (await found(world.compute, second))!;
      if (isIPv4(hosts[1]!)) expect(address).toBe(hosts[1]);
      else expect(isIPv4(address!)).toBe(true);
    });

    test("addresses of a range are in it, and no two networks touch", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const id = newId();
      const asks = [{ id }, { id, account: "other" }, {}, {}].map((ask) => ({ ...ask, names: NAMES }));
      const networks = await Promise.all(asks.map((ask) => world.reserve(ask)));
      expect(new Set(networks.flatMap(({ hosts }) => hosts)).size).toBe(asks.length * NAMES.length);
      const ranges = networks.flatMap(({ range = [] }) => range).map((range) => parseSubnet(range)!);
      for (const [at, one] of ranges.entries()) {
        expect(ranges.slice(at + 1).some((other) => overlap(one, other))).toBe(false);
        expect(networks[at]!.hosts.every((host) => overlap(one, parseSubnet(host)!))).toBe(true);
      }
    });

    test("asked again it tells the same: at once, in the next process, with members and without", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const id = newId();
      const [told, again] = await Promise.all([1, 2].map(() => world.reserve({ id, names: NAMES })));
      expect(again).toEqual(told);
      await world.reopen();
      expect(await world.reserve({ id, names: NAMES })).toEqual(told);
      const member = await listening(world, seat(id, 0));
      await world.reopen();
      expect(await world.reserve({ id, names: NAMES })).toEqual(told);
      expect(await linesFrom(world, calls(told!.hosts[0]!), seat(id, 1))).toEqual(["reached"]);
      for (const one of await world.compute.list()) await world.compute.remove(one.id);
      expect(await found(world.compute, member)).toBeUndefined();
      await world.reopen();
      expect(await world.reserve({ id, names: NAMES })).toEqual(told);
      expect(await world.compute.networks!.list()).toEqual([{ account: "account", id }]);
    });

    test("a member that is started again or anew is where it was", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks", "again");
      const { id, hosts } = await world.reserve({ names: NAMES });
      await listening(world, seat(id, 0));
      const spec = world.spec([...calls(hosts[0]!), { exit: 3 }], seat(id, 1, await world.repeatable()));
      const crashes = world.id();
      await startOn(world.compute, crashes, spec);
      await ended(world.compute, crashes);
      await againOn(world.compute, crashes, spec);
      await ended(world.compute, crashes);
      expect((await linesOf(world.compute, crashes)).lines).toEqual(["reached", "reached"]);
      await world.compute.remove(crashes);
      await listening(world, seat(id, 1));
      expect(await linesFrom(world, calls(...hosts.slice(0, 2)), seat(id, 2))).toEqual(["reached", "reached"]);
    });

    test("who is no member reaches none by what was told", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const id = newId();
      const { hosts } = await world.reserve({ id, names: NAMES });
      await world.reserve({ id, names: NAMES, account: "other" });
      await listening(world, seat(id, 0));
      for (const stranger of [{}, seat(id, 1, { account: "other" }), { group: { id: newId(), name: "node-1" } }])
        expect(await linesFrom(world, calls(hosts[0]!), stranger)).toEqual(["unreachable"]);
    });

    test("it has the range that it had before, unless somebody has that by now", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const { networks } = world.compute;
      const first = await world.reserve({ names: NAMES });
      if (first.range === undefined) return context.skip("this driver's addresses are of no one range");
      const { range } = first;
      await networks!.release({ account: "account", id: first.id });
      const next = await world.reserve({ names: NAMES, range });
      expect(next).toMatchObject({ range, hosts: first.hosts });
      const third = await world.reserve({ names: NAMES, range });
      expect(third.range).not.toBe(range);
      // A range that a caller stored long ago may be invalid.
      for (const odd of ["10.1.2.0", "10.1.2.8/24", "8.8.8.0/24", "what"])
        expect((await world.reserve({ names: NAMES, range: odd })).range).not.toBe(odd);
    });

    test("it is given back once it has no member, and then nothing is left of it", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const { networks } = world.compute;
      const { id, hosts } = await world.reserve({ names: NAMES });
      const network = { account: "account", id };
      await listening(world, seat(id, 0));
      const member = await world.start([], seat(id, 1));
      await ended(world.compute, member);
      await networks!.release(network);
      expect(await networks!.list()).toEqual([network]);
      expect(await linesFrom(world, calls(hosts[0]!), seat(id, 2))).toEqual(["reached"]);
      for (const one of await world.compute.list()) await world.compute.remove(one.id);
      for (let times = 0; times < 2; times++) await networks!.release(network);
      expect([await networks!.list(), await world.groupsLeft()]).toEqual([[], []]);
      await expect(startOn(world.compute, world.id(), world.spec([], seat(id, 0)))).rejects.toThrow(
        `network ${id} is not reserved`,
      );
    });

    test("a member that it was not reserved for is refused, and so is whoever asks for one", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const { id, hosts } = await world.reserve({ names: NAMES });
      const stranger = world.id();
      const refused = startOn(world.compute, stranger, world.spec([], seat(id, 3)));
      await expect(refused).rejects.toThrow(`network ${id} was not reserved for a member node-3`);
      expect(await world.remains(stranger)).toEqual([]);
      await expect(world.reserve({ id, names: [...NAMES, "node-3"] })).rejects.toThrow(StartRefused);
      expect((await world.reserve({ id, names: ["node-2", "node-0"] })).hosts).toEqual([hosts[2], hosts[0]]);
    });

    test("a group that has members for whom nothing was reserved is not", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const id = newId();
      await world.start([{ stayUntilAsked: 0 }], { group: { id, name: "node-0" } });
      await expect(world.reserve({ id, names: NAMES })).rejects.toThrow(`group ${id} has members`);
    });

    test.each([
      ["an id that is a path", { id: "../x" }],
      ["a name that is none", { names: ["node-0", "node.1"] }],
      ["the same name twice", { names: ["node-0", "node-0"] }],
      ["no member", { names: [] }],
      ["too many members", { names: Array.from({ length: 251 }, (_, n) => `node-${n}`) }],
    ])("%s is refused with the reason, and nothing is reserved", async (_, ask) => {
      await using world = await openWorld(open);
      if (!world.compute.networks) return;
      await expect(world.reserve(ask)).rejects.toThrow(StartRefused);
      expect(await world.groupsLeft()).toEqual([]);
    });

    test("it has room for as many members as there may be", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const names = Array.from({ length: 250 }, (_, n) => `node-${n}`);
      const { id, hosts } = await world.reserve({ names });
      expect(new Set(hosts).size).toBe(250);
      await listening(world, seat(id, 249));
      expect(await linesFrom(world, calls(hosts[249]!), seat(id, 0))).toEqual(["reached"]);
    });
  });
}
