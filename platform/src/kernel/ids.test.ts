/** Identifiers and keys: their shapes, and that nothing about them can be guessed from another. */
import { expect, test } from "vitest";
import { apiKeyText, jobId, jobIdParts, keyDigest, RESOURCE_ID, requestId, resourceId } from "./ids.ts";
import { type Random, realRandom, SeededRandom } from "./random.ts";

/** Gives these bytes first, then zeros. */
function scripted(...bytes: number[]): Random {
  return { bytes: (count) => Uint8Array.from({ length: count }, () => bytes.shift() ?? 0) };
}

test("a resource id has 14 lower-case letters and digits", () => {
  for (let i = 0; i < 1000; i++) expect(resourceId(realRandom)).toMatch(RESOURCE_ID);
});

test("no resource id is given twice", () => {
  expect(new Set(Array.from({ length: 10_000 }, () => resourceId(realRandom))).size).toBe(10_000);
});

test("no word that begins a path has the shape of a resource id", () => {
  for (const word of ["pods", "serverless", "network-volumes", "openapi.json", "registries"]) {
    expect(word).not.toMatch(RESOURCE_ID);
  }
});

test("bytes that would favour some letters are thrown away", () => {
  const id = resourceId(scripted(255, 254, 253, 252, 251, 0));
  // 251 is the last byte taken: it stands for the last digit, and each refused byte was replaced by a later one.
  expect(id).toBe("9aaaaaaaaaaaaa");
});

test("every letter and digit is equally likely, to within chance", () => {
  const seed = 20_260_101;
  const random = new SeededRandom(seed);
  const counts = new Map<string, number>();
  for (let i = 0; i < 5000; i++) {
    for (const letter of resourceId(random)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  }
  const expected = (5000 * 14) / 36;
  expect(counts.size, `seed ${seed}`).toBe(36);
  for (const count of counts.values()) expect(Math.abs(count - expected) / expected, `seed ${seed}`).toBeLessThan(0.15);
});

test("an API key holds 256 random bits behind a prefix that scanners can find", () => {
  const key = apiKeyText(realRandom);
  expect(key).toMatch(/^mlr_[A-Za-z0-9_-]{43}$/);
  expect(Buffer.from(key.slice(4), "base64url")).toHaveLength(32);
  expect(apiKeyText(realRandom)).not.toBe(key);
});

test("a key's digest is its SHA-256, the same each time, and holds nothing of the key", () => {
  expect(keyDigest("abc")).toBe("ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
  const key = apiKeyText(realRandom);
  expect(keyDigest(key)).toBe(keyDigest(key));
  expect(keyDigest(key)).not.toContain(key.slice(4, 12));
});

test("a request id is short and safe in a header", () => {
  expect(requestId(realRandom)).toMatch(/^[A-Za-z0-9_-]{12}$/);
});

test("a job id is a UUIDv7 with the ending that public clients know, and with their beginning for /runsync", () => {
  const uuid7 = "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";
  for (let i = 0; i < 100; i++) {
    expect(jobId(Date.UTC(2026, 0, 1), realRandom, { sync: false })).toMatch(new RegExp(`^${uuid7}-u1$`));
    expect(jobId(Date.UTC(2026, 0, 1), realRandom, { sync: true })).toMatch(new RegExp(`^sync-${uuid7}-u1$`));
  }
});

test("a job id tells its millisecond, and one made later sorts later", () => {
  const at = (now: number) => jobId(now, realRandom, { sync: false });
  expect(at(0x0123456789ab).slice(0, 13)).toBe("01234567-89ab");
  expect(at(0x0123456789ac).slice(0, 13)).toBe("01234567-89ac");
  expect(at(0x0123456789ab) < at(0x0123456789ac)).toBe(true);
});

test("a job id is the time and the random bytes, in order", () => {
  const random = scripted(0xff, 0x01, 0xff, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef);
  expect(jobId(0x0199_0000_0001, random, { sync: false })).toBe("01990000-0001-7f01-bf23-456789abcdef-u1");
});

test("the same seed gives the same ids, another seed gives others", () => {
  expect(resourceId(new SeededRandom(7))).toBe(resourceId(new SeededRandom(7)));
  expect(resourceId(new SeededRandom(7))).not.toBe(resourceId(new SeededRandom(8)));
});

test("a job id says when it was made, and for what", () => {
  const now = 1_790_000_000_123;
  expect(jobIdParts(jobId(now, realRandom, { sync: false }))).toEqual({ madeAt: now, sync: false });
  expect(jobIdParts(jobId(now, realRandom, { sync: true }))).toEqual({ madeAt: now, sync: true });
  for (const other of ["", "x", "sync-", "01a1e065-5197-46e6-ad20-a0ac8c5b7a14-u1"])
    expect(jobIdParts(other)).toBeUndefined();
});
