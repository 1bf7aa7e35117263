/** The disk of the data folder: how much room it has, some that is held back for the worst, and whether the folder is still there. */
import { rmSync } from "node:fs";
import { open, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { type Duty, every } from "../kernel/background.ts";
import { type Clock, sleep } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import type { Random } from "../kernel/random.ts";

/** `database or disk is full`, as SQLite says it. */
const SQLITE_FULL = 13;
/** Less than this is none: something needs a block for itself before the first byte. */
const LEAST_BYTES = 256 * 1024;
const LOOK_MS = 500;
const MIB = 1_048_576;
const RESERVE_BYTES = 8 * MIB;
/** `keep.sh` knows it too: while it is not there, the last room is for the server alone. */
const RESERVE = "reserve";

export const DISK_IS_FULL = "the server's disk is full";
const NOTHING_NEW = `${DISK_IS_FULL}: nothing new is taken on until there is room`;
const FOLDER_IS_GONE =
  "the data folder was moved or removed while the server ran; put it back, or stop the server and start it on another";

export function isFull(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  return code === "ENOSPC" || code === "EDQUOT" || errcode === SQLITE_FULL;
}

export async function hasRoom(folder: string, bytes = LEAST_BYTES): Promise<boolean> {
  const { bavail, bfree, bsize } = await statfs(folder);
  // Some file systems keep a part for root alone.
  return (process.getuid!() === 0 ? bfree : bavail) * bsize >= bytes;
}

/** What those who write to the data folder ask. */
export interface Disk {
  /** Why nothing new is taken on; undefined when all is well. */
  readonly refusal: string | undefined;
  /** There was no room for a write. True when there is some for it now. */
  release(): boolean;
}

/** For a command that writes once and ends. */
export const anyDisk: Disk = { refusal: undefined, release: () => false };

interface Parts {
  clock: Clock;
  log: Log;
  random: Random;
}

/**
 * Holds back some room of the disk in a file. When the rest is used up that file goes: nothing new is taken on then, and what is under way
 * can be ended and removed. It is made again as soon as there is room for it.
 */
export class DataDisk implements Disk, AsyncDisposable {
  readonly #folder: string;
  readonly #log: Log;
  readonly #random: Random;
  readonly #inode: number;
  readonly #duty: Duty;
  #isHeld = false;
  #isGone = false;

  private constructor(folder: string, inode: number, { clock, log, random }: Parts) {
    this.#folder = folder;
    this.#inode = inode;
    this.#log = log;
    this.#random = random;
    this.#duty = every(
      clock,
      LOOK_MS,
      () => this.#look(),
      (error) => log.error({ err: error }, "the disk of the data folder cannot be looked at"),
    );
  }

  static async open(folder: string, parts: Parts): Promise<DataDisk> {
    const disk = new DataDisk(folder, (await stat(folder)).ino, parts);
    // A start needs some room itself.
    if (!(await hasRoom(folder, MIB))) disk.release();
    for (let tries = 0; !(await hasRoom(folder, MIB)); tries++) {
      if (tries === 0) parts.log.error({ folder }, `${DISK_IS_FULL}: the server starts when there is some room`);
      await sleep(parts.clock, LOOK_MS);
    }
    await disk.#hold();
    if (!disk.#isHeld) parts.log.error({ folder }, NOTHING_NEW);
    return disk;
  }

  get refusal(): string | undefined {
    if (this.#isGone) return FOLDER_IS_GONE;
    return this.#isHeld ? undefined : DISK_IS_FULL;
  }

  release(): boolean {
    if (this.#isHeld)
      this.#log.error({ folder: this.#folder }, `${DISK_IS_FULL}: nothing new is taken on until there is room`);
    const wasHeld = this.#isHeld;
    this.#isHeld = false;
    rmSync(this.#file, { force: true });
    return wasHeld;
  }

  get #file(): string {
    return join(this.#folder, RESERVE);
  }

  async #look(): Promise<void> {
    const isGone = (await stat(this.#folder).catch(() => undefined))?.ino !== this.#inode;
    if (isGone !== this.#isGone)
      this.#log.error({ folder: this.#folder }, isGone ? FOLDER_IS_GONE : "the data folder is back");
    this.#isGone = isGone;
    if (isGone || this.#isHeld || !(await hasRoom(this.#folder, 2 * RESERVE_BYTES))) return;
    await this.#hold();
    if (this.#isHeld) this.#log.warn({ folder: this.#folder }, "the server's disk has room again");
  }

  async #hold(): Promise<void> {
    const found = await stat(this.#file).catch(() => undefined);
    this.#isHeld = found?.size === RESERVE_BYTES || (await this.#fill());
  }

  /** With what no file system makes smaller. */
  async #fill(): Promise<boolean> {
    const part = this.#random.bytes(MIB);
    try {
      await using file = await open(this.#file, "w", 0o600);
      for (let bytes = 0; bytes < RESERVE_BYTES; bytes += MIB) await file.write(part);
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
