/** One model, many faces: what was made through one surface reads the same through all others, and what one changes is changed in all. */
import { describe, expect, test } from "vitest";
import { endpoints } from "../../tests/endpoint-faces.ts";
import type { Face, Resource } from "../../tests/faces.ts";
import { registries, templates, volumes } from "../../tests/plain-faces.ts";
import { pods } from "../../tests/pod-faces.ts";
import { setupPods } from "../../tests/pod-world.ts";
import { realRandom, SeededRandom } from "../kernel/random.ts";

const ROUNDS = 10;

// biome-ignore lint/suspicious/noExplicitAny: each resource is another thing, and only its own faces look into it
const resources: Record<string, Resource<any>> = {
  template: templates,
  "network volume": volumes,
  registry: registries,
  Pod: pods,
  endpoint: endpoints,
};

const cases = Object.entries(resources).flatMap(([what, resource]) =>
  Object.keys(resource.faces).map((surface) => [what, surface, resource] as const),
);

describe.each(cases)("a %s that was made through %s", (_what, maker, { any, change, faces }) => {
  const changing = Object.entries(faces).filter(
    (entry): entry is [string, Required<Face<object>>] => !!entry[1].change,
  );

  test("reads the same through every surface, and so does each change that one of them makes", async () => {
    const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());
    console.log(`MILLRACE_TEST_SEED=${seed}`);
    const random = new SeededRandom(seed);
    await using world = await setupPods({ machine: LARGE });
    for (let i = 0; i < ROUNDS; i++) {
      let thing = any(random);
      const id = await faces[maker]!.make(world, thing);
      await world.settle();
      const seen = async () => {
        const read = Object.entries(faces).map(async ([surface, face]) => [surface, await face.read(world, id)]);
        return Object.fromEntries(await Promise.all(read));
      };
      const everywhere = () => Object.fromEntries(Object.keys(faces).map((surface) => [surface, thing]));
      expect(await seen()).toEqual(everywhere());
      for (const [, face] of changing) {
        const said = change(random, thing);
        await face.change(world, id, said);
        await world.settle();
        thing = { ...thing, ...said };
        expect(await seen()).toEqual(everywhere());
      }
    }
  });
});

const LARGE = {
  capacity: {
    ...{ vcpu: 512, memoryMb: 4_000_000, diskGb: 100_000, ceilings: false, cuda: "12.8" },
    gpus: [{ type: "NVIDIA A40", count: 64, virtual: false }],
  },
};
