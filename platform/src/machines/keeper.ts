/** Keeps the instances of one machine as their records say: each step repeatable, one after the other for each instance. */
import type { Clock } from "../kernel/clock.ts";
import { type Failed, named } from "../kernel/failed.ts";
import { floating } from "../kernel/floating.ts";
import type { Log } from "../kernel/log.ts";
import { within } from "../kernel/wait.ts";
import { type Compute, type Exit, type Instance, type InstanceKind, StartRefused } from "../ports/compute/compute.ts";
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
  /** The driver has accepted it and waits for this before it begins it. */
  waits(item: InstanceItem<T>, whatFor: string): Promise<void>;
  /** Its program runs, which was not on record: it began late, or a process that started it could not say so any more. */
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
  /** Nothing is done with what is there while another node holds the machine. */
  isHeld: () => boolean;
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
  /** Those that the driver has accepted and not begun, with its last word on each. */
  readonly #pending = new Map<string, Instance>();
  /** Those that began after they had been pending: their records are behind. */
  readonly #begun = new Map<string, Instance>();
  readonly #refusals = new Map<string, StartRefused>();
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

  /** Whether this node may act on what is there. */
  get isHeld(): boolean {
    return this.#parts.isHeld();
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** How its program ended, if it has. */
  exitOf(id: string): Exit | undefined {
    return this.#exits.get(id);
  }

  /** Why the driver that had accepted it will never begin it. */
  refusalOf(id: string): StartRefused | undefined {
    return this.#refusals.get(id);
  }

  /** The driver has accepted it, and perhaps told more of it since. */
  async accepted({ id }: Instance): Promise<void> {
    const now = (await this.#parts.compute.list()).find((one) => one.id === id);
    if (!now) return;
    if (now.state === "running") this.#begun.set(id, now);
    this.#noticed(now);
  }

  /** Brings an instance to where its record says it is, now or right after what is being done with it. */
  async tend(kind: InstanceKind, id: string): Promise<void> {
    if (!this.isHeld) return;
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
    this.#recovered &&= this.isHeld;
    if (!this.isHeld) return;
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
      if (!isThere && this.#pending.delete(item.id))
        floating(this.tend(hand.kind, item.id), named(this.#parts.failed, dutyOf(hand.kind)));
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
    if (!this.isHeld) return;
    this.#parts.log.warn({ owner, instance: id }, `a ${kind} without a record was removed`);
    await this.#parts.compute.remove(id);
    await this.#handFor(kind).removed(instance);
  }

  forget(id: string): void {
    for (const known of [this.#exits, this.#seenAt, this.#pending, this.#begun, this.#refusals]) known.delete(id);
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
    if (isBegun(instance)) this.#seenAt.set(instance.id, this.#parts.clock.now());
    if (this.#tended.has(instance.id)) return;
    if (!item || item.doc.state === "FAILED") await this.removeUnknown(instance);
    else if (!isBegun(instance)) this.#noticed(instance);
    else if (item.doc.state === "PLACED") await hand.adopt(item, instance);
    else await hand.takeUp(item, instance, !this.#recovered);
  }

  async #rounds(hand: Hand, id: string, entry: { again: boolean }): Promise<void> {
    do {
      entry.again = false;
      const item = (await hand.own()).get(id);
      if (item) await this.#round(hand, item);
      else {
        this.forget(id);
        hand.forget(id);
      }
    } while (entry.again && !this.#closed);
  }

  #noticed(instance: Instance): void {
    const hand = this.#hands.get(instance.kind);
    if (!hand) return;
    const { id, kind, state } = instance;
    const hasWaited = this.#pending.delete(id);
    if (state === "pending") this.#pending.set(id, instance);
    if (state === "running" && hasWaited) this.#begun.set(id, instance);
    if (state === "refused")
      this.#refusals.set(id, instance.refusal ?? new StartRefused("its driver does not say why"));
    if (state === "exited") {
      if (instance.exit) this.#exits.set(id, instance.exit);
      hand.exited(instance);
    }
    if (state !== "frozen" && (state !== "running" || this.#begun.has(id)))
      floating(this.tend(kind, id), named(this.#parts.failed, dutyOf(kind)));
  }

  /** One that is pending is left alone, unless it is wanted otherwise by now. */
  async #round(hand: Hand, item: InstanceItem): Promise<void> {
    const isAboutToBegin = ABOUT_TO_BEGIN.includes(item.doc.state);
    const begun = this.#begun.get(item.id);
    this.#begun.delete(item.id);
    if (isAboutToBegin && begun) {
      await hand.adopt(item, begun);
      // It may have ended since it began: what became of it is seen next.
      const tended = this.#tended.get(item.id);
      if (tended && this.#exits.has(item.id)) tended.again = true;
      return;
    }
    const pending = this.#pending.get(item.id);
    if (!isAboutToBegin || !pending) return hand.round(item);
    if (pending.waitsFor !== undefined) await hand.waits(item, pending.waitsFor);
  }

  #handFor(kind: InstanceKind): Hand {
    return this.#hands.get(kind)!;
  }
}

const dutyOf = (kind: InstanceKind) => `tend instances of kind ${kind}`;

/** States of records whose program the driver may have accepted and not begun. */
const ABOUT_TO_BEGIN: readonly string[] = ["PLACED", "CRASHED"];

const isBegun = ({ state }: Instance) => state === "running" || state === "frozen";

const hasProgram = ({ doc }: InstanceItem) => doc.startedAt !== null && doc.state !== "FAILED";
