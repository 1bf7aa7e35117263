/** What every Compute knows about images: where one comes from, and what a registry says about it. */
import { describe, expect, test } from "vitest";
import { StartRefused } from "./compute.ts";
import { bring, linesOf, needs, type OpenedCompute, openWorld, startOn } from "./conformance-world.ts";
import { ImageDenied, RegistryAway } from "./images.ts";

const NO_REGISTRY = "images of this driver come from no registry";
const inTime = () => ({ signal: new AbortController().signal });

export function imagesConformance(name: string, open: () => Promise<OpenedCompute>): void {
  describe.concurrent(`${name} knows its images`, () => {
    test("one that the operator put there is the operator's", async () => {
      await using world = await openWorld(open);
      expect(await world.compute.images.originOf(world.spec([]).image)).toBe("operator");
    });

    test("one of a registry is exact once it was looked up, is brought by that, runs, and stays the registry's", async (context) => {
      await using world = await openWorld(open);
      if (!world.openRegistry) return context.skip(NO_REGISTRY);
      await using registry = await world.openRegistry();
      const { compute } = world;
      const { credential } = registry;
      const image = await registry.put("1", "first");
      expect(await compute.images.originOf(image)).toBe("registry");
      const exact = await compute.images.lookUp(image, { ...inTime(), credential });
      expect(exact).toMatch(/@sha256:[0-9a-f]{64}$/);
      const told: string[] = [];
      await bring(compute, exact, { progress: (line) => told.push(line), credential });
      const id = world.id();
      await startOn(compute, id, { ...world.spec([]), ...registry.program(exact, "first"), credential });
      expect((await linesOf(compute, id)).lines).toEqual(["first"]);
      for (const reference of [image, exact]) expect(await compute.images.originOf(reference)).toBe("registry");
      told.length = 0;
      await bring(compute, exact, { progress: (line) => told.push(line) });
      expect(told).toEqual([]);
    });

    test("a name of a registry is not brought: it might mean something else by then", async (context) => {
      await using world = await openWorld(open);
      if (!world.openRegistry) return context.skip(NO_REGISTRY);
      await using registry = await world.openRegistry();
      needs(context, world.compute, "preparing");
      const image = await registry.put("1", "first");
      const prepared = bring(world.compute, image, { credential: registry.credential });
      await expect(prepared).rejects.toThrow(StartRefused);
    });

    test("the registry's no is told without the password, also for an image that is there", async (context) => {
      await using world = await openWorld(open);
      if (!world.openRegistry) return context.skip(NO_REGISTRY);
      await using registry = await world.openRegistry();
      const { images } = world.compute;
      const { credential } = registry;
      const image = await registry.put("1", "first");
      const exact = await images.lookUp(image, { ...inTime(), credential });
      await bring(world.compute, exact, { credential });
      for (const wrong of [undefined, { ...credential, password: "a-wrong-guess" }])
        for (const reference of [image, exact]) {
          const refused = images.lookUp(reference, { ...inTime(), credential: wrong });
          await expect(refused).rejects.toBeInstanceOf(ImageDenied);
          await expect(refused).rejects.not.toThrow("a-wrong-guess");
        }
    });

    test("an image that the registry does not have is refused, and that is no denial", async (context) => {
      await using world = await openWorld(open);
      if (!world.openRegistry) return context.skip(NO_REGISTRY);
      await using registry = await world.openRegistry();
      const image = await registry.put("1", "first");
      const absent = image.replace(/1$/, "2");
      const refused = world.compute.images.lookUp(absent, { ...inTime(), credential: registry.credential });
      await expect(refused).rejects.toBeInstanceOf(StartRefused);
      await expect(refused).rejects.not.toBeInstanceOf(ImageDenied);
    });

    test("a tag that moves means the new image from then on, and the old one still runs", async (context) => {
      await using world = await openWorld(open);
      if (!world.openRegistry) return context.skip(NO_REGISTRY);
      await using registry = await world.openRegistry();
      const { compute } = world;
      const { credential } = registry;
      const image = await registry.put("1", "first");
      const before = await compute.images.lookUp(image, { ...inTime(), credential });
      await bring(compute, before, { credential });
      await registry.put("1", "second");
      const after = await compute.images.lookUp(image, { ...inTime(), credential });
      expect(after).not.toBe(before);
      await bring(compute, after, { credential });
      for (const [exact, line] of [
        [before, "first"],
        [after, "second"],
      ] as const) {
        const id = world.id();
        await startOn(compute, id, { ...world.spec([]), ...registry.program(exact, line), credential });
        expect((await linesOf(compute, id)).lines).toEqual([line]);
      }
    });

    test("a registry that is away, or not asked for long enough, is told as that and as nothing else", async (context) => {
      await using world = await openWorld(open);
      if (!world.openRegistry) return context.skip(NO_REGISTRY);
      await using registry = await world.openRegistry();
      const { images } = world.compute;
      const { credential } = registry;
      const image = await registry.put("1", "first");
      await registry.leave();
      await expect(images.lookUp(image, { ...inTime(), credential })).rejects.toBeInstanceOf(RegistryAway);
      const late = images.lookUp(image, { signal: AbortSignal.abort(), credential });
      await expect(late).rejects.toBeInstanceOf(RegistryAway);
    });
  });
}
