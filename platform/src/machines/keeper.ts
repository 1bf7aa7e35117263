/** Makes the instances of one machine match their records, by repeatable steps that run one at a time per instance. */
import type { Clock } from "../kernel/clock.ts";
import { type Failed, named } from "../kernel/failed.ts";
import { floating } from "../kernel/floating.ts";
import type { Log } from "../kernel/log.ts";
import { within } from "../kernel/wait.ts";
import { type Compute, type Exit, type Instance, type InstanceKind, StartRefused } from "../ports/compute/compute.ts";
import type { InstanceItem, KeptInstance } from "./instances.ts";

/** The work of a trade on one machine: the keeper calls it when it finds out something about an instance. */
export interface Hand<T extends KeptInstance = KeptInstance> {
  readonly kind: InstanceKind;
  /** Returns the instances that are on record for this machine. */
  own(): Promise<ReadonlyMap<string, InstanceItem<T>>>;
  /** Brings one instance to the state in its record. */
  round(item: InstanceItem<T>): Promise<void>;
  /** The instance has no record any more. */
  forget(id: string): void;
  /** The instance's program ended without being asked to. A round follows. */
  exited(instance: Instance): void;
  /** The driver accepted the instance and waits for this before it starts it. */
  waits(item: InstanceItem<T>, whatFor: string): Promise<void>;
  /** The instance's program runs, but that is not on record: it started late, or the process that started it could not write it down. */
  adopt(item: InstanceItem<T>, instance: Instance): Promise<void>;
  /** The instance runs as its record says. It was started by an earlier process, or this process has known it for long. */
  takeUp(item: InstanceItem<T>, instance: Instance, isRecovery: boolean): Promise<void>;
  /** Whether nothing more is to be taken up of such an instance until its record or its state changes. */
  staysTakenUp?(item: InstanceItem<T>, instance: Instance): boolean;
  /** The program ended while nobody looked. `lastSeenAt` is when it was last seen running, or undefined if it never was. */
  vanished(item: InstanceItem<T>, lastSeenAt: number | undefined): Promise<void>;
  /** The rest of an instance without a record was removed. */
  removed(instance: Instance): Promise<void>;
  /** The server shuts down and begins nothing any more. */
  close(): Promise<void>;
}

export interface KeeperParts {
  compute: Compute;
  clock: Clock;
  log: Log;
  failed: Failed;
  /** Makes a hand for each trade. The hands may ask the keeper for what they need. */
  hire: (keeper: Keeper) => readonly Hand[];
  /** Whether this node holds the machine. While another node does, the keeper changes nothing on it. */
  isHeld: () => boolean;
  /** When an earlier process last reported its machine, or undefined if none did. */
  seenBefore: () => number | undefined;
}

/** The keeper does not wait longer than this for a stop. */
const STOP_LIMIT_MS = 15_000;

