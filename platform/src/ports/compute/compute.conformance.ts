/** What every Compute guarantees. This suite defines the port and runs against each driver. */
import { describe, expect, test } from "vitest";
import { againConformance } from "./again.conformance.ts";
import { type Compute, type InstanceSpec, LONGEST_LINE, StartRefused } from "./compute.ts";
import {
  bring,
  ended,
  found,
  linesOf,
  type OpenedCompute,
  openWorld,
  startOn,
  type World,
} from "./conformance-world.ts";
import { execConformance } from "./exec.conformance.ts";
import { groupsConformance } from "./groups.conformance.ts";
import { imagesConformance } from "./images.conformance.ts";
import { loopbackConformance } from "./loopback.conformance.ts";
import { networksConformance } from "./networks.conformance.ts";
import { placeConformance } from "./place.conformance.ts";
import { publishConformance } from "./publish.conformance.ts";
import { statsConformance } from "./stats.conformance.ts";
import { volumesConformance } from "./volumes.conformance.ts";
import { writersConformance } from "./writers.conformance.ts";

/** Long enough for a slow machine, and short enough for a test to wait. */
const GRACE_MS = 200;

export function computeConformance(name: string, open: () => Promise<OpenedCompute>): void {
  describe.concurrent(`${name} is a Compute`, () => {
    test("a started instance runs and is listed with what it is for", async () => {
      await using world = await openWorld(open);
      const id = world.id();
      const instance = await startOn(
        world.compute,
        id,
        world.spec([{ stayUntilAsked: 0 }], { kind: "pod", owner: "p1" }),
      );
      expect(instance).toMatchObject({ id, kind: "pod", owner: "p1", state: "running" });
      expect(await found(world.compute, id)).toEqual(instance);
    });

    test("an instance that is started again, also at the same time, runs its program once", async () => {
      await using world = await openWorld(open);
      const id = world.id();
      const spec = world.spec([{ write: "ran\n" }]);
      const instances = await Promise.all([1, 2, 3].map(() => startOn(world.compute, id, spec)));
      await ended(world.compute, id);
      const again = await startOn(world.compute, id, spec);
      expect(again.state).toBe("exited");
      expect(again.startedAt).toBe(instances[0]!.startedAt);
      expect((await linesOf(world.compute, id)).lines).toEqual(["ran"]);
    });

    test("an exit is told with its code and time, and stays to be read", async () => {
      await using world = await openWorld(open);
      const id = await world.start([{ exit: 7 }]);
      const exit = await ended(world.compute, id);
      expect(exit).toMatchObject({ code: 7 });
      const instance = await found(world.compute, id);
      expect(instance).toMatchObject({ state: "exited", exit });
      expect(exit.at).toBeGreaterThanOrEqual(instance!.startedAt);
    });

    test("a program that a signal ended has no code", async () => {
      await using world = await openWorld(open);
      const id = await world.start([{ kill: "SIGKILL" }]);
      expect(await ended(world.compute, id)).toMatchObject({ code: null, signal: "SIGKILL" });
    });

    test("a listener that stopped hears nothing more", async () => {
      await using world = await openWorld(open);
      const heard: string[] = [];
      const stop = world.compute.watch(({ id, state }) => {
        if (state !== "pending") heard.push(`${id} ${state}`);
      });
      const first = await world.start([{ exit: 0 }]);
      await ended(world.compute, first);
      stop();
      await ended(world.compute, await world.start([{ exit: 0 }]));
      expect(heard).toEqual([`${first} running`, `${first} exited`]);
    });

    test("the program gets its variables as they are", async () => {
      await using world = await openWorld(open);
      const value = `two lines\n"quoted" $HOME \\ ünï`;
      const id = await world.start([{ writeVariable: "GIVEN" }], { env: { GIVEN: value } });
      expect((await linesOf(world.compute, id)).lines).toEqual([JSON.stringify(value)]);
    });

    describe("what a program wrote", () => {
      test("comes in order, up to a last line without an end", async () => {
        await using world = await openWorld(open);
        const id = await world.start([{ write: "one\ntwo\n" }, { write: "\nthr" }, { write: "ee" }]);
        expect((await linesOf(world.compute, id)).lines).toEqual(["one", "two", "", "three"]);
      });

      test("comes while the program still runs", async () => {
        await using world = await openWorld(open);
        const id = await world.start([{ write: "ready\n" }, { stayUntilAsked: 0 }]);
        expect((await linesOf(world.compute, id, { limit: 1 })).lines).toEqual(["ready"]);
        expect(await found(world.compute, id)).toMatchObject({ state: "running" });
      });

      test("is read on from a position, also by the next process", async () => {
        await using world = await openWorld(open);
        const id = await world.start([{ write: "one\n" }, { pauseMs: 100 }, { write: "two\n" }, { exit: 3 }]);
        const first = await linesOf(world.compute, id, { limit: 1 });
        const compute = await world.reopen();
        await world.pass(100);
        await ended(compute, id);
        const rest = await linesOf(compute, id, { after: first.at });
        expect([...first.lines, ...rest.lines]).toEqual(["one", "two"]);
        expect((await linesOf(compute, id, { after: rest.at })).lines).toEqual([]);
      });

      test("is cut where a line is too long, and no character is", async () => {
        await using world = await openWorld(open);
        const long = "ä".repeat(LONGEST_LINE);
        const id = await world.start([{ write: "ä", times: LONGEST_LINE }, { write: "\nshort\n" }]);
        const { lines } = await linesOf(world.compute, id);
        expect(lines.length).toBeGreaterThan(2);
        expect(lines.slice(0, -1).join("")).toBe(long);
        expect(lines.at(-1)).toBe("short");
      });

      test("is waited for no longer once the reader goes away, or the instance", async () => {
        await using world = await openWorld(open);
        const id = await world.start([{ stayUntilAsked: 0 }]);
        const away = new AbortController();
        const [left, removed] = [linesUntil(world.compute, id, away.signal), linesOf(world.compute, id)];
        away.abort();
        expect(await left).toEqual([]);
        await world.compute.remove(id);
        expect((await removed).lines).toEqual([]);
      });
    });

    describe("stop", () => {
      test("asks the program to end and resolves when it has", async () => {
        await using world = await openWorld(open);
        const id = await world.start([{ write: "ready\n" }, { stayUntilAsked: 3 }]);
        await linesOf(world.compute, id, { limit: 1 });
        await world.compute.stop(id, 10_000);
        expect(await found(world.compute, id)).toMatchObject({ state: "exited", exit: { code: 3 } });
      });

      test("ends a program that does not listen after the grace", async () => {
        await using world = await openWorld(open);
        const id = await world.start([{ write: "ready\n" }, { stayWhateverIsAsked: true }]);
        await linesOf(world.compute, id, { limit: 1 });
        const stopped = world.compute.stop(id, GRACE_MS);
        await world.pass(GRACE_MS);
        await stopped;
        expect(await found(world.compute, id)).toMatchObject({ exit: { code: null, signal: "SIGKILL" } });
      });

      test("changes nothing about instances that have ended or never were", async () => {
        await using world = await openWorld(open);
        const id = await world.start([{ exit: 4 }]);
        const exit = await ended(world.compute, id);
        await world.compute.stop(id, GRACE_MS);
        await world.compute.stop("unknown", GRACE_MS);
        expect(await found(world.compute, id)).toMatchObject({ exit });
      });
    });

    describe("remove", () => {
      test("leaves nothing of an instance that runs, nor of what it left behind", async () => {
        await using world = await openWorld(open);
        const id = await world.start([{ leaveChild: true }, { write: "ready\n" }, { stayWhateverIsAsked: true }]);
        await linesOf(world.compute, id, { limit: 1 });
        await world.compute.remove(id);
        expect(await found(world.compute, id)).toBeUndefined();
        expect(await world.remains(id)).toEqual([]);
      });

      test("forgets one that has ended, and its id is free again", async () => {
        await using world = await openWorld(open);
        const id = await world.start([{ write: "first\n" }]);
        await ended(world.compute, id);
        await world.compute.remove(id);
        await world.compute.remove(id);
        await startOn(world.compute, id, world.spec([{ write: "second\n" }]));
        expect((await linesOf(world.compute, id)).lines).toEqual(["second"]);
      });

      test("an ended program leaves no process behind, its children included", async () => {
        await using world = await openWorld(open);
        const id = await world.start([{ leaveChild: true }, { exit: 0 }]);
        await ended(world.compute, id);
        expect((await world.remains(id)).filter((thing) => thing.startsWith("process"))).toEqual([]);
      });
    });

    describe("the next process of the server", () => {
      test("finds what runs, and can stop it", async () => {
        await using world = await openWorld(open);
        const id = await world.start([{ write: "ready\n" }, { stayUntilAsked: 5 }]);
        const before = await found(world.compute, id);
        await linesOf(world.compute, id, { limit: 1 });
        const compute = await world.reopen();
        expect(await found(compute, id)).toEqual(before);
        await compute.stop(id, 10_000);
        expect((await found(compute, id))?.exit).toMatchObject({ code: 5 });
      });

      test("learns of an exit that nobody saw, and of one that comes", async () => {
        await using world = await openWorld(open);
        const soon = await world.start([{ exit: 6 }]);
        const later = await world.start([{ pauseMs: 300 }, { exit: 7 }]);
        const compute = await world.reopen();
        const both = Promise.all([ended(compute, soon), ended(compute, later)]);
        await world.pass(300);
        expect((await both).map(({ code }) => code)).toEqual([6, 7]);
      });

      test("starts nothing anew", async () => {
        await using world = await openWorld(open);
        const id = await world.start([{ write: "ran\n" }, { stayUntilAsked: 0 }]);
        const compute = await world.reopen();
        await startOn(compute, id, world.spec([{ write: "ran\n" }, { stayUntilAsked: 0 }]));
        expect((await linesOf(compute, id, { limit: 1 })).lines).toEqual(["ran"]);
        await compute.stop(id, 10_000);
        expect((await linesOf(compute, id)).lines).toEqual(["ran"]);
      });
    });

    describe("a start is refused with the reason, and leaves nothing", () => {
      async function refused(world: World, spec: InstanceSpec): Promise<string> {
        const id = world.id();
        const refusal = await startOn(world.compute, id, spec).then(
          () => undefined,
          (error: unknown) => error,
        );
        expect(refusal).toBeInstanceOf(StartRefused);
        expect(await found(world.compute, id)).toBeUndefined();
        expect(await world.remains(id)).toEqual([]);
        return (refusal as StartRefused).message;
      }

      test("when the image is not there; to prepare it fails alike", async () => {
        await using world = await openWorld(open);
        const { missingImage: image } = world;
        expect(await refused(world, { ...world.spec([]), image })).not.toBe("");
        if (world.compute.preparing) await expect(bring(world.compute, image)).rejects.toBeInstanceOf(StartRefused);
      });

      test("when it asks for a GPU of which there is none", async () => {
        await using world = await openWorld(open);
        const gpu = { type: "no such type", count: 1 };
        expect(await refused(world, world.spec([], { gpu }))).toBe(
          "needs 1x no such type, 0 of 0 are free on this machine",
        );
      });

      test("when as many GPUs as it asks for are not free, until those that hold them have ended", async (context) => {
        await using world = await openWorld(open);
        const stock = (await world.compute.capacity())[0]!.gpus.find(({ count }) => count > 1);
        if (!stock) return context.skip("this driver has no two GPUs of one type here");
        const { type, count } = stock;
        const holder = await world.start([{ stayUntilAsked: 0 }], { gpu: { type, count: count - 1 } });
        const two = { gpu: { type, count: 2 } };
        const reason = `needs 2x ${type}, 1 of ${count} are free on this machine`;
        expect(await refused(world, world.spec([], two))).toBe(reason);
        const compute = await world.reopen();
        expect(await refused(world, world.spec([], two))).toBe(reason);
        await compute.remove(holder);
        await world.start([], two);
      });

      test("and of several starts at once no two hold the same device", async (context) => {
        await using world = await openWorld(open);
        const stock = (await world.compute.capacity())[0]!.gpus.find(({ count }) => count > 1);
        if (!stock) return context.skip("this driver has no two GPUs of one type here");
        const one = { gpu: { type: stock.type, count: 1 } };
        const ids = await Promise.all([1, 2].map(() => world.start([{ stayUntilAsked: 0 }], one)));
        const held = (await world.compute.list())
          .filter(({ id }) => ids.includes(id))
          .flatMap(({ devices = [] }) => devices);
        expect(new Set(held).size).toBe(2);
      });
    });
  });
  againConformance(name, open);
  writersConformance(name, open);
  groupsConformance(name, open);
  networksConformance(name, open);
  imagesConformance(name, open);
  placeConformance(name, open);
  loopbackConformance(name, open);
  volumesConformance(name, open);
  execConformance(name, open);
  statsConformance(name, open);
  publishConformance(name, open);
}

async function linesUntil(compute: Compute, id: string, signal: AbortSignal): Promise<string[]> {
  const lines: string[] = [];
  for await (const output of compute.logs(id, { signal })) lines.push(...output.lines);
  return lines;
}
