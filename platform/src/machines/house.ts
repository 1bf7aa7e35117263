/** The house of a node: beats for its machines, keeps their instances with a crew on each, and tells other nodes of theirs. */

import { type Duty, every } from "../kernel/background.ts";
import type { Bell } from "../kernel/bell.ts";
import { named } from "../kernel/failed.ts";
import { floating } from "../kernel/floating.ts";
import { OneAtATime } from "../kernel/one-at-a-time.ts";
import type { Reason } from "../kernel/reason.ts";
import type { Signals } from "../ports/signals/signals.ts";
import { Beat, type BeatParts } from "./beat.ts";
import { Crew, type CrewParts } from "./crew.ts";
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
const COMPARE_MS = 10_000;

export class House implements AsyncDisposable {
  readonly #parts: HouseParts;
  readonly #beat: Beat;
  readonly #crews: ReadonlyMap<string, Crew>;
  readonly #turns = new OneAtATime();
  readonly #stopListening: (() => void)[];
  #ticking: Duty | undefined;
  #ready: Promise<void> | undefined;
  #comparedAt = Number.NEGATIVE_INFINITY;
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
    const { clock, failed } = this.#parts;
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
    await this.#compare();
    // If the tick of one trade fails, the others still run.
    const ticks = await Promise.allSettled(this.#parts.trades.map((trade) => trade.tick(now)));
    for (const tick of ticks) if (tick.status === "rejected") throw tick.reason;
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
    this.#comparedAt = Number.NEGATIVE_INFINITY;
  }

  async #compare(): Promise<void> {
    const now = this.#parts.clock.monotonic();
    if (now - this.#comparedAt < COMPARE_MS) return;
    for (const { keeper } of this.#crews.values()) await keeper.compare();
    this.#comparedAt = now;
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
