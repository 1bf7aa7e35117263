/** The house of a node: beats for its machines, keeps their instances with a crew on each, and tells other nodes of theirs. */

import { type Duty, every } from "../kernel/background.ts";
import type { Bell } from "../kernel/bell.ts";
import { type DutyKind, type DutyNotes, named } from "../kernel/failed.ts";
import { floating } from "../kernel/floating.ts";
import { OneAtATime } from "../kernel/one-at-a-time.ts";
import type { Reason } from "../kernel/reason.ts";
import { within } from "../kernel/wait.ts";
import type { InstanceKind } from "../ports/compute/instance.ts";
import type { Signals } from "../ports/signals/signals.ts";
import { Beat, type BeatParts } from "./beat.ts";
import { Crew, type CrewParts, type Trade } from "./crew.ts";
import type { InstanceItem } from "./instances.ts";
import type { Machines } from "./machines.ts";
import type { OwnMachine } from "./own-machine.ts";

export interface HouseParts extends BeatParts, Omit<CrewParts, "seenBefore" | "isHeld"> {
  machines: Machines;
  own: readonly OwnMachine[];
  signals: Signals;
  /** Rung with every instance whose machine must act on its record. */
  toDo: Bell<InstanceItem>;
}

const KEEPING = { name: "keep machines", everyMs: 1000 };
const COMPARING = { name: "compare what runs with the records", everyMs: 10_000 };
const CARING: Record<InstanceKind, DutyKind> = {
  worker: { name: "keep workers", everyMs: KEEPING.everyMs },
  pod: { name: "keep Pods", everyMs: KEEPING.everyMs },
  member: { name: "keep members of clusters", everyMs: KEEPING.everyMs },
};
/** A comparison that failed is tried again this soon. */
const COMPARE_AGAIN_MS = 2000;
/** Nobody waits longer for a driver that hangs. The hold on machines must be renewed meanwhile. */
const LIMIT_MS = 2000;

export class House implements AsyncDisposable {
  readonly #parts: HouseParts;
  readonly #beat: Beat;
  readonly #crews: ReadonlyMap<string, Crew>;
  readonly #turns = new OneAtATime();
  readonly #stopListening: (() => void)[];
  #ticking: Duty | undefined;
  #ready: Promise<void> | undefined;
  #comparing: Promise<void> | undefined;
  #compareAt = Number.NEGATIVE_INFINITY;
  /** How often machines were gained, and how often when the last comparison began that ended well. */
  #gains = 0;
  #comparedSince = 0;
  #notes: DutyNotes | undefined;
  readonly #tradeTicks = new Map<Trade, Promise<void>>();
  readonly #tradeNotes = new Map<Trade, DutyNotes>();
  #isClosed = false;

