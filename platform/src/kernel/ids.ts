/** The shapes of every identifier and key that Millrace hands out. */
import { hash } from "node:crypto";
import type { Clock } from "./clock.ts";
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

/** Returns what is known of a record before its contents: whose it is, its id and when it was made. */
export function newRecord({ clock, random }: { clock: Clock; random: Random }, account: string) {
  return { id: resourceId(random), account, createdAt: clock.now() };
}

const ORDERED = { time: 9, count: 3, random: 8 };
let lastOrdered = { at: 0, count: 0 };

/**
 * Returns an id that sorts after all that this process made before, even within one millisecond. It suits records that are read in order.
 */
export function orderedId(now: number, random: Random): string {
  lastOrdered = now === lastOrdered.at ? { at: now, count: lastOrdered.count + 1 } : { at: now, count: 0 };
  const { time, count } = ORDERED;
  const counted = (lastOrdered.count % 36 ** count).toString(36).padStart(count, "0");
  return `${Math.max(0, now).toString(36).padStart(time, "0")}${counted}${resourceId(random).slice(0, ORDERED.random)}`;
}

/** 256 random bits behind a prefix that secret scanners can recognise. */
export function apiKeyText(random: Random): string {
  return `mlr_${Buffer.from(random.bytes(32)).toString("base64url")}`;
}

/** Any 16 or more visible ASCII characters can be a key. */
export const KEY_SHAPE = /^[\x21-\x7e]{16,}$/;

/** Returns what the store keeps of a key. A key has 256 random bits, so nobody can guess it from a plain digest. */
export function keyDigest(key: string): string {
  return hash("sha256", key, "base64url");
}

const URL_SAFE = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
/** Request ids are written into this buffer. Joining twelve pieces of text costs several times as much. */
const REQUEST_ID = Buffer.alloc(12);

/** Names one request in the log and in the response to an unexpected error. */
export function requestId(random: Random): string {
  const bytes = random.bytes(REQUEST_ID.length);
  for (let i = 0; i < REQUEST_ID.length; i++) REQUEST_ID[i] = URL_SAFE[bytes[i]! & 63]!;
  return REQUEST_ID.toString("latin1");
}

/** Job ids are written into this buffer. A text joined from pieces stays in pieces, which takes twice the memory for each waiting job. */
const JOB_ID = Buffer.from("sync-00000000-0000-0000-0000-000000000000-u1");
const SYNC_LENGTH = "sync-".length;
const TIME_PLACES = [5, 7, 9, 11, 14, 16];
const RANDOM_PLACES = [19, 21, 24, 26, 29, 31, 33, 35, 37, 39];
const HEX_DIGITS = Buffer.from("0123456789abcdef");
/** The millisecond now in the buffer. Many ids are made within one, so its digits are written only once. */
let writtenTime = 0;

/**
 * Returns a UUIDv7 with the ending that public clients expect of job ids; an id of /runsync also has their `sync-` prefix. Later ids sort
 * later, so that storing them appends (random v4 keys measured 3 times slower).
 */
export function jobId(now: number, random: Random, { sync }: { sync: boolean }): string {
  if (now !== writtenTime) writeTime(now);
  const bytes = random.bytes(RANDOM_PLACES.length);
  // Sets the version and the variant of the UUID.
  bytes[0] = (bytes[0]! & 0x0f) | 0x70;
  bytes[2] = (bytes[2]! & 0x3f) | 0x80;
  for (let i = 0; i < RANDOM_PLACES.length; i++) writeHex(RANDOM_PLACES[i]!, bytes[i]!);
  return JOB_ID.toString("latin1", sync ? 0 : SYNC_LENGTH);
}

const JOB_ID_SHAPE = /^(sync-)?([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}-u1$/;

/** Returns when a job id was made and whether it is one of /runsync; undefined for any other text. */
export function jobIdParts(id: string): { madeAt: number; sync: boolean } | undefined {
  const [, sync, high, low] = JOB_ID_SHAPE.exec(id) ?? [];
  return high === undefined ? undefined : { madeAt: Number.parseInt(`${high}${low}`, 16), sync: sync !== undefined };
}

function writeTime(now: number): void {
  for (let i = 0, rest = now; i < TIME_PLACES.length; i++, rest = Math.floor(rest / 256)) {
    writeHex(TIME_PLACES.at(-1 - i)!, rest % 256);
  }
  writtenTime = now;
}

function writeHex(at: number, byte: number): void {
  JOB_ID[at] = HEX_DIGITS[byte >> 4]!;
  JOB_ID[at + 1] = HEX_DIGITS[byte & 15]!;
}
