/** Watches the disk of the data folder: its free space, a reserve for emergencies, and whether the folder still exists. */

import { readFileSync, rmSync } from "node:fs";
import { open, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { type Duty, every } from "../kernel/background.ts";
import { type Clock, sleep } from "../kernel/clock.ts";
import { type Failed, failedTo } from "../kernel/failed.ts";
import type { Log } from "../kernel/log.ts";
import type { Random } from "../kernel/random.ts";
import { type Reason, saying } from "../kernel/reason.ts";

/** SQLite's error code for `database or disk is full`. */
const SQLITE_FULL = 13;
/** Less free space than this counts as none, since a file needs a block even before its first byte. */
const LEAST_BYTES = 256 * 1024;
const LOOK_MS = 500;
const MIB = 1_048_576;
const LEAST_RESERVE_BYTES = 8 * MIB;
const MOST_RESERVE_BYTES = 64 * MIB;
/** More than a fast disk writes between two checks of the guard, including what the kernel still has to write for a program. */
const MOST_MARGIN_BYTES = 2048 * MIB;
/** The file name. `keep.sh` knows it too: while the file is missing, the last space on the disk is for the server alone. */
const RESERVE = "reserve";

export const DISK_IS_FULL = "the server's disk is full";
const NOTHING_NEW = `${DISK_IS_FULL}: nothing new is taken on until there is room`;
const NO_START = `${DISK_IS_FULL}: the server starts when there is some room. Remove files, or end programs of Pods that still write: 'ps -ef' shows them below processes that name this folder's 'instances'; 'kill -9' the bwrap below, and its Pod ends`;
const FOLDER_IS_GONE =
  "the data folder was moved or removed while the server ran; put it back, or stop the server and start it on another";

export function isFull(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  return code === "ENOSPC" || code === "EDQUOT" || errcode === SQLITE_FULL;
}

export async function hasRoom(folder: string, bytes = LEAST_BYTES): Promise<boolean> {
  return (await roomIn(folder)).freeBytes >= bytes;
}

/** The size of a file system, and how much of it this process may still write. */
export interface DiskRoom {
  freeBytes: number;
  totalBytes: number;
}

export async function roomIn(folder: string): Promise<DiskRoom> {
  const { bavail, bfree, bsize, blocks } = await statfs(folder);
  // Some file systems reserve blocks for privileged processes. In a container, root often is not one of them.
  return { freeBytes: (mayTakeAll() ? bfree : bavail) * bsize, totalBytes: blocks * bsize };
}

const CAP_SYS_RESOURCE = 24n;

/** Whether the kernel also gives this process the blocks that a file system reserves. */
const mayTakeAll = once(() => {
  const rights = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
  return ((BigInt(`0x${rights}`) >> CAP_SYS_RESOURCE) & 1n) === 1n;
});

function once<T>(find: () => T): () => T {
  let found: { value: T } | undefined;
  return () => {
    found ??= { value: find() };
    return found.value;
  };
}

/** The last part of the disk, which is for records. Programs are stopped before they use it. */
export const marginOf = ({ totalBytes }: Pick<DiskRoom, "totalBytes">): number =>
  Math.min(MOST_MARGIN_BYTES, Math.floor(totalBytes / 20));

/** The size of the reserve file, for records that find no space: 64 MB, or less on a small disk. */
const reserveOf = ({ totalBytes }: DiskRoom): number =>
  Math.min(MOST_RESERVE_BYTES, Math.max(LEAST_RESERVE_BYTES, Math.floor(totalBytes / 64 / MIB) * MIB));

/** What code that writes to the data folder needs from the disk. */
export interface Disk {
  /** Why the server accepts nothing new; undefined when it does. */
  readonly refusal: string | undefined;
  /** Called when a write found no space. Resolves with true if there may be space for it now. */
  release(): Promise<boolean>;
}

/** A disk without a reserve. */
export const anyDisk: Disk = { refusal: undefined, release: async () => false };

/** For a command that writes while a server may run: it may use the reserve. The server notices that the file is gone. */
export const commandDisk = (folder: string): Disk => ({
  refusal: undefined,
  async release() {
    const file = join(folder, RESERVE);
    const isThere = (await stat(file).catch(() => undefined)) !== undefined;
    await rm(file, { force: true });
    return isThere;
  },
});

/** Ends programs that write to the disk. Resolves with true if it ended any. */
export type StandStill = () => Promise<boolean>;

interface Parts {
  clock: Clock;
  log: Log;
  failed?: Failed;
  random: Random;
}

/**
 * Keeps a reserve of the disk in a file. When the rest is full, the file is removed. The server then accepts nothing new, but what is under
 * way can be ended and removed. The file is made again as soon as there is space for it.
 */
export class DataDisk implements Disk, AsyncDisposable {
  readonly #folder: string;
  readonly #log: Log;
  readonly #random: Random;
  readonly #inode: number;
  readonly #duty: Duty;
  #isHeld = false;
  #isGone = false;
  #standStill: StandStill = async () => false;
  #releasing: Promise<boolean> | undefined;

  private constructor(folder: string, inode: number, { clock, log, random, failed = failedTo(log) }: Parts) {
    this.#folder = folder;
    this.#inode = inode;
    this.#log = log;
    this.#random = random;
    this.#duty = every(
      clock,
      { name: "watch the disk of the data folder", everyMs: LOOK_MS },
      () => this.#look(),
      failed,
    );
  }

  static async open(folder: string, parts: Parts): Promise<DataDisk> {
    const disk = new DataDisk(folder, (await stat(folder)).ino, parts);
    // The start itself needs some space.
    if (!(await hasRoom(folder, MIB))) await disk.release();
    for (let tries = 0; !(await hasRoom(folder, MIB)); tries++) {
      if (tries === 0) parts.log.error({ folder }, NO_START);
      await sleep(parts.clock, LOOK_MS);
    }
    await disk.#hold();
    if (!disk.#isHeld) parts.log.error({ folder }, NOTHING_NEW);
    return disk;
  }

  get refusal(): string | undefined {
    if (this.#isGone) return FOLDER_IS_GONE;
    return this.#isHeld && !this.#releasing ? undefined : DISK_IS_FULL;
  }

  /** The refusal as a reason, for work that waits until it is over. */
  get reason(): Reason | undefined {
    const { refusal } = this;
    return refusal === undefined ? undefined : saying(this.#isGone ? "data-folder-gone" : "disk-full", refusal);
  }

  /** From now on programs are stopped before the reserve is released, because they would use it first. */
  stoppedBy(standStill: StandStill): void {
    this.#standStill = standStill;
  }

  release(): Promise<boolean> {
    this.#releasing ??= this.#release().finally(() => {
      this.#releasing = undefined;
    });
    return this.#releasing;
  }

  async #release(): Promise<boolean> {
    if (this.#isHeld) this.#log.error({ folder: this.#folder }, NOTHING_NEW);
    // If programs cannot be stopped, the reserve is released anyway: the records may still get the space first.
    const hasStopped = await this.#standStill().catch((error) => {
      this.#log.error({ err: error, folder: this.#folder }, "programs that fill the disk could not be stopped");
      return false;
    });
    const wasHeld = this.#isHeld;
    this.#isHeld = false;
    rmSync(this.#file, { force: true });
    return wasHeld || hasStopped;
  }

  get #file(): string {
    return join(this.#folder, RESERVE);
  }

  async #look(): Promise<void> {
    const isGone = (await stat(this.#folder).catch(() => undefined))?.ino !== this.#inode;
    if (isGone !== this.#isGone)
      this.#log.error({ folder: this.#folder }, isGone ? FOLDER_IS_GONE : "the data folder is back");
    this.#isGone = isGone;
    if (isGone || this.#releasing) return;
    const room = await roomIn(this.#folder);
    if (this.#isHeld && !(await this.#isWhole(room))) this.#isHeld = false;
    if (this.#isHeld || room.freeBytes < 2 * reserveOf(room)) return;
    await this.#hold();
    if (this.#isHeld) this.#log.warn({ folder: this.#folder }, "the server's disk has room again");
  }

  async #hold(): Promise<void> {
    const room = await roomIn(this.#folder);
    const isHeld = (await this.#isWhole(room)) || (await this.#fill(reserveOf(room)));
    // A release that began meanwhile has given the reserve away.
    if (!this.#releasing) this.#isHeld = isHeld;
  }

  async #isWhole(room: DiskRoom): Promise<boolean> {
    return (await stat(this.#file).catch(() => undefined))?.size === reserveOf(room);
  }

  /** Fills the file with random bytes, which no file system can compress. */
  async #fill(wanted: number): Promise<boolean> {
    const part = this.#random.bytes(MIB);
    try {
      await using file = await open(this.#file, "w", 0o600);
      for (let bytes = 0; bytes < wanted; bytes += MIB) await file.write(part);
      return true;
    } catch (error) {
      await rm(this.#file, { force: true });
      if (isFull(error)) return false;
      this.#log.warn({ err: error, folder: this.#folder }, "no room of the disk can be held back");
      return true;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#duty[Symbol.asyncDispose]();
  }
}
