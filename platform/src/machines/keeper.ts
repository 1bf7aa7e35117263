/** Keeps the instances of one machine as their records say: each step repeatable, one after the other for each instance. */
import type { Clock } from "../kernel/clock.ts";
import { type Failed, named } from "../kernel/failed.ts";
import { floating } from "../kernel/floating.ts";
import type { Log } from "../kernel/log.ts";
import { within } from "../kernel/wait.ts";
import type { Compute, Exit, Instance, InstanceKind } from "../ports/compute/compute.ts";
import type { InstanceItem, KeptInstance } from "./instances.ts";

/** What a trade does with its instances on one machine, as the keeper finds them. */
export interface Hand<T extends KeptInstance = KeptInstance> {
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
  /** The server ends, and nothing is begun any more. */
  close(): Promise<void>;
}

export interface KeeperParts {
  compute: Compute;
  clock: Clock;
  log: Log;
  failed: Failed;
  /** A hand of each trade, which may ask the keeper for what they need. */
  hire: (keeper: Keeper) => readonly Hand[];
  /** When a process before this one last said that its machine was there; undefined when none did. */
  seenBefore: () => number | undefined;
}

/** A stop that does not end by then is not waited for. */
const STOP_LIMIT_MS = 15_000;

export class Keeper {
  readonly #parts: KeeperParts;
  readonly #hands: ReadonlyMap<InstanceKind, Hand>;
  /** Work on one instance, one step after the other; a second wish while it goes on is one more round. */
  readonly #tended = new Map<string, { over: Promise<void>; again: boolean }>();
  readonly #exits = new Map<string, Exit>();
  /** When each program was last seen to run: should it vanish, nothing after that is paid for. */
  readonly #seenAt = new Map<string, number>();
  readonly #stopWatching: () => void;
  #recovered = false;
  #closed = false;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
    this.#hands = new Map(parts.hire(this).map((hand) => [hand.kind, hand]));
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
  tend(kind: InstanceKind, id: string): Promise<void> {
    const tended = this.#tended.get(id);
    if (tended) {
      tended.again = true;
      return tended.over;
    }
    const entry = { again: false, over: Promise.resolve() };
    entry.over = this.#rounds(this.#handFor(kind), id, entry)
      .catch(named(this.#parts.failed, dutyOf(kind)))
      .finally(() => this.#tended.delete(id));
    this.#tended.set(id, entry);
    return entry.over;
  }

  /**
   * Compares the records with what runs: what nobody has a record of is removed, and what a record speaks of and does not run has
   * ended. At the start this is the recovery from whatever ended the process before.
   */
  async compare(): Promise<void> {
    for (const hand of this.#hands.values()) await this.#compareOf(hand);
    this.#recovered = true;
  }

  async #compareOf(hand: Hand): Promise<void> {
    // Read on both sides of the list: one that began or ended meanwhile is neither without a record nor without a program.
    const before = await hand.own();
    const running = (await this.#parts.compute.list()).filter(({ kind }) => kind === hand.kind);
    const after = await hand.own();
    for (const instance of running) await this.#compareWith(hand, after.get(instance.id), instance);
    const listed = new Set(running.map(({ id }) => id));
    for (const item of before.values()) {
      const isThere = listed.has(item.id) || !after.has(item.id) || this.#tended.has(item.id);
      if (hasProgram(item) && !isThere)
        await hand.vanished(item, this.#seenAt.get(item.id) ?? this.#parts.seenBefore());
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
    await this.#handFor(kind).removed(instance);
  }

  forget(id: string): void {
    this.#exits.delete(id);
    this.#seenAt.delete(id);
  }

  /** Nothing new is begun. Whatever fails here must not keep the rest of the server from ending. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stopWatching();
    await Promise.all(
      [...this.#hands.values()].map((hand) =>
        hand.close().catch(named(this.#parts.failed, `close instances of kind ${hand.kind}`)),
      ),
    );
  }

  /** Resolves when nothing is being done with any of them. */
  async settled(): Promise<void> {
    await Promise.all([...this.#tended.values()].map(({ over }) => over));
  }

  async #compareWith(hand: Hand, item: InstanceItem | undefined, instance: Instance): Promise<void> {
    if (instance.state !== "exited") this.#seenAt.set(instance.id, this.#parts.clock.now());
    if (this.#tended.has(instance.id)) return;
    if (!item || item.doc.state === "FAILED") await this.removeUnknown(instance);
    else if (instance.state === "exited") this.#noticed(instance);
    else if (item.doc.state === "PLACED") await hand.adopt(item, instance);
    else await hand.takeUp(item, instance, !this.#recovered);
  }

  async #rounds(hand: Hand, id: string, entry: { again: boolean }): Promise<void> {
    do {
      entry.again = false;
      const item = (await hand.own()).get(id);
      if (item) await hand.round(item);
      else {
        this.forget(id);
        hand.forget(id);
      }
    } while (entry.again && !this.#closed);
  }

  #noticed(instance: Instance): void {
    const hand = this.#hands.get(instance.kind);
    if (!hand || instance.state !== "exited") return;
    if (instance.exit) this.#exits.set(instance.id, instance.exit);
    hand.exited(instance);
    floating(this.tend(instance.kind, instance.id), named(this.#parts.failed, dutyOf(instance.kind)));
  }

  #handFor(kind: InstanceKind): Hand {
    return this.#hands.get(kind)!;
  }
}

const dutyOf = (kind: InstanceKind) => `tend instances of kind ${kind}`;

const hasProgram = ({ doc }: InstanceItem) => doc.startedAt !== null && doc.state !== "FAILED";
