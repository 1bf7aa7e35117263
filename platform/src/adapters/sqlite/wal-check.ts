/** Checks a write-ahead log before SQLite opens it, since SQLite silently drops everything after a damaged place. */
import { copyFile, readFile } from "node:fs/promises";
import { timestamp } from "../../kernel/clock.ts";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The last bit tells the byte order of the words in a checksum. */
const MAGIC = 0x377f0682;

export interface Damage {
  /** Where the damaged log was copied to. */
  kept: string;
  /** The offset where the damage begins. */
  at: number;
  /** How many commits can no longer be read; undefined when nothing of the file can be read. */
  commits: number | undefined;
  /** Whether the damage may be the last commit only. If the power failed while it was written, it was never acknowledged. */
  isLastOnly: boolean;
  /** The text that can still be read there. */
  text: string;
}

type Found = Omit<Damage, "kept">;

/** Checks the log of a database that nobody has open. Copies a damaged log beside it and describes the damage. */
export async function keepDamaged(database: string, now: number): Promise<Damage | undefined> {
  const file = `${database}-wal`;
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return Buffer.alloc(0);
    throw error;
  });
  const damage = damageIn(bytes);
  if (!damage) return undefined;
  const kept = `${file}.damaged-${timestamp(now).replaceAll(":", "-")}`;
  await copyFile(file, kept);
  return { ...damage, kept };
}

/**
 * Each frame's checksum depends on all frames before it. After the first frame that does not match, frames of this log that end a commit
 * were acknowledged. Frames of an earlier round of the same file have another salt, and frames without a commit were never complete.
 */
export function damageIn(bytes: Buffer): Found | undefined {
  if (bytes.length <= HEADER_BYTES) return undefined;
  const header = readHeader(bytes);
  if (!header) {
    if (bytes.every((byte) => byte === 0)) return undefined;
    return { at: 0, commits: undefined, isLastOnly: false, text: bytes.toString("latin1") };
  }
  const frames = framesIn(bytes, header);
  const firstBad = frames.findIndex(({ isValid }) => !isValid);
  if (firstBad < 0) return undefined;
  const lost = frames.slice(firstBad).filter(({ isOfThisRound }) => isOfThisRound);
  const commits = lost.filter(({ endsCommit }) => endsCommit).length;
  if (commits === 0) return undefined;
  const text = lost.map(({ offset }) => bytes.toString("latin1", offset, offset + header.stride)).join("");
  return { at: frames[firstBad]!.offset, commits, isLastOnly: commits === 1 && lost.at(-1)!.endsCommit, text };
}

interface Header {
  salts: Buffer;
  stride: number;
  sums: Sums;
  isBigEndian: boolean;
}

function readHeader(bytes: Buffer): Header | undefined {
  const magic = bytes.readUInt32BE(0);
  if ((magic & ~1) !== MAGIC) return undefined;
  const isBigEndian = (magic & 1) === 1;
  const sums = summed([0, 0], bytes.subarray(0, 24), isBigEndian);
  if (!isAt(sums, bytes, 24)) return undefined;
  return { salts: bytes.subarray(16, 24), stride: FRAME_HEADER_BYTES + bytes.readUInt32BE(8), sums, isBigEndian };
}

interface Frame {
  offset: number;
  isOfThisRound: boolean;
  endsCommit: boolean;
  isValid: boolean;
}

function framesIn(bytes: Buffer, { salts, stride, sums: first, isBigEndian }: Header): Frame[] {
  const frames: Frame[] = [];
  let sums = first;
  let isValid = true;
  for (let offset = HEADER_BYTES; offset + FRAME_HEADER_BYTES <= bytes.length; offset += stride) {
    const isOfThisRound = bytes.subarray(offset + 8, offset + 16).equals(salts);
    isValid &&= isOfThisRound && offset + stride <= bytes.length;
    if (isValid) {
      sums = summed(sums, bytes.subarray(offset, offset + 8), isBigEndian);
      sums = summed(sums, bytes.subarray(offset + FRAME_HEADER_BYTES, offset + stride), isBigEndian);
      isValid = isAt(sums, bytes, offset + 16);
    }
    frames.push({ offset, isOfThisRound, endsCommit: bytes.readUInt32BE(offset + 4) !== 0, isValid });
  }
  return frames;
}

type Sums = readonly [number, number];

const isAt = ([one, two]: Sums, bytes: Buffer, offset: number) =>
  bytes.readUInt32BE(offset) === one && bytes.readUInt32BE(offset + 4) === two;

function summed([one, two]: Sums, bytes: Buffer, isBigEndian: boolean): Sums {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let [first, second] = [one, two];
  for (let at = 0; at + 8 <= bytes.length; at += 8) {
    first = (first + view.getUint32(at, !isBigEndian) + second) >>> 0;
    second = (second + view.getUint32(at + 4, !isBigEndian) + first) >>> 0;
  }
  return [first, second];
}
