/** GPUs and data centers as one text each, read and written. */
import { describe, expect, test } from "vitest";
import { dataCenters, gpuTypeIds, poolIds, typesOfPool } from "../../catalog/compute.ts";
import { realRandom, SeededRandom } from "../../kernel/random.ts";
import { gpuIdsOf, typesOfGpuIds } from "./gpu-ids.ts";
import { dataCentersOf, locationsOf } from "./locations.ts";

const ROUNDS = 500;

function seeded(): SeededRandom {
  const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());
  console.log(`MILLRACE_TEST_SEED=${seed}`);
  return new SeededRandom(seed);
}

const shuffled = (random: SeededRandom, items: readonly string[]) =>
  items
    .map((item) => ({ item, at: random.below(1_000_000) }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);

describe("a text of GPUs", () => {
  test("means the types of its pools in order, without those that it excludes", () => {
    expect(typesOfGpuIds(" ADA_24 , AMPERE_48 ")).toEqual([
      "NVIDIA GeForce RTX 4090",
      "NVIDIA A40",
      "NVIDIA RTX A6000",
    ]);
    expect(typesOfGpuIds("AMPERE_48,-NVIDIA A40")).toEqual(["NVIDIA RTX A6000"]);
    expect(typesOfGpuIds("- NVIDIA A40,AMPERE_48,ADA_24,AMPERE_48")).toEqual([
      "NVIDIA RTX A6000",
      "NVIDIA GeForce RTX 4090",
    ]);
    expect(typesOfGpuIds("NVIDIA A30,NVIDIA L40")).toEqual(["NVIDIA A30", "NVIDIA L40"]);
    expect(typesOfGpuIds(" , ")).toBeUndefined();
  });

  test.each([
    ["NO_POOL", "There is no GPU pool or type 'NO_POOL'; pools are AMPERE_16,"],
    ["ADA_24,-NVIDIA A40", "'gpuIds' names 'NVIDIA A40', which is in none of the pools."],
    ["-NVIDIA A40", "which is in none of the pools"],
    ["ADA_24,-NVIDIA GeForce RTX 4090", "'gpuIds' leaves no GPU type."],
    [Array.from({ length: 201 }, () => "ADA_24").join(), "'gpuIds' names more than 200"],
  ])("%.40s is refused with the reason", (text, why) => {
    expect(() => typesOfGpuIds(text)).toThrow(why);
  });

  test("says pools where the types are as a pool has them, and types where they are not", () => {
    expect(gpuIdsOf(["NVIDIA A40", "NVIDIA RTX A6000", "NVIDIA A30"])).toBe("AMPERE_48,NVIDIA A30");
    expect(gpuIdsOf(["NVIDIA RTX A6000"])).toBe("AMPERE_48,-NVIDIA A40");
    expect(gpuIdsOf(["NVIDIA RTX A6000", "NVIDIA A40"])).toBe("NVIDIA RTX A6000,NVIDIA A40");
    expect(gpuIdsOf(["NVIDIA A40", "NVIDIA A30", "NVIDIA RTX A6000"])).toBe("NVIDIA A40,NVIDIA A30,NVIDIA RTX A6000");
  });

  test("says any list of types so that it is the same list again", () => {
    const random = seeded();
    for (let i = 0; i < ROUNDS; i++) {
      const pools = poolIds().filter(() => random.chance(0.3));
      const pooled = pools.flatMap((pool) => typesOfPool(pool) ?? []).filter(() => random.chance(0.8));
      const others = shuffled(random, gpuTypeIds()).slice(0, random.below(6));
      const types = [...new Set(random.chance(0.5) ? [...pooled, ...others] : [...others, ...pooled])];
      if (types.length > 0) expect(typesOfGpuIds(gpuIdsOf(types))).toEqual(types);
    }
  });

  test("that a caller wrote is steady: its types as a text are the same types", () => {
    const random = seeded();
    for (let i = 0; i < ROUNDS; i++) {
      const words = shuffled(random, [...poolIds(), ...gpuTypeIds()]).slice(0, 1 + random.below(8));
      const types = typesOfGpuIds(words.join())!;
      const excluded = types.slice(1).filter(() => random.chance(0.2));
      const text = shuffled(random, [...words, ...excluded.map((type) => `-${type}`)]).join(random.pick([",", ", "]));
      const first = typesOfGpuIds(text)!;
      const again = gpuIdsOf(first);
      expect(typesOfGpuIds(again)).toEqual(first);
      expect(gpuIdsOf(typesOfGpuIds(again)!)).toBe(again);
    }
  });
});

describe("a text of places", () => {
  test("means data centers, or all of a country's", () => {
    expect(dataCentersOf("EU-RO-1, CZ")).toEqual(["EU-RO-1", "EU-CZ-1"]);
    expect(dataCentersOf("se,EU-SE-1")).toEqual(["EU-SE-1", "EU-SE-2"]);
    expect(dataCentersOf("")).toEqual([]);
    expect(() => dataCentersOf("XX")).toThrow("There is no data center and no country 'XX'.");
  });

  test("says a country where all of its several stand together", () => {
    expect(locationsOf(["EU-SE-1", "EU-SE-2", "EU-RO-1"])).toBe("SE,EU-RO-1");
    expect(locationsOf(["EU-SE-2", "EU-SE-1"])).toBe("EU-SE-2,EU-SE-1");
    expect(locationsOf([])).toBe("");
  });

  test("says any list of data centers so that it is the same list again", () => {
    const random = seeded();
    const countries = [...new Set(dataCenters().flatMap(({ country }) => country ?? []))];
    for (let i = 0; i < ROUNDS; i++) {
      const words = shuffled(random, [...countries, ...dataCenters().map(({ id }) => id)]).slice(0, random.below(6));
      const ids = dataCentersOf(words.join());
      expect(dataCentersOf(locationsOf(ids))).toEqual(ids);
    }
  });
});
