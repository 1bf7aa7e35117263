/** Turns texts into vectors by hashing their words, so that texts with the same words are near each other. */
import { createHash } from "node:crypto";
import { start } from "millrace-worker";

const dimensions = Number(process.env.DIMENSIONS ?? 64);
const ngram = Number(process.env.NGRAM ?? 1);
const isNormal = process.env.NORMALIZE !== "false";

/** Each word adds or subtracts one at a place that its hash names. */
function vectorOf(text: string): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  for (let at = 0; at + ngram <= words.length; at++) {
    const digest = createHash("sha256")
      .update(words.slice(at, at + ngram).join(" "))
      .digest();
    const place = digest.readUInt32LE(0) % dimensions;
    vector[place] = vector[place]! + (digest[4]! % 2 === 0 ? 1 : -1);
  }
  const length = Math.hypot(...vector);
  return isNormal && length > 0 ? vector.map((value) => value / length) : vector;
}

start<{ text?: unknown; texts?: unknown }>({
  handler({ input }) {
    const texts = Array.isArray(input.texts) ? input.texts : [input.text];
    if (!texts.every((text) => typeof text === "string")) return { error: "'text' or 'texts' must be given" };
    return { model: "hashed-words", dimensions, vectors: texts.map(vectorOf) };
  },
});
