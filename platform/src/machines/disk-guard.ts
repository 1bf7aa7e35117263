/** Protects the last room on the data folder's disk. Programs that write there while it runs short are ended with the reason. */

import { type Duty, every } from "../kernel/background.ts";
import type { Clock } from "../kernel/clock.ts";
import { type Failed, failedTo } from "../kernel/failed.ts";
import { floating } from "../kernel/floating.ts";
import type { Log } from "../kernel/log.ts";
import { OneAtATime } from "../kernel/one-at-a-time.ts";
import { type Reason, saying } from "../kernel/reason.ts";
import type { DiskWriter, DiskWriters } from "../ports/compute/writers.ts";
import { DISK_IS_FULL, type DiskRoom, marginOf } from "../ports/disk.ts";

const LOOK_MS = 250;
/** While this many margins are free, the sizes are checked only at every 20th look. */
const PLENTY = 4;
const LOOKS_WITH_PLENTY = 20;
/** While the free room does not shrink, nobody writes, or others delete as much meanwhile. Then sizes may be this old. */
const AS_OLD_AS_MS = 60_000;
/** Earlier sizes are remembered for at least this long, and at most twice as long. */
const MEMORY_MS = 5000;
const MIB = 1_048_576;
const GIB = 1024 * MIB;
/** A file system may change a size by less than this on its own. */
const NOTICED_BYTES = MIB;

type Sizes = Map<string, number>;

export interface DiskGuardParts {
  clock: Clock;
  log: Log;
  failed?: Failed;
  writers: DiskWriters;
  /** Returns the room on the data folder's file system. */
  room: () => Promise<DiskRoom>;
}

export class DiskGuard implements AsyncDisposable {
  readonly #parts: DiskGuardParts;
  readonly #duty: Duty;
  /** A look and a call of `standStill` must not overlap. */
  readonly #turn = new OneAtATime();
  /** The sizes of some seconds ago. While the disk is short, these are the sizes from before that. */
  #older: Sizes = new Map();
  #newer: Sizes = new Map();
  #last: Sizes = new Map();
  #rotatedAt = Number.NEGATIVE_INFINITY;
  readonly #ending = new Map<string, Promise<void>>();
  #looks = 0;
  /** When all sizes were last read, and the most that was free since. */
  #listedAt = Number.NEGATIVE_INFINITY;
  #mostFree = 0;
  #short: DiskRoom | undefined;