export class Keeper {
  readonly #parts: KeeperParts;
  readonly #hands: ReadonlyMap<InstanceKind, Hand>;
  /** The work on each instance, one step at a time. A request that comes meanwhile causes one more round. */
  readonly #tended = new Map<string, { over: Promise<void>; again: boolean }>();
  readonly #exits = new Map<string, Exit>();
  /** Instances that the driver accepted and has not started, as it last described them. */
  readonly #pending = new Map<string, Instance>();
  /** Instances that started after they were pending. Their records do not say so yet. */
  readonly #begun = new Map<string, Instance>();
  readonly #refusals = new Map<string, StartRefused>();
  /** When each program was last seen running. If it vanishes, nothing after that is charged. */
  readonly #seenAt = new Map<string, number>();
  /** Records whose instances were taken up for good, with the state in which they were. Records are replaced and never changed. */
  readonly #takenUp = new WeakMap<InstanceItem, Instance["state"]>();
  readonly #stopWatching: () => void;
  #recovered = false;
  #closed = false;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
    this.#hands = new Map(parts.hire(this).map((hand) => [hand.kind, hand]));
    this.#stopWatching = parts.compute.watch((instance) => this.#noticed(instance));
  }

  /** Whether this node may act on the machine's instances. */
  get isHeld(): boolean {
    return this.#parts.isHeld();
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** How the instance's program ended, if it has. */
  exitOf(id: string): Exit | undefined {
    return this.#exits.get(id);
  }

  /** Why the driver will never start an instance that it had accepted. */
  refusalOf(id: string): StartRefused | undefined {
    return this.#refusals.get(id);
  }

  /** A program whose start could not be recorded runs already. It must keep its key, which another start would replace. */
  async runningNow({ id, doc }: InstanceItem): Promise<Instance | undefined> {
    return (await this.#parts.compute.list(doc.image)).find((one) => one.id === id && one.state === "running");
  }

  /** The driver accepted the instance and may have reported more about it since. */
  async accepted({ id }: Instance): Promise<void> {
    const now = (await this.#parts.compute.list()).find((one) => one.id === id);
    if (!now) return;
    // The list may have been made before the driver reported more. What it says then is old.
    if (now.state === "pending" && (this.#refusals.has(id) || this.#begun.has(id))) return;
    if (now.state === "running") this.#begun.set(id, now);
    this.#noticed(now);
  }

  /** Brings an instance to the state in its record, now or right after its current step. */
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
   * Compares the records with what runs. Instances without a record are removed. Instances on record that do not run have ended. At the
   * start this recovers from the end of the previous process.
   */
  async compare(): Promise<void> {
    this.#recovered &&= this.isHeld;
    if (!this.isHeld) return;
    // The records are read before and after the list, because an instance that began or ended meanwhile must not look as if its record or
    // its program were missing.
    const hands = [...this.#hands.values()];
    const before = await Promise.all(hands.map((hand) => hand.own()));
    const there = Map.groupBy(await this.#parts.compute.list(), ({ kind }) => kind);
    for (const [i, hand] of hands.entries()) await this.#compareOf(hand, before[i]!, there.get(hand.kind) ?? []);
    this.#recovered = true;
  }

  async #compareOf(hand: Hand, before: ReadonlyMap<string, InstanceItem>, running: readonly Instance[]): Promise<void> {
    const after = await hand.own();
    for (const instance of running) {
      const item = after.get(instance.id);
      if (isBegun(instance)) this.#seenAt.set(instance.id, this.#parts.clock.now());
      // Nearly all are known, and there may be thousands.
      const isTakenUp = this.#recovered && item && this.#takenUp.get(item) === instance.state;
      if (!isTakenUp && !this.#tended.has(instance.id)) await this.#compareWith(hand, item, instance);
    }
    const listed = new Set(running.map(({ id }) => id));
    for (const item of before.values()) {
      const isThere = listed.has(item.id) || !after.has(item.id) || this.#tended.has(item.id);
      if (!isThere && this.#pending.delete(item.id))
        floating(this.tend(hand.kind, item.id), named(this.#parts.failed, dutyOf(hand.kind)));
      if (hasProgram(item) && !isThere && (await this.#isGone(item)))
        await hand.vanished(item, this.#seenAt.get(item.id) ?? this.#parts.seenBefore());
    }
  }

  /** A driver whose engine is away lists nothing. It may have come back since it was asked, so it is asked again. */
  async #isGone({ id, doc }: InstanceItem): Promise<boolean> {
    const { compute } = this.#parts;
    if (!compute.whyAway) return true;
    if ((await compute.whyAway(doc.image)) !== undefined) return false;
    return !(await compute.list(doc.image)).some((one) => one.id === id);
  }

  /** Asks the program to end and removes it. Resolves with the moment of its end, if the driver knows it. */
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

  /** Begins nothing new. A failure here must not stop the rest of the server from ending. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stopWatching();
    await Promise.all(
      [...this.#hands.values()].map((hand) =>
        hand.close().catch(named(this.#parts.failed, `close instances of kind ${hand.kind}`)),
      ),
    );
  }

  /** Resolves when no work on any instance is under way. */
  async settled(): Promise<void> {
    await Promise.all([...this.#tended.values()].map(({ over }) => over));
  }

  async #compareWith(hand: Hand, item: InstanceItem | undefined, instance: Instance): Promise<void> {
    if (!item || item.doc.state === "FAILED") await this.removeUnknown(instance);
    else if (!isBegun(instance)) this.#noticed(instance);
    else if (item.doc.state === "PLACED") await hand.adopt(item, instance);
    else {
      await hand.takeUp(item, instance, !this.#recovered);
      if (hand.staysTakenUp?.(item, instance)) this.#takenUp.set(item, instance.state);
    }
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

  /** A pending instance is left alone, unless its record now asks for something else. */
  async #round(hand: Hand, item: InstanceItem): Promise<void> {
    const isAboutToBegin = ABOUT_TO_BEGIN.includes(item.doc.state);
    const begun = this.#begun.get(item.id);
    this.#begun.delete(item.id);
    if (isAboutToBegin && begun) {
      await hand.adopt(item, begun);
      // The program may have ended since it began. The next round handles that.
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

/** In these states the driver may have accepted the program and not started it. */
const ABOUT_TO_BEGIN: readonly string[] = ["PLACED", "CRASHED"];

const isBegun = ({ state }: Instance) => state === "running" || state === "frozen";

const hasProgram = ({ doc }: InstanceItem) => doc.startedAt !== null && doc.state !== "FAILED";