  constructor(parts: HouseParts) {
    this.#parts = parts;
    const { own, machines, signals, toDo } = parts;
    this.#beat = new Beat(parts);
    const isHeld = (machine: string) => machines.holds.has(machine);
    const crewParts = { ...parts, seenBefore: () => machines.seenBefore, isHeld };
    this.#crews = new Map(own.map((machine) => [machine.id, new Crew(machine, crewParts)]));
    this.#stopListening = [
      toDo.hear((item) => this.#act(item)),
      ...own.map(({ id }) => signals.listen(`fleet:${id}`, () => this.#soon())),
    ];
  }

  /** From now on instances can reach the server, so those of an earlier process are recovered. */
  start(): void {
    const { clock, failed, trades } = this.#parts;
    for (const trade of trades) {
      const notes = failed.roll?.enter(CARING[trade.kind]);
      if (notes) this.#tradeNotes.set(trade, notes);
    }
    this.#notes = failed.roll?.enter(COMPARING);
    this.#ticking = every(clock, KEEPING, (now) => this.#turns.run(() => this.#tick(now)), failed);
    this.#soon();
  }

  /** Runs once, before anything is planned: what an earlier process left is taken up again or removed. */
  prepared(): Promise<void> {
    this.#ready ??= this.#recover().catch((error) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  /** Resolves when the current look is over, so that a plan uses what it found. */
  async looked(): Promise<void> {
    await this.prepared();
    await this.#turns.over;
  }

  isHere(machine: string): boolean {
    return this.#crews.has(machine) && this.#parts.machines.holds.has(machine);
  }

  /** The progress of the image that an instance of this node waits for. */
  progressOf(instance: string): Reason | undefined {
    for (const crew of this.#crews.values()) {
      const progress = crew.progressOf(instance);
      if (progress !== undefined) return progress;
    }
    return undefined;
  }

  /** Why one of this node's machines starts nothing new. */
  refusal(): Reason | undefined {
    return this.#parts.own.map((machine) => machine.refusal?.()).find((reason) => reason !== undefined);
  }

  /** Tells other nodes what this node's balancer has. Resolves to true if it was news. */
  tell(): Promise<boolean> {
    return this.#beat.tell(this.#parts.clock.now());
  }

  /** Begins nothing new. Workers end with the server, and Pods continue without it. */
  async close(): Promise<void> {
    const { signals, clock, failed } = this.#parts;
    this.#isClosed = true;
    for (const stop of this.#stopListening) stop();
    await this.#ticking?.[Symbol.asyncDispose]();
    await this.#turns.over;
    const underWay = Promise.allSettled([...this.#tradeTicks.values(), this.#comparing]);
    await within(
      clock,
      LIMIT_MS,
      underWay.then(() => {}),
    );
    for (const notes of [this.#notes, ...this.#tradeNotes.values()]) notes?.[Symbol.dispose]();
    if (await this.#beat.leave(clock.now()).catch(named(failed, "leave other nodes"))) signals.emit("fleet:loads");
    await Promise.all([...this.#crews.values()].map((crew) => crew[Symbol.asyncDispose]()));
    await this.#parts.machines.holds.release().catch(named(failed, "let go of machines"));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #tick(now: number): Promise<void> {
    await this.prepared();
    if (await this.#parts.machines.hold(now)) this.#gained();
    await this.#beat.beat(now);
    await within(this.#parts.clock, LIMIT_MS, this.#compareIfDue());
    // Nothing is known yet of what runs on a machine that was gained.
    if (this.#comparedSince !== this.#gains) return;
    await Promise.all(this.#parts.trades.map((trade) => this.#tickOf(trade, now)));
  }

  /** A tick that hangs is not begun again until it is over. */
  #tickOf(trade: Trade, now: number): Promise<void> {
    const tick =
      this.#tradeTicks.get(trade) ?? this.#tickNoted(trade, now).finally(() => this.#tradeTicks.delete(trade));
    this.#tradeTicks.set(trade, tick);
    return within(this.#parts.clock, LIMIT_MS, tick);
  }

  /** Never rejects. If the tick of one trade fails, the others still run, and so does the hold on machines. */
  async #tickNoted(trade: Trade, now: number): Promise<void> {
    const notes = this.#tradeNotes.get(trade);
    notes?.began();
    try {
      await trade.tick(now);
      notes?.went();
    } catch (error) {
      if (notes) notes.failed(error);
      else this.#parts.failed(error, CARING[trade.kind].name);
    }
  }

  async #recover(): Promise<void> {
    const { machines, clock } = this.#parts;
    await machines.prepared();
    this.#gained();
    await this.#beat.beat(clock.now());
    await this.#compare();
  }

  /** The node that held the machine may have begun an instance a moment ago. Until that is read, its program looks like nobody's. */
  #gained(): void {
    this.#parts.instanceRecords.forget();
    this.#compareAt = Number.NEGATIVE_INFINITY;
    this.#gains++;
  }

  /** Never rejects. While a driver is away, the hold on machines and all that depends on time alone go on. */
  async #compareIfDue(): Promise<void> {
    const { clock, failed } = this.#parts;
    if (!this.#comparing && clock.monotonic() < this.#compareAt) return;
    this.#comparing ??= this.#compare()
      .catch((error) => {
        this.#compareAt = clock.monotonic() + COMPARE_AGAIN_MS;
        if (this.#notes) this.#notes.failed(error);
        else failed(error, COMPARING.name);
      })
      .finally(() => {
        this.#comparing = undefined;
      });
    await this.#comparing;
  }

  async #compare(): Promise<void> {
    const { clock } = this.#parts;
    const [beganAt, gains] = [clock.monotonic(), this.#gains];
    this.#notes?.began();
    for (const { keeper } of this.#crews.values()) await keeper.compare();
    this.#notes?.went();
    this.#comparedSince = gains;
    if (gains === this.#gains) this.#compareAt = beganAt + COMPARING.everyMs;
  }

  #act({ id, doc }: InstanceItem): void {
    if (this.#isClosed) return;
    const crew = this.isHere(doc.machine ?? "") ? this.#crews.get(doc.machine!) : undefined;
    if (crew) floating(crew.keeper.tend(doc.kind, id), named(this.#parts.failed, KEEPING.name));
    else if (doc.machine !== null) this.#parts.signals.emit(`fleet:${doc.machine}`);
  }

  #soon(): void {
    if (this.#ticking && !this.#isClosed) floating(this.#ticking.soon(), named(this.#parts.failed, KEEPING.name));
  }
}