  constructor(parts: DiskGuardParts) {
    this.#parts = parts;
    const { clock, log } = parts;
    const { failed = failedTo(log) } = parts;
    this.#duty = every(
      clock,
      { name: "watch the room of the disk", everyMs: LOOK_MS },
      () => this.#turn.run(() => this.#look()),
      failed,
    );
  }

  /** Why nothing is started, or undefined while there is room. */
  get refusal(): Reason | undefined {
    if (!this.#short) return undefined;
    return saying("disk-full", `${DISK_IS_FULL}: ${leftText(this.#short)}; nothing is started until there is room`);
  }

  /**
   * A record found no room on the disk. Ends all programs that wrote recently, so that they do not take the room meant for records.
   * Resolves to true if there may be room now, and to false if there was no such program.
   */
  standStill(): Promise<boolean> {
    return this.#turn.run(async () => {
      // Programs that are already ending free room.
      const wereEnding = this.#ending.size > 0;
      await Promise.all(this.#ending.values());
      const room = await this.#parts.room();
      if (room.freeBytes >= marginOf(room)) return true;
      const grown = (await this.#parts.writers.list()).map((writer) => ({ writer, by: this.#grownBy(writer) }));
      const most = grown.filter(({ by }) => by > 0).toSorted((a, b) => b.by - a.by);
      const noticed = most.filter(({ by }) => by >= NOTICED_BYTES);
      const culprits = noticed.length > 0 ? noticed : most.slice(0, 1);
      await Promise.all(culprits.map(({ writer, by }) => this.#end(writer, by, room)));
      return wereEnding || culprits.length > 0;
    });
  }

  async #look(): Promise<void> {
    const room = await this.#parts.room();
    const margin = marginOf(room);
    const isShort = room.freeBytes < margin;
    this.#say(isShort, room);
    const hasPlenty = room.freeBytes >= PLENTY * margin;
    if (hasPlenty && this.#looks++ % LOOKS_WITH_PLENTY !== 0) return;
    if (hasPlenty && this.#isAsListed(room)) return;
    this.#listedAt = this.#parts.clock.monotonic();
    this.#mostFree = room.freeBytes;
    const writers = await this.#parts.writers.list();
    if (isShort) this.#endWriting(writers, room);
    else this.#rotate(writers);
    this.#last = sizesOf(writers);
    for (const [id, bytes] of this.#last) if (!this.#newer.has(id)) this.#newer.set(id, bytes);
  }

  /** Whether nothing was written since the sizes were read. While programs sleep, their sizes need not be read every few seconds. */
  #isAsListed({ freeBytes }: DiskRoom): boolean {
    const isShrinking = freeBytes < this.#mostFree;
    this.#mostFree = Math.max(this.#mostFree, freeBytes);
    return !isShrinking && this.#parts.clock.monotonic() - this.#listedAt < AS_OLD_AS_MS;
  }

  #say(isShort: boolean, room: DiskRoom): void {
    if (isShort && !this.#short)
      this.#parts.log.error({}, `${DISK_IS_FULL}: ${leftText(room)}; programs that write are ended`);
    this.#short = isShort ? room : undefined;
  }

  /**
   * Ends one program at a time, the one that wrote most first, or all at once if there is no time for that. It does not wait for an end,
   * because the next look must come.
   */
  #endWriting(writers: readonly DiskWriter[], room: DiskRoom): void {
    const isUrgent = room.freeBytes < marginOf(room) / 2;
    if (this.#ending.size > 0 && !isUrgent) return;
    const isWriting = ({ id, bytes = 0 }: DiskWriter) => bytes - (this.#last.get(id) ?? bytes) >= NOTICED_BYTES;
    const writing = writers.filter(isWriting).map((writer) => ({ writer, by: this.#grownBy(writer) }));
    const most = writing.toSorted((a, b) => b.by - a.by);
    for (const { writer, by } of isUrgent ? most : most.slice(0, 1)) floating(this.#end(writer, by, room), () => {});
  }

  /** Ends a program only once, however often it is called. Never fails: if the end fails, the next look tries again. */
  #end(writer: DiskWriter, by: number, room: DiskRoom): Promise<void> {
    const known = this.#ending.get(writer.id);
    if (known) return known;
    const failed = (error: unknown) =>
      this.#parts.log.error({ err: error, instance: writer.id }, "it could not be ended");
    const ending = this.#endNow(writer, by, room)
      .catch(failed)
      .finally(() => this.#ending.delete(writer.id));
    this.#ending.set(writer.id, ending);
    return ending;
  }

  async #endNow({ id, bytes }: DiskWriter, by: number, room: DiskRoom): Promise<void> {
    const wrote = bytes === undefined ? "it may have written there" : `it wrote ${sizeText(by)} of late`;
    const toDo = "start it again to write less, or on a machine with more disk, or ask the operator to make room";
    const reason = `${DISK_IS_FULL}: ${leftText(room)}, and ${wrote}; ${toDo}`;
    this.#parts.log.warn({ instance: id, bytes }, "a program is ended since it fills the disk");
    await this.#parts.writers.end(id, reason);
  }

  /** A program whose size is unknown may have written any amount. */
  #grownBy({ id, bytes }: DiskWriter): number {
    if (bytes === undefined) return Number.POSITIVE_INFINITY;
    return bytes - (this.#older.get(id) ?? this.#newer.get(id) ?? bytes);
  }

  #rotate(writers: readonly DiskWriter[]): void {
    const nowMs = this.#parts.clock.monotonic();
    if (nowMs - this.#rotatedAt < MEMORY_MS) return;
    this.#rotatedAt = nowMs;
    this.#older = this.#newer;
    this.#newer = sizesOf(writers);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#duty[Symbol.asyncDispose]();
    await Promise.all(this.#ending.values());
  }
}

const sizesOf = (writers: readonly DiskWriter[]): Sizes =>
  new Map(writers.flatMap(({ id, bytes }) => (bytes === undefined ? [] : [[id, bytes]])));

const leftText = (room: DiskRoom) =>
  `${sizeText(room.freeBytes)} of ${sizeText(room.totalBytes)} are left, and the last ${sizeText(marginOf(room))} are reserved for records`;

function sizeText(bytes: number): string {
  return bytes >= 10 * GIB ? `${Math.round(bytes / GIB)} GB` : `${Math.round(bytes / MIB)} MB`;
}
