/** Keeps the instances of one kind on one machine as their records say: each step repeatable, one after the other for each instance. */

import type { Clock } from "../kernel/clock.ts";
import { type Failed, named } from "../kernel/failed.ts";
import { floating } from "../kernel/floating.ts";
import type { Log } from "../kernel/log.ts";
import { within } from "../kernel/wait.ts";
import type { Compute, Exit, Instance, InstanceKind } from "../ports/compute/compute.ts";
import type { InstanceItem, KeptInstance } from "./instances.ts";

/** What a kind does with its instances, as the keeper finds them. */
export interface Trade<T extends KeptInstance> {
  readonly kind: InstanceKind;
  /** Those on record for this machine. */
  own(): Promise<Map<string, InstanceItem<T>>>;
  /** Brings one to where its record says it is. */
  round(item: InstanceItem<T>): Promise<void>;
  /** Nothing is on record of it any more. */
  forget(id: string): void;
  /** Its program has ended unasked; a round follows. */
  exited(instance: Instance): void;
  /** Its program was started by a process that could not say so any more. */
  adopt(item: InstanceItem<T>, instance: Instance): Promise<void>;
  /** It runs as its record says, from before this process, or this one has known it for long. */
  takeUp(item: InstanceItem<T>, instance: Instance, isRecovery: boolean): Promise<void>;
  /** It ended while nobody looked. It was last seen to run at this moment, or never by anybody. */
  vanished(item: InstanceItem<T>, lastSeenAt: number | undefined): Promise<void>;
  /** Something of an instance that nobody has a record of was removed. */
  removed(instance: Instance): Promise<void>;
}

export interface KeeperParts<T extends KeptInstance> {
  compute: Compute;
  clock: Clock;
  log: Log;
  failed: Failed;
  trade: Trade<T>;
  /** When a process before this one last said that its machine was there; undefined when none did. */
  seenBefore: () => number | undefined;
}

/** A stop that does not end by then is not waited for. */
const STOP_LIMIT_MS = 15_000;

export class InstanceKeeper<T extends KeptInstance> {
  readonly #parts: KeeperParts<T>;
  /** Work on one instance, one step after the other; a second wish while it goes on is one more round. */
  readonly #tended = new Map<string, { over: Promise<void>; again: boolean }>();
  readonly #exits = new Map<string, Exit>();
  /** When each program was last seen to run: should it vanish, nothing after that is paid for. */
  readonly #seenAt = new Map<string, number>();
  readonly #stopWatching: () => void;
  #recovered = false;
  #closed = false;

  constructor(parts: KeeperParts<T>) {
    this.#parts = parts;
    this.#stopWatching = parts.compute.watch((instance) => this.#noticed(instance));
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** How its program ended, if it has. */
  exitOf(id: string): Exit | undefined {
    return this.#exits.get(id);
  }

  /** Brings an instance to where its record says it is, now or right after what is being done with it. */
  tend(id: string): Promise<void> {
    const tended = this.#tended.get(id);
    if (tended) {
      tended.again = true;
      return tended.over;
    }
    const entry = { again: false, over: Promise.resolve() };
    entry.over = this.#rounds(id, entry)
      .catch(named(this.#parts.failed, this.#duty))
      .finally(() => this.#tended.delete(id));
    this.#tended.set(id, entry);
    return entry.over;
  }

  /**
   * Compares the records with what runs: what nobody has a record of is removed, and what a record speaks of and does not run has
   * ended. At the start this is the recovery from whatever ended the process before.
   */
  async compare(): Promise<void> {
    const { compute, trade } = this.#parts;
    // Read on both sides of the list: one that began or ended meanwhile is neither without a record nor without a program.
    const before = await trade.own();
    const running = (await compute.list()).filter(({ kind }) => kind === trade.kind);
    const after = await trade.own();
    for (const instance of running) await this.#compareWith(after.get(instance.id), instance);
    this.#recovered = true;
    const listed = new Set(running.map(({ id }) => id));
    for (const item of before.values()) {
      const isThere = listed.has(item.id) || !after.has(item.id) || this.#tended.has(item.id);
      if (hasProgram(item) && !isThere)
        await trade.vanished(item, this.#seenAt.get(item.id) ?? this.#parts.seenBefore());
    }
  }

  /** Asks the program to end, and leaves nothing of it. Resolves with the moment of its end, as far as the driver knows it. */
  async end(id: string, graceMs: number): Promise<number | undefined> {
    const { compute, clock } = this.#parts;
    await within(clock, STOP_LIMIT_MS, compute.stop(id, graceMs));
    return this.#exits.get(id)?.at;
  }

  async removeUnknown(instance: Instance): Promise<void> {
    const { id, kind, owner } = instance;
    this.#parts.log.warn({ owner, instance: id }, `a ${kind} without a record was removed`);
    await this.#parts.compute.remove(id);
    await this.#parts.trade.removed(instance);
  }

  forget(id: string): void {
    this.#exits.delete(id);
    this.#seenAt.delete(id);
  }

  /** Nothing new is begun. */
  close(): void {
    this.#closed = true;
    this.#stopWatching();
  }

  /** Resolves when nothing is being done with any of them. */
  async settled(): Promise<void> {
    await Promise.all([...this.#tended.values()].map(({ over }) => over));
  }

  async #compareWith(item: InstanceItem<T> | undefined, instance: Instance): Promise<void> {
    const { trade, clock } = this.#parts;
    if (instance.state !== "exited") this.#seenAt.set(instance.id, clock.now());
    if (this.#tended.has(instance.id)) return;
    if (!item || item.doc.state === "FAILED") await this.removeUnknown(instance);
    else if (instance.state === "exited") this.#noticed(instance);
    else if (item.doc.state === "PLACED") await trade.adopt(item, instance);
    else await trade.takeUp(item, instance, !this.#recovered);
  }

  async #rounds(id: string, entry: { again: boolean }): Promise<void> {
    const { trade } = this.#parts;
    do {
      entry.again = false;
      const item = (await trade.own()).get(id);
      if (item) await trade.round(item);
      else {
        this.forget(id);
        trade.forget(id);
      }
    } while (entry.again && !this.#closed);
  }

  get #duty(): string {
    return `tend instances of kind ${this.#parts.trade.kind}`;
  }

  #noticed(instance: Instance): void {
    const { trade, failed } = this.#parts;
    if (instance.kind !== trade.kind || instance.state !== "exited") return;
    if (instance.exit) this.#exits.set(instance.id, instance.exit);
    trade.exited(instance);
    floating(this.tend(instance.id), named(failed, this.#duty));
  }
}

const hasProgram = ({ doc }: InstanceItem) => doc.startedAt !== null && doc.state !== "FAILED";
