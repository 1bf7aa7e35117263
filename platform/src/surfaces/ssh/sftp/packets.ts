/** The packets of SFTP version 3, as far as a server needs them. */
import type { Readable } from "node:stream";
import { Bytes } from "./bytes.ts";

const VERSION = 3;

export const asks = {
  init: 1,
  open: 3,
  close: 4,
  read: 5,
  write: 6,
  lstat: 7,
  fstat: 8,
  setstat: 9,
  fsetstat: 10,
  opendir: 11,
  readdir: 12,
  remove: 13,
  mkdir: 14,
  rmdir: 15,
  realpath: 16,
  stat: 17,
  rename: 18,
  readlink: 19,
  symlink: 20,
  extended: 200,
} as const;

const answers = { version: 2, status: 101, handle: 102, data: 103, name: 104, attrs: 105, extended: 201 } as const;

const statuses = { ok: 0, eof: 1, missing: 2, denied: 3, failure: 4, malformed: 5, unknown: 8 } as const;
export type Status = keyof typeof statuses;

/** The flags for opening a file. */
export const flags = { read: 1, write: 2, append: 4, create: 8, truncate: 16, exclusive: 32 } as const;

/** Attributes of a file, known or to be set. Times are in seconds. */
export interface Attributes {
  size?: number;
  uid?: number;
  gid?: number;
  /** Includes the bits for the type of file. */
  mode?: number;
  atime?: number;
  mtime?: number;
}

/** Facts about a file's disk. Sizes are counted in fragments of `fragment` bytes. */
export interface Disk {
  block: bigint;
  fragment: bigint;
  blocks: bigint;
  free: bigint;
  /** Free for users other than root. */
  available: bigint;
  files: bigint;
  freeFiles: bigint;
  id: bigint;
  longestName: bigint;
}

export interface Entry {
  name: string;
  /** The line that `ls -l` would show. */
  long: string;
  attributes: Attributes;
}

const has = { size: 1, owner: 2, mode: 4, times: 8, extended: 0x80000000 };

/** The size of the packets that clients send. It also limits one read. */
export const LARGEST_PACKET = 262_144;

export class Malformed extends Error {}

/** The unread rest of a packet. Reading beyond its end is the sender's mistake. */
export class PacketReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  byte(): number {
    return this.#take(1).readUInt8();
  }

  number(): number {
    return this.#take(4).readUInt32BE();
  }

  /** Numbers are limited to what is exact. No file is larger. */
  large(): number {
    const value = this.#take(8).readBigUInt64BE();
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new Malformed("a position beyond all files");
    return Number(value);
  }

  bytes(): Buffer {
    return this.#take(this.number());
  }

  text(): string {
    return this.bytes().toString();
  }

  attributes(): Attributes {
    const present = this.number();
    const found: Attributes = {};
    if (present & has.size) found.size = this.large();
    if (present & has.owner) Object.assign(found, { uid: this.number(), gid: this.number() });
    if (present & has.mode) found.mode = this.number();
    if (present & has.times) Object.assign(found, { atime: this.number(), mtime: this.number() });
    return found;
  }

  #take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new Malformed("a packet that ends too soon");
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}

/** Yields the packets as they arrive. The next one is read when the one before is done. */
export async function* packetsFrom(stream: Readable): AsyncGenerator<PacketReader> {
  const bytes = new Bytes(stream);
  for (;;) {
    const head = await bytes.take(4);
    if (head.length < 4) return;
    const length = head.readUInt32BE();
    if (length < 1 || length > LARGEST_PACKET) throw new Malformed(`a packet of ${length} bytes`);
    const body = await bytes.take(length);
    if (body.length < length) return;
    yield new PacketReader(body);
  }
}

export const answer = {
  version: (extensions: Readonly<Record<string, string>>) =>
    packet(answers.version, number(VERSION), ...Object.entries(extensions).flat().map(text)),
  status: (id: number, status: Status, words = "") =>
    packet(answers.status, number(id), number(statuses[status]), text(words), text("")),
  handle: (id: number, handle: string) => packet(answers.handle, number(id), text(handle)),
  data: (id: number, bytes: Buffer) => packet(answers.data, number(id), text(bytes)),
  attributes: (id: number, attributes: Attributes) => packet(answers.attrs, number(id), attributesOf(attributes)),
  /** In the order of `statvfs`. The mount flags are not filled in. */
  disk: (id: number, { block, fragment, blocks, free, available, files, freeFiles, id: disk, longestName }: Disk) => {
    const inOrder = [block, fragment, blocks, free, available, files, freeFiles, freeFiles, disk, 0n, longestName];
    return packet(answers.extended, number(id), ...inOrder.map(large));
  },
  names: (id: number, entries: readonly Entry[]) =>
    packet(
      answers.name,
      number(id),
      number(entries.length),
      ...entries.flatMap(({ name, long, attributes }) => [text(name), text(long), attributesOf(attributes)]),
    ),
};

function packet(type: number, ...parts: Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 1);
  return Buffer.concat([number(length), Buffer.from([type]), ...parts]);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

function large(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt.asUintN(64, value));
  return bytes;
}

const text = (value: string | Buffer) => Buffer.concat([number(Buffer.byteLength(value)), Buffer.from(value)]);

function attributesOf({ size, uid, gid, mode, atime, mtime }: Attributes): Buffer {
  const isOwned = uid !== undefined && gid !== undefined;
  const isTimed = atime !== undefined && mtime !== undefined;
  const present =
    (size === undefined ? 0 : has.size) |
    (isOwned ? has.owner : 0) |
    (mode === undefined ? 0 : has.mode) |
    (isTimed ? has.times : 0);
  return Buffer.concat([
    number(present),
    ...(size === undefined ? [] : [large(BigInt(size))]),
    ...(isOwned ? [number(uid), number(gid)] : []),
    ...(mode === undefined ? [] : [number(mode)]),
    ...(isTimed ? [number(atime), number(mtime)] : []),
  ]);
}
