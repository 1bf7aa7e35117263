/** The form of a backup: a line with its format, then in compressed blocks a header, parts with lengths and checksums, and an end mark. */
import { createHash, type Hash } from "node:crypto";
import { blocks, unblocked } from "./blocks.ts";
import { ByteReader, EndedEarly } from "./byte-reader.ts";

const FORMAT = 1;
const FIRST_LINE = /^millrace-backup (\d{1,6})$/;
const LONGEST_FIRST_LINE = 64;
const LONGEST_LINE = 65_536;
/** More parts than any backup has: one for each payload that is a file. */
const MOST_PARTS = 100_000_000;
const PART_NAME = /^[a-z0-9][\w.-]{0,99}(\/[\w-]{1,100})?$/i;

/** What a backup says of itself before its parts. */
export interface Header {
  /** The release that wrote it. */
  version: string;
  /** Everything that was acknowledged before this time is in it. */
  at: string;
  /** The formats of the databases. */
  formats: Record<string, number>;
  /** The names of the master keys with which its secrets can be read, newest first. They reveal nothing of the keys. */
  masterKeys: string[];
  /** Whether the files that open everything are in it. */
  hasKeys: boolean;
  /** All parts together, as they are on disk. */
  bytes: number;
}

export interface Part {
  name: string;
  bytes: number;
  content: AsyncIterable<Uint8Array>;
}

/** A file that is no whole backup. */
export class NoBackup extends Error {}

/** The bytes of a backup. */
export async function* archived(header: Header, parts: AsyncIterable<Part>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`millrace-backup ${FORMAT}\n`);
  yield* blocks(plainBytes(header, parts));
}

async function* plainBytes(header: Header, parts: AsyncIterable<Part>): AsyncGenerator<Uint8Array> {
  const all = createHash("sha256").update(line(header));
  yield line(header);
  let count = 0;
  for await (const { name, bytes, content } of parts) {
    yield line({ part: name, bytes });
    const own = createHash("sha256");
    let written = 0;
    for await (const piece of content) {
      written += piece.length;
      own.update(piece);
      yield piece;
    }
    if (written !== bytes) throw new Error(`${name} changed its size from ${bytes} to ${written} while it was read`);
    const sha256 = own.digest("hex");
    all.update(`${name} ${bytes} ${sha256}\n`);
    yield line({ sha256 });
    count++;
  }
  yield line({ end: count, sha256: all.digest("hex") });
}

const line = (value: object) => Buffer.from(`${JSON.stringify(value)}\n`);

/** A backup that is being read: its header, and its parts in order. The content of each part is read before the next. */
export interface Reading {
  header: Header;
  parts: AsyncIterable<Part>;
}

export async function readArchive(bytes: AsyncIterable<Uint8Array>): Promise<Reading> {
  const outer = new ByteReader(bytes);
  const first = await outer.line(LONGEST_FIRST_LINE).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof NoBackup || error.code !== undefined) throw error;
    return "";
  });
  const format = Number(FIRST_LINE.exec(first)?.[1] ?? Number.NaN);
  if (!(format > 0)) throw new NoBackup("its first line is not a backup's");
  if (format > FORMAT)
    throw new NoBackup(
      `it has backup format ${format}, but this release of Millrace reads formats up to ${FORMAT}: it was written by a newer release, use that one`,
    );
  const inner = new ByteReader(unblocked(outer));
  const found = await record(inner, "the header");
  const all = createHash("sha256").update(line(found));
  return { header: headerIn(found), parts: partsIn(inner, all) };
}

async function* partsIn(inner: ByteReader, all: Hash): AsyncGenerator<Part> {
  for (let count = 0; ; count++) {
    const after = count === 0 ? "the header" : `part ${count}`;
    const found = await record(inner, `what comes after ${after}`);
    if ("end" in found) {
      if (found.end !== count || found.sha256 !== all.digest("hex"))
        throw new NoBackup("its end mark does not fit what comes before it: something was removed, added or changed");
      if (!(await orNoBackup(() => inner.isAtEnd(), "what comes after its end mark is damaged")))
        throw new NoBackup("it goes on behind its end mark");
      return;
    }
    const { part: name, bytes } = found;
    if (typeof name !== "string" || !PART_NAME.test(name) || !isWhole(bytes) || count >= MOST_PARTS)
      throw new NoBackup(`what comes after ${after} is no part`);
    const own = createHash("sha256");
    yield { name, bytes, content: hashed(inner, name, bytes, own) };
    const sha256 = own.digest("hex");
    const seal = await record(inner, `the checksum of ${name}`);
    if (seal.sha256 !== sha256) throw new NoBackup(`${name} has changed: its checksum does not fit`);
    all.update(`${name} ${bytes} ${sha256}\n`);
  }
}

async function* hashed(inner: ByteReader, name: string, bytes: number, own: Hash): AsyncGenerator<Buffer> {
  const pieces = inner.take(bytes);
  for (;;) {
    const { done, value } = await orNoBackup(() => pieces.next(), `${name} is damaged`);
    if (done) return;
    own.update(value);
    yield value;
  }
}

async function record(inner: ByteReader, what: string): Promise<Record<string, unknown>> {
  return orNoBackup(async () => {
    const value: unknown = JSON.parse(await inner.line(LONGEST_LINE));
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("it is no record");
    return value as Record<string, unknown>;
  }, `${what} is damaged`);
}

/** The compression and the encryption find damage of their own. */
async function orNoBackup<T>(read: () => Promise<T>, otherwise: string): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof NoBackup) throw error;
    if (error instanceof EndedEarly) throw new NoBackup("it is cut: it ends before its end mark", { cause: error });
    const { code } = error as NodeJS.ErrnoException;
    // The file itself could not be read.
    if (code !== undefined && !/^(Z_|ERR_|ZSTD_)/.test(code)) throw error;
    throw new NoBackup(`${otherwise} (${(error as Error).message})`, { cause: error });
  }
}

function headerIn(found: Record<string, unknown>): Header {
  const { version, at, formats, masterKeys, hasKeys, bytes } = found as Partial<Header>;
  const isFormats = typeof formats === "object" && formats !== null && Object.values(formats).every(isWhole);
  const isKeys = Array.isArray(masterKeys) && masterKeys.every((name) => /^[0-9a-f]{16}$/.test(name));
  const isWords = typeof version === "string" && typeof at === "string" && typeof hasKeys === "boolean";
  if (!isWords || !isFormats || !isKeys || !isWhole(bytes))
    throw new NoBackup("its header is not one that this release knows");
  return { version, at, formats, masterKeys, hasKeys, bytes };
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
