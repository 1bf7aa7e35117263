/** What every Compute whose networks span machines guarantees: members on two of them reach each other, and nobody else reaches them. */
import { describe, expect, test } from "vitest";
import type { InstanceSpec } from "./compute.ts";
import { linesOf, newId, type OpenedCompute, openWorld, type Step, type World } from "./conformance-world.ts";
import type { Span } from "./spans.ts";

const PORT = 7_000;
const NAMES = ["node-0", "node-1", "node-2"];
const calls = (...hosts: string[]): Step[] => hosts.map((call) => ({ call, port: PORT }));
const seat = (id: string, rank: number): Partial<InstanceSpec> => ({
  ...{ group: { id, name: `node-${rank}`, isReserved: true }, kind: "pod" },
});

/** The first machine opens first, since the second may be one that sees which ranges the first uses. */
export type OpenPair = () => Promise<readonly [OpenedCompute, OpenedCompute]>;

async function openWorlds(open: OpenPair) {
  const [one, two] = await open();
  const near = await openWorld(async () => one);
  const far = await openWorld(async () => two);
  return {
    near,
    far,
    async [Symbol.asyncDispose]() {
      await far[Symbol.asyncDispose]();
      await near[Symbol.asyncDispose]();
    },
  };
}

/** Rank 0 is on the near machine. All other members are on the far one. */
function spansOf(near: World, far: World, number: number): readonly [near: Span, far: Span] {
  const terms = { number, mtu: 1400, isEncrypted: false };
  const endOf = ({ compute }: World) => compute.networks!.spanning!.end!;
  return [
    { ...terms, others: [endOf(far)], elsewhere: NAMES.slice(1) },
    { ...terms, others: [endOf(near)], elsewhere: NAMES.slice(0, 1) },
  ];
}

async function reserved(near: World, far: World, number: number) {
  const [here, there] = spansOf(near, far, number);
  const { id, range, hosts } = await near.reserve({ names: NAMES, span: here });
  expect(await far.reserve({ id, names: NAMES, range, span: there })).toEqual({ id, range, hosts });
  return { id, range, hosts, here, there };
}

async function linesFrom(world: World, steps: Step[], more?: Partial<InstanceSpec>): Promise<string[]> {
  return (await linesOf(world.compute, await world.start(steps, more))).lines;
}

async function listening(world: World, more: Partial<InstanceSpec>): Promise<void> {
  await linesOf(world.compute, await world.start([{ echoOn: PORT }], more), { limit: 1 });
}

let numbers = (process.pid % 1000) * 1000;

export function spansConformance(name: string, open: OpenPair): void {
  describe(`${name} lets networks span machines`, () => {
    test("members reach each other by address and by name, also in the next process, and nobody else does", async () => {
      await using worlds = await openWorlds(open);
      const { near, far } = worlds;
      const { id, range, hosts, here, there } = await reserved(near, far, ++numbers);
      await listening(near, seat(id, 0));
      await listening(far, seat(id, 1));
      const asks = calls(hosts[0]!, "node-0", hosts[1]!, "node-1");
      const all = asks.map(() => "reached");
      expect(await linesFrom(far, asks, seat(id, 2))).toEqual(all);
      // Strangers, and a network that has another number.
      const other = await reserved(near, far, ++numbers);
      expect(await linesFrom(far, calls(hosts[0]!, "node-0"))).toEqual(["unreachable", "unreachable"]);
      expect(await linesFrom(far, calls(hosts[0]!), seat(other.id, 1))).toEqual(["unreachable"]);
      for (const world of [near, far]) await world.reopen();
      await near.reserve({ id, names: NAMES, range, span: here });
      await far.reserve({ id, names: NAMES, range, span: there });
      for (const one of await far.compute.list()) if (one.state === "exited") await far.compute.remove(one.id);
      expect(await linesFrom(far, asks, seat(id, 2))).toEqual(all);
    });

    test("a machine that is no longer named is cut off, and after the last member nothing is left", async () => {
      await using worlds = await openWorlds(open);
      const { near, far } = worlds;
      const { id, range, hosts, here, there } = await reserved(near, far, ++numbers);
      await listening(near, seat(id, 0));
      expect(await linesFrom(far, calls(hosts[0]!), seat(id, 1))).toEqual(["reached"]);
      await near.reserve({ id, names: NAMES, range, span: { ...here, others: [] } });
      await far.reserve({ id, names: NAMES, range, span: { ...there, others: [] } });
      expect(await linesFrom(far, calls(hosts[0]!), seat(id, 2))).toEqual(["unreachable"]);
      for (const [world, span] of [
        [near, here],
        [far, there],
      ] as const)
        await world.reserve({ id, names: NAMES, range, span });
      for (const world of [near, far]) {
        // At once, as when a cluster is deleted.
        await Promise.all((await world.compute.list()).map((one) => world.compute.remove(one.id)));
        await world.compute.networks!.release({ account: "account", id });
        expect(await world.groupsLeft()).toEqual([]);
      }
    });

    test("a range that another machine uses is not given", async () => {
      await using worlds = await openWorlds(open);
      for (const world of [worlds.near, worlds.far]) {
        const id = newId();
        const { range } = await world.reserve({ id, names: NAMES });
        await world.compute.networks!.release({ account: "account", id });
        expect((await world.reserve({ id, names: NAMES, range, avoid: [range!] })).range).not.toBe(range);
      }
    });
  });
}
