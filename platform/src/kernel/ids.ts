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
