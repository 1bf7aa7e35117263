/** Randomness: fresh every time when real, the same every time when seeded. */
import { expect, test } from "vitest";
import { realRandom, SeededRandom } from "./random.ts";

test("real bytes are never given out twice and never wiped under their owner", () => {
  const drawn = Array.from({ length: 5000 }, () => realRandom.bytes(10));
  const texts = new Set(drawn.map((bytes) => Buffer.from(bytes).toString("hex")));
  expect(texts.size).toBe(drawn.length);
  expect(texts.has("00".repeat(10))).toBe(false);
});

test("more bytes than the pool holds can be asked for", () => {
  expect(realRandom.bytes(100_000)).toHaveLength(100_000);
});

test("a seed repeats its sequence", () => {
  const sequence = (seed: number) => Buffer.from(new SeededRandom(seed).bytes(64)).toString("hex");
  expect(sequence(7)).toBe(sequence(7));
  expect(sequence(7)).not.toBe(sequence(8));
});
