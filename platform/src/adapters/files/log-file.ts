/** Reads one file of log records: from the front, from the back, or from the middle of a large one. */
import { type FileHandle, open } from "node:fs/promises";
import { Slices } from "../../kernel/slices.ts";
import { type LogRecord, parseRecord } from "./log-record.ts";

const BLOCK = 64 * 1024;
const NEWLINE = 10;
/** How many bytes are parsed before other work gets a turn. Parsing them takes a few milliseconds. */
const SLICE = 256 * 1024;

export interface Block {
  records: LogRecord[];
  /** Where the next block begins. */
  next: number;
  isLast: boolean;
}

/** A file with the size that it had when it was opened. Later records are left to the next reader. */
interface Opened {
  handle: FileHandle;
  size: number;
}

/** One block of records from `offset`, where a record must begin. The file is not kept open between two blocks. */
export function readBlock(path: string, offset: number): Promise<Block> {
  return reading(path, nothing(offset), (file) => blockAt(file, offset, BLOCK));
}

export function firstRecord(path: string): Promise<LogRecord | undefined> {
  return reading(path, undefined, async (file) => (await wholeRecordAt(file, 0))?.record);
}

/** Gives the newest record first, until `isEnough` accepts one or the file ends. Other work gets a turn in between. */
export function recordsBack(path: string, isEnough: (record: LogRecord) => boolean): Promise<void> {
  return reading(path, undefined, async (file) => {
    const slices = new Slices(SLICE);
    for await (const line of linesBack(file)) {
      const record = parseRecord(line.toString());
      if (record && isEnough(record)) return;
      await slices.did(line.length);
    }
  });
}

/** An offset at which a record begins, close to the record with this sequence and never after it. */
export function offsetNear(path: string, sequence: number): Promise<number> {
  return reading(path, 0, async (file) => {
    let [low, high] = [0, file.size];
    while (high - low > BLOCK) {
      const middle = Math.floor((low + high) / 2);
      const found = await wholeRecordAt(file, middle);
      if (found && found.offset < high && found.record.first <= sequence) low = found.offset;
      else high = middle;
    }
    return low;
  });
}

/** The file may be gone by now, since rotation removes the oldest. */
async function reading<T>(path: string, ifGone: T, read: (file: Opened) => Promise<T>): Promise<T> {
  try {
    await using handle = await open(path, "r");
    return await read({ handle, size: (await handle.stat()).size });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return ifGone;
    throw error;
  }
}

const nothing = (offset: number): Block => ({ records: [], next: offset, isLast: true });

async function blockAt(file: Opened, offset: number, length: number): Promise<Block> {
  const bytes = await bytesAt(file, offset, length);
  const end = bytes.lastIndexOf(NEWLINE) + 1;
  const isLast = offset + length >= file.size;
  // The record is longer than a block.
  if (end === 0 && !isLast) return blockAt(file, offset, length * 4);
  return { records: await recordsIn(bytes.subarray(0, end)), next: offset + end, isLast };
}

/** The first whole record that begins at or after the offset. */
async function wholeRecordAt(
  file: Opened,
  offset: number,
  length = BLOCK,
): Promise<{ record: LogRecord; offset: number } | undefined> {
  const bytes = await bytesAt(file, offset, length);
  const begin = offset === 0 ? 0 : bytes.indexOf(NEWLINE) + 1;
  for (let start = begin, end = 0; ; start = end + 1) {
    end = bytes.indexOf(NEWLINE, start);
    if (end < 0) break;
    const record = parseRecord(bytes.toString("utf8", start, end));
    if (record) return { record, offset: offset + start };
  }
  return offset + length >= file.size ? undefined : wholeRecordAt(file, offset, length * 4);
}

async function bytesAt({ handle, size }: Opened, offset: number, length: number): Promise<Buffer> {
  const wanted = Math.max(0, Math.min(length, size - offset));
  const buffer = Buffer.allocUnsafe(wanted);
  let filled = 0;
  while (filled < wanted) {
    const { bytesRead } = await handle.read(buffer, filled, wanted - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** Whole lines from the end of a file to its front. Bytes after the last line break are torn or still being written. */
async function* linesBack(file: Opened): AsyncGenerator<Buffer> {
  /** The parts of a line whose beginning was not read yet, in their order in the file. */
  let rest: Buffer[] | undefined;
  for (let end = file.size; end > 0; end -= BLOCK) {
    const start = Math.max(0, end - BLOCK);
    const bytes = await bytesAt(file, start, end - start);
    let to = bytes.length;
    for (let cut = bytes.lastIndexOf(NEWLINE); cut >= 0; cut = bytes.subarray(0, cut).lastIndexOf(NEWLINE)) {
      if (rest) yield Buffer.concat([bytes.subarray(cut + 1, to), ...rest]);
      rest = [];
      to = cut;
    }
    rest?.unshift(bytes.subarray(0, to));
  }
  if (rest) yield Buffer.concat(rest);
}

/** The records in `bytes`, which must hold whole lines only. */
async function recordsIn(bytes: Buffer): Promise<LogRecord[]> {
  const slices = new Slices(SLICE);
  const records: LogRecord[] = [];
  for (let start = 0, end = bytes.indexOf(NEWLINE); end >= 0; start = end + 1, end = bytes.indexOf(NEWLINE, start)) {
    const record = parseRecord(bytes.toString("utf8", start, end));
    if (record) records.push(record);
    await slices.did(end - start);
  }
  return records;
}
