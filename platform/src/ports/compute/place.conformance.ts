/** What every Compute guarantees about the place of an instance: its network, its devices, its limits. */
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import type { Compute } from "./compute.ts";
import {
  ended,
  found,
  linesOf,
  needs,
  type OpenedCompute,
  openWorld,
  type Step,
  seen,
  startOn,
} from "./conformance-world.ts";

/** Each test gets a port of its own, since some drivers share the machine's network and tests run in parallel. */
const ports = (function* () {
  for (let port = 20_000 + (process.pid % 10_000); ; port += 10) yield port;
})();
const newPort = () => ports.next().value;

async function echo(compute: Compute, id: string, port: number, text: string): Promise<string> {
  const connection = await compute.dial(id, port);
  connection.write(text);
  const [answer] = await once(connection, "data");
  connection.destroy();
  return String(answer);
}

export function placeConformance(name: string, open: () => Promise<OpenedCompute>): void {
  describe.concurrent(`${name} gives an instance its place`, () => {
    describe("dial", () => {
      test("reaches a port of the instance", async () => {
        await using world = await openWorld(open);
        const port = newPort();
        const id = await world.start([{ echoOn: port }], { ports: [port] });
        await linesOf(world.compute, id, { limit: 1 });
        expect(await echo(world.compute, id, port, "hello")).toBe("hello");
        const compute = await world.reopen();
        expect(await echo(compute, id, port, "again")).toBe("again");
      });

      test("reaches no port that is not the instance's own, and none where nobody listens", async () => {
        await using world = await openWorld(open);
        const port = newPort();
        const id = await world.start([{ echoOn: port }], { ports: [port + 1] });
        await linesOf(world.compute, id, { limit: 1 });
        for (const wrong of [port, port + 1])
          await expect(world.compute.dial(id, wrong)).rejects.toThrow(String(wrong));
        await expect(world.compute.dial("unknown", port)).rejects.toThrow("unknown");
      });

      test("reaches each of two instances that listen on the same port", async (context) => {
        await using world = await openWorld(open);
        const port = newPort();
        if (!world.compute.facts.ownNetwork) return context.skip("instances share the machine's network");
        const ids = await Promise.all([1, 2].map(() => world.start([{ echoOn: port }], { ports: [port] })));
        for (const id of ids) await linesOf(world.compute, id, { limit: 1 });
        await world.compute.stop(ids[0]!, 10_000);
        await expect(world.compute.dial(ids[0]!, port)).rejects.toThrow(String(port));
        expect(await echo(world.compute, ids[1]!, port, "second")).toBe("second");
      });

      test("a port that is in use on a shared network is refused with the reason", async (context) => {
        await using world = await openWorld(open);
        const port = newPort();
        if (world.compute.facts.ownNetwork) return context.skip("each instance has a network of its own");
        await world.start([{ echoOn: port + 2 }], { ports: [port + 2] });
        const second = startOn(world.compute, world.id(), world.spec([{ echoOn: port + 2 }], { ports: [port + 2] }));
        await expect(second).rejects.toThrow(String(port + 2));
      });
    });

    describe("a frozen instance", () => {
      test("stands still until it is thawed, through a restart of the server too", async (context) => {
        await using world = await openWorld(open);
        const port = newPort();
        needs(context, world.compute, "freezing");
        const id = await world.start([{ echoOn: port }], { ports: [port] });
        await linesOf(world.compute, id, { limit: 1 });
        const frozen = seen(world.compute, id, ({ state }) => state === "frozen");
        await world.compute.freezing!.freeze(id);
        await frozen;
        const compute = await world.reopen();
        expect(await found(compute, id)).toMatchObject({ state: "frozen" });
        const answer = echo(compute, id, port, "late");
        await compute.freezing!.thaw(id);
        expect(await answer).toBe("late");
        expect(await found(compute, id)).toMatchObject({ state: "running" });
      });

      test("can be stopped, and removed", async (context) => {
        await using world = await openWorld(open);
        needs(context, world.compute, "freezing");
        const steps: Step[] = [{ write: "ready\n" }, { stayUntilAsked: 3 }];
        const [one, two] = [await world.start(steps), await world.start(steps)];
        for (const id of [one, two]) await linesOf(world.compute, id, { limit: 1 });
        await Promise.all([world.compute.freezing!.freeze(one), world.compute.freezing!.freeze(two)]);
        await world.compute.stop(one, 10_000);
        expect((await found(world.compute, one))?.exit).toMatchObject({ code: 3 });
        await world.compute.remove(two);
        expect(await world.remains(two)).toEqual([]);
      });
    });

    test("a program that wants more memory than it may have is ended, and the exit says so", async (context) => {
      await using world = await openWorld(open);
      if (!world.compute.facts.limits) return context.skip("this driver cannot limit here");
      const limits = { vcpu: 1, memoryMb: 128, diskGb: 1 };
      const id = await world.start([{ takeMemoryMb: 256 }, { write: "got it\n" }], { limits });
      const exit = await ended(world.compute, id);
      expect(exit).toMatchObject({
        code: null,
        signal: "SIGKILL",
        reason: expect.stringMatching(/out of memory.*128 MB/),
      });
      expect((await linesOf(world.compute, id)).lines).toEqual([]);
    });

    test("capacity is a list of boxes, each with its GPUs by type", async () => {
      await using world = await openWorld(open);
      const boxes = await world.compute.capacity();
      expect(boxes.length).toBeGreaterThan(0);
      expect(new Set(boxes.map(({ id }) => id)).size).toBe(boxes.length);
      for (const { vcpu, memoryMb, diskGb, gpus } of boxes) {
        for (const size of [vcpu, memoryMb, diskGb]) expect(size).toBeGreaterThan(0);
        for (const { count } of gpus) expect(count).toBeGreaterThan(0);
        expect(new Set(gpus.map(({ type }) => type)).size).toBe(gpus.length);
      }
    });
  });
}
