/** What every Compute guarantees about volumes: storage with a place and a size that outlives instances. */
import { describe, expect, test } from "vitest";
import { put, read } from "../files/files.conformance.ts";
import { StartRefused } from "./compute.ts";
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
} from "./conformance-world.ts";
import { VolumeRefused } from "./volumes.ts";

const NO_SIZES = "this driver does not hold volumes to their sizes here";
const at = (volume: string, path = "/workspace") => ({ mounts: [{ volume, path }] });
const MB = 1_048_576;

export function volumesConformance(name: string, open: () => Promise<OpenedCompute>): void {
  describe.concurrent(`${name} keeps volumes`, () => {
    test("one outlives the instance that wrote to it, and is the same for the next, wherever that one sees it", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "volumes");
      const volume = await world.volume();
      const first = await world.start([{ save: "weights", in: "/workspace/model" }], at(volume));
      expect(await ended(world.compute, first)).toMatchObject({ code: 0 });
      await world.compute.remove(first);
      const next: Step[] = [
        { writeSaved: "/mnt/deep/er/model" },
        { save: "changed", in: "/mnt/deep/er/model" },
        { writeSaved: "/mnt/deep/er/model" },
      ];
      const second = await world.start(next, at(volume, "/mnt/deep/er"));
      expect((await linesOf(world.compute, second)).lines).toEqual(["weights", "changed"]);
    });

    test("one is not seen by an instance that names another", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "volumes");
      const first = await world.start([{ save: "mine", in: "/workspace/file" }], at(await world.volume()));
      await ended(world.compute, first);
      const second = await world.start([{ writeSaved: "/workspace/file" }], at(await world.volume()));
      expect((await linesOf(world.compute, second)).lines).toEqual(["nothing"]);
    });

    test("one that is mounted read-only is read, and a program that writes to it fails", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "volumes");
      const volume = await world.volume();
      await ended(world.compute, await world.start([{ save: "weights", in: "/workspace/model" }], at(volume)));
      const mounts = [{ volume, path: "/models/one", readOnly: true }];
      const steps: Step[] = [{ writeSaved: "/models/one/model" }, { save: "changed", in: "/models/one/model" }];
      const reader = await world.start(steps, { mounts });
      expect((await ended(world.compute, reader)).code).not.toBe(0);
      const { lines } = await linesOf(world.compute, reader);
      // An engine may show what comes by the other output first.
      expect([lines, lines.join("\n")]).toEqual([
        expect.arrayContaining(["weights"]),
        expect.stringMatching(/EROFS|read-only/),
      ]);
      const after = await world.start([{ writeSaved: "/workspace/model" }], at(volume));
      expect((await linesOf(world.compute, after)).lines).toEqual(["weights"]);
    });

    test("one is shown read-only below another that programs write to, in whatever order they are named", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "volumes");
      const [own, shown] = [await world.volume(), await world.volume()];
      await ended(world.compute, await world.start([{ save: "weights", in: "/workspace/model" }], at(shown)));
      const mounts = [
        { volume: shown, path: "/workspace/cache/hub/one", readOnly: true },
        { volume: own, path: "/workspace" },
      ];
      const steps: Step[] = [
        { save: "mine", in: "/workspace/file" },
        { writeSaved: "/workspace/cache/hub/one/model" },
        { save: "beside", in: "/workspace/cache/other" },
        { save: "changed", in: "/workspace/cache/hub/one/model" },
      ];
      const id = await world.start(steps, { mounts });
      expect((await ended(world.compute, id)).code).not.toBe(0);
      expect((await linesOf(world.compute, id)).lines).toContain("weights");
      const next: Step[] = ["file", "cache/other", "cache/hub/one/model"].map((file) => ({
        writeSaved: `/workspace/${file}`,
      }));
      const after = await world.start(next, at(own));
      expect((await linesOf(world.compute, after)).lines).toEqual(["mine", "beside", "nothing"]);
    });

    test("a start that mounts one which is not there is refused and says so, and makes none", async () => {
      await using world = await openWorld(open);
      const volume = newId();
      const started = startOn(world.compute, world.id(), world.spec([], at(volume)));
      await expect(started).rejects.toBeInstanceOf(StartRefused);
      if (world.compute.volumes) await expect(started).rejects.toThrow(`volume ${volume} is not on this machine`);
      expect(await world.compute.volumes?.list()).toEqual(world.compute.volumes && []);
    });

    test("it is listed with its size, which only grows, also in the next process", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "volumes");
      const id = await world.volume(10);
      const listed = async () => (await world.compute.volumes!.list()).find((one) => one.id === id);
      await world.compute.volumes!.create({ id, sizeGb: 99 });
      const sizeEnforced = world.compute.volumes!.sizes;
      expect(await listed()).toEqual({ id, sizeGb: 10, sizeEnforced });
      await world.compute.volumes!.grow(id, 20);
      await world.compute.volumes!.grow(id, 20);
      await world.reopen();
      expect(await listed()).toEqual({ id, sizeGb: 20, sizeEnforced });
      expect(await world.compute.volumes!.find(id)).toEqual(await listed());
      expect(await world.compute.volumes!.find(newId())).toBeUndefined();
      await expect(world.compute.volumes!.grow(id, 19)).rejects.toThrow(/has 20 GB.*smaller/);
      expect(await world.compute.volumes!.usage(id)).toMatchObject({ sizeGb: 20 });
    });

    test("one on shared storage is refused where there is none", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "volumes");
      const volumes = world.compute.volumes!;
      if (volumes.shared) return context.skip("this driver has shared storage");
      const made = volumes.create({ id: newId(), sizeGb: 1, shared: true });
      await expect(made).rejects.toBeInstanceOf(VolumeRefused);
      expect(await volumes.list()).toEqual([]);
    });

    test("its use is told, and where nothing holds it to its size, more than that too", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "volumes");
      if (world.compute.volumes!.noFiles) return context.skip(world.compute.volumes!.noFiles);
      const id = await world.volume(2 / 1024);
      const writer = await world.start([{ save: "0", times: 3 * MB, in: "/workspace/large" }], at(id));
      const { code } = await ended(world.compute, writer);
      const usage = await world.compute.volumes!.usage(id);
      const isOver = (usage.usedBytes ?? 0) > 2 * MB;
      if (world.compute.volumes!.sizes) {
        expect(code).not.toBe(0);
        expect(isOver).toBe(false);
      } else {
        expect([code, isOver]).toEqual([0, true]);
        expect(usage.usedBytes).toBeGreaterThanOrEqual(3 * MB);
      }
    });

    test("a writer past its size is told that no space is left, and nobody else notices anything", async (context) => {
      await using world = await openWorld(open);
      if (!world.compute.volumes?.sizes) return context.skip(NO_SIZES);
      const [full, beside] = [await world.volume(2 / 1024), await world.volume(2 / 1024)];
      const writer = await world.start([{ save: "0", times: 3 * MB, in: "/workspace/large" }], at(full));
      expect((await ended(world.compute, writer)).code).not.toBe(0);
      expect((await linesOf(world.compute, writer)).lines.join("\n")).toContain("no space left on device");
      const neighbour = await world.start([{ save: "0", times: MB, in: "/workspace/file" }], at(beside));
      expect(await ended(world.compute, neighbour)).toMatchObject({ code: 0 });
    });

    test("one that grows has more room at once, also for a program that has it mounted", async (context) => {
      await using world = await openWorld(open);
      if (!world.compute.volumes?.sizes) return context.skip(NO_SIZES);
      const mb = world.smallestVolumeMb;
      const volume = await world.volume(mb / 1024);
      const file = { in: "/workspace/large", isPatient: true };
      const steps: Step[] = [{ write: "begun\n" }, { save: "0", times: mb * MB, ...file }, { write: "saved\n" }];
      const id = await world.start(steps, at(volume));
      await linesOf(world.compute, id, { limit: 1 });
      await world.compute.volumes!.grow(volume, (3 * mb) / 1024);
      await world.pass(1_000);
      expect(await ended(world.compute, id)).toMatchObject({ code: 0 });
      expect((await linesOf(world.compute, id)).lines).toEqual(["begun", "saved"]);
    });

    test("it is not removed while an instance that has not ended mounts it, also in the next process", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "volumes");
      const volume = await world.volume();
      const steps: Step[] = [{ save: "here", in: "/workspace/file" }, { write: "ready\n" }, { stayUntilAsked: 0 }];
      const id = await world.start(steps, at(volume));
      await linesOf(world.compute, id, { limit: 1 });
      for (const look of [async () => world.compute, () => world.reopen()]) {
        const volumes = (await look()).volumes!;
        await expect(volumes.remove(volume)).rejects.toBeInstanceOf(VolumeRefused);
        await expect(volumes.remove(volume)).rejects.toThrow(id);
      }
      await world.compute.stop(id, 10_000);
      await world.compute.volumes!.remove(volume);
      expect((await world.compute.volumes!.list()).map((one) => one.id)).not.toContain(volume);
      await expect(world.compute.volumes!.usage(volume)).rejects.toBeInstanceOf(VolumeRefused);
    });

    test("with one that is removed all that it held is gone, and unknown ones are no error", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "volumes");
      const volume = await world.volume();
      await ended(world.compute, await world.start([{ save: "old", in: "/workspace/file" }], at(volume)));
      await world.compute.volumes!.remove(volume);
      await world.compute.volumes!.remove(volume);
      await world.compute.volumes!.create({ id: volume, sizeGb: 1 });
      const next = await world.start([{ writeSaved: "/workspace/file" }], at(volume));
      expect((await linesOf(world.compute, next)).lines).toEqual(["nothing"]);
    });

    test("the server reads what programs put there, and programs what it puts there, also when nobody mounts it", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "volumes");
      const volumes = world.compute.volumes!;
      if (volumes.noFiles) return context.skip(volumes.noFiles);
      const volume = await world.volume();
      await put((await volumes.files(volume))!, "in/model", "by the server");
      const steps: Step[] = [
        { writeSaved: "/workspace/in/model" },
        { save: "by a program", in: "/workspace/in/model" },
        { save: "more", in: "/workspace/own" },
      ];
      const id = await world.start(steps, at(volume));
      expect((await linesOf(world.compute, id)).lines).toEqual(["by the server"]);
      await ended(world.compute, id);
      await world.compute.remove(id);
      const files = (await (await world.reopen()).volumes!.files(volume))!;
      expect([await read(files, "in/model"), await read(files, "own")]).toEqual(["by a program", "more"]);
      expect((await files.list([], { most: 10 }))?.map(({ name }) => name)).toEqual(["in", "own"]);
    });

    test("the server puts no more on one than its size", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "volumes");
      if (world.compute.volumes!.noFiles) return context.skip(world.compute.volumes!.noFiles);
      const volume = await world.volume(2 / 1024);
      const files = (await world.compute.volumes!.files(volume))!;
      await expect(put(files, "large", "0".repeat(3 * MB))).rejects.toMatchObject({ reason: "full" });
      expect(await files.find(["large"])).toBeUndefined();
    });

    test("what is on one is nobody's once it is gone, nor on one that never was", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "volumes");
      const volumes = world.compute.volumes!;
      const volume = await world.volume();
      await volumes.remove(volume);
      for (const id of [volume, newId(), "../instances", ""]) expect(await volumes.files(id)).toBeUndefined();
    });

    test("a removal and a start at the same time never meet: one of them is refused", async (context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "volumes");
      const volume = await world.volume();
      const id = world.id();
      const [started, removed] = await Promise.allSettled([
        startOn(world.compute, id, world.spec([{ stayUntilAsked: 0 }], at(volume))),
        world.compute.volumes!.remove(volume),
      ]);
      const isThere = (await world.compute.volumes!.list()).some((one) => one.id === volume);
      expect(isThere).toBe(removed.status === "rejected");
      expect((await found(world.compute, id)) !== undefined).toBe(started.status === "fulfilled");
      if (started.status === "fulfilled") expect(isThere).toBe(true);
    });

    test.for(["../instances", "", "a/b", ".records", "x".repeat(65)])(
      "'%s' is no name of one, whatever is asked",
      async (id, context) => {
        await using world = await openWorld(open);
        needs(context, world.compute, "volumes");
        const volumes = world.compute.volumes!;
        await expect(volumes.create({ id, sizeGb: 1 })).rejects.toBeInstanceOf(VolumeRefused);
        await expect(volumes.grow(id, 2)).rejects.toBeInstanceOf(VolumeRefused);
        await expect(volumes.usage(id)).rejects.toBeInstanceOf(VolumeRefused);
        await volumes.remove(id);
      },
    );

    test.for([0, -1, Number.NaN, Number.POSITIVE_INFINITY])("a size of %d GB is refused", async (sizeGb, context) => {
      await using world = await openWorld(open);
      needs(context, world.compute, "volumes");
      await expect(world.compute.volumes!.create({ id: newId(), sizeGb })).rejects.toBeInstanceOf(VolumeRefused);
    });

    test.each([
      ["a name that leads elsewhere", { volume: "../instances", path: "/workspace" }],
      ["a path that is not absolute", { volume: "v", path: "workspace" }],
      ["a path with a way back", { volume: "v", path: "/workspace/../etc" }],
      ["the root", { volume: "v", path: "/" }],
      ["a part of the system", { volume: "v", path: "/proc/sys" }],
    ])("a mount is refused with the reason for %s", async (_, mount) => {
      await using world = await openWorld(open);
      const refused = startOn(world.compute, world.id(), world.spec([], { mounts: [mount] }));
      await expect(refused).rejects.toThrow(StartRefused);
    });
  });
}
