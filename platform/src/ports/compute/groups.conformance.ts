/** What every Compute guarantees about groups: members reach each other by address and name, and nobody else reaches them. */
import { describe, expect, test } from "vitest";
import { type InstanceSpec, StartRefused } from "./compute.ts";
import {
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
const calls = (...hosts: string[]): Step[] => hosts.map((call) => ({ call, port: PORT }));
const within = (id: string, name: string, more: Partial<InstanceSpec> = {}) => ({ group: { id, name }, ...more });

/** Starts a member that listens, and returns its address. */
async function listening(world: World, more: Partial<InstanceSpec>): Promise<{ id: string; address: string }> {
  const id = await world.start(LISTENS, more);
  await linesOf(world.compute, id, { limit: 1 });
  const { address } = (await found(world.compute, id))!;
  return { id, address: address! };
}

async function linesFrom(world: World, steps: Step[], more?: Partial<InstanceSpec>): Promise<string[]> {
  return (await linesOf(world.compute, await world.start(steps, more))).lines;
}

export function groupsConformance(name: string, open: () => Promise<OpenedCompute>): void {
  describe.concurrent(`${name} keeps groups`, () => {
    test("members reach each other by address and by name, also one that came later", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const group = newId();
      const early = await world.start([{ call: "node-1", port: PORT, isPatient: true }], within(group, "node-0"));
      const { address } = await listening(world, within(group, "node-1"));
      await world.pass(100);
      expect((await linesOf(world.compute, early)).lines).toEqual(["reached"]);
      expect(await linesFrom(world, calls("node-1", address), within(group, "node-2"))).toEqual(["reached", "reached"]);
    });

    test("by their full names too, which nobody else knows", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const [id, fullNames] = [newId(), ["node-0.one.internal", "node-0.two.internal"]];
      await listening(world, { group: { id, name: "node-0", fullNames } });
      const asks = calls("node-0", ...fullNames);
      expect(await linesFrom(world, asks, within(id, "node-1"))).toEqual(asks.map(() => "reached"));
      expect(await linesFrom(world, asks, within(newId(), "node-1"))).toEqual(asks.map(() => "unreachable"));
    });

    test("who is no member reaches none, of the same account, of another, or of a group with the same names", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const group = newId();
      const { address } = await listening(world, within(group, "node-0"));
      const strangers: Partial<InstanceSpec>[] = [
        {},
        { account: "other" },
        within(group, "node-1", { account: "other" }),
        within(newId(), "node-1"),
      ];
      const told = await Promise.all(strangers.map((stranger) => linesFrom(world, calls(address, "node-0"), stranger)));
      expect(told).toEqual(strangers.map(() => ["unreachable", "unreachable"]));
      expect(await linesFrom(world, calls(address), within(group, "node-2"))).toEqual(["reached"]);
    });

    test("members do not reach who is in no group, nor another group's", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const [one, two] = [newId(), newId()];
      const first = await listening(world, within(one, "node-0"));
      const second = await listening(world, within(two, "node-0"));
      expect(first.address).not.toBe(second.address);
      expect(await linesFrom(world, calls(second.address), within(one, "node-1"))).toEqual(["unreachable"]);
      expect(await linesFrom(world, calls("node-0"), within(one, "node-2"))).toEqual(["reached"]);
    });

    test("the server reaches a member's ports as anybody else's", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const { id } = await listening(world, within(newId(), "node-0", { ports: [PORT] }));
      (await world.compute.dial(id, PORT)).destroy();
    });

    test("it goes on in the next process of the server, and with the last member it is gone", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const group = newId();
      const { id, address } = await listening(world, within(group, "node-0"));
      const compute = await world.reopen();
      expect(await found(compute, id)).toMatchObject({ address });
      const later = await world.start(calls("node-0"), within(group, "node-1"));
      expect((await linesOf(compute, later)).lines).toEqual(["reached"]);
      await compute.remove(id);
      expect(await linesFrom(world, calls("node-0", address), within(group, "node-2"))).toEqual([
        "unreachable",
        "unreachable",
      ]);
      await Promise.all((await compute.list()).map((one) => compute.remove(one.id)));
      expect(await world.groupsLeft()).toEqual([]);
    });

    test("one that has ended has no address, and its name is free once it is removed", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const group = newId();
      const id = await world.start([], within(group, "node-0"));
      await ended(world.compute, id);
      expect(await found(world.compute, id)).not.toHaveProperty("address");
      await world.compute.remove(id);
      await listening(world, within(group, "node-0"));
    });

    test("many members that start at once all find each other", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const group = newId();
      await listening(world, within(group, "node-0"));
      const names = ["node-1", "node-2", "node-3"];
      const told = await Promise.all(names.map((one) => linesFrom(world, calls("node-0"), within(group, one))));
      expect(told).toEqual(names.map(() => ["reached"]));
    });

    test("a second member of the same name is refused and leaves nothing", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "networks");
      const group = newId();
      await world.start([{ stayUntilAsked: 0 }], within(group, "node-0"));
      const id = world.id();
      const second = startOn(world.compute, id, world.spec([], within(group, "node-0")));
      await expect(second).rejects.toThrow(StartRefused);
      await expect(second).rejects.toThrow(/has a member node-0 already/);
      expect(await world.remains(id)).toEqual([]);
    });

    test.each([
      ["an id that is a path", { id: "../x", name: "node-0" }],
      ["a name with a line end", { id: "g", name: "node\n0" }],
      ["a name with a dot", { id: "g", name: "node.0" }],
      ["the name of the loopback", { id: "g", name: "localhost" }],
      ["no name", { id: "g", name: "" }],
      ["a full name of another", { id: "g", name: "node-0", fullNames: ["node-1.one.internal"] }],
      ["a full name with a space", { id: "g", name: "node-0", fullNames: ["node-0.one internal"] }],
    ])("%s is refused with the reason, and leaves no group", async (_, group) => {
      await using world = await openWorld(open);
      await expect(startOn(world.compute, world.id(), world.spec([], { group }))).rejects.toThrow(StartRefused);
      expect(await world.groupsLeft()).toEqual([]);
    });

    test("where instances share the machine's network, a member is refused with that reason", async (context) => {
      await using world = await openWorld(open);
      if (world.compute.networks) return context.skip("this driver has groups");
      const started = startOn(world.compute, world.id(), world.spec([], within(newId(), "node-0")));
      await expect(started).rejects.toThrow(/cannot (be kept apart|isolate)/);
    });
  });
}
