/** Plans for Pods: finds places for those that wait, and ends those whose time has come. */

import { type Duty, every } from "../../../kernel/background.ts";
import type { Bell } from "../../../kernel/bell.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { type Failed, named } from "../../../kernel/failed.ts";
import { floating } from "../../../kernel/floating.ts";
import { OneAtATime } from "../../../kernel/one-at-a-time.ts";
import { isSameReason } from "../../../kernel/reason.ts";
import type { House } from "../../../machines/house.ts";
import type { InstanceItem } from "../../../machines/instances.ts";
import type { SilentSince } from "../../../machines/silences.ts";
import type { PodEndings } from "../endings.ts";
import type { PodPlacer } from "../placer.ts";
import type { PodItem, PodRecords } from "../records.ts";
import { Draining, type DrainingParts } from "./draining.ts";
import { Timers } from "./timers.ts";
import { Unheard } from "./unheard.ts";

export interface PodsParts {
  clock: Clock;
  failed: Failed;
  house: House;
  podRecords: PodRecords;
  endings: PodEndings;
  drains: DrainingParts["drains"];
  placer: PodPlacer;
  silentSince: SilentSince;
  /** Rings with every instance whose machine has to act on its record. */
  toDo: Bell<InstanceItem>;
  /** Rings when there may be room for a waiting Pod. */
  freed: Bell;
  /** Only one of several nodes finds places. */
  mine?: (now: number) => Promise<boolean>;
}

const PLANNING = { name: "plan Pods", everyMs: 1000 };

export class Pods implements AsyncDisposable {
  readonly #parts: PodsParts;
  readonly #timers: Timers;
  readonly #unheard: Unheard;
  readonly #draining: Draining;
  readonly #stopListening: () => void;
  readonly #turns = new OneAtATime();
  #ticking: Duty | undefined;
  #isClosed = false;

  constructor(parts: PodsParts) {
    this.#parts = parts;
    this.#timers = new Timers(parts);
    this.#unheard = new Unheard(parts);
    this.#draining = new Draining(parts);
    this.#stopListening = parts.freed.hear(() => this.#soon());
  }

  /** Starts to place waiting Pods. */
  start(): void {
    const { clock, failed } = this.#parts;
    this.#ticking = every(clock, PLANNING, (now) => this.#turns.run(() => this.#tick(now)), failed);
    this.#soon();
  }

  /** Begins nothing new. Running Pods continue without the server. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopListening();
    await this.#ticking?.[Symbol.asyncDispose]();
    await this.#turns.over;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #tick(now: number): Promise<void> {
    await this.#parts.house.looked();
    // Every node reads the instances, even if it runs none, because it shows what a Pod may have on a silent machine.
    await this.#parts.podRecords.allInstances();
    if (this.#parts.mine && !(await this.#parts.mine(now))) return;
    await this.#unheard.note();
    await this.#draining.look();
    await this.#timers.act(now);
    await this.#placeWaiting();
  }

  /** The Pod that waits longest gets room first. */
  async #placeWaiting(): Promise<void> {
    const waiting: PodItem[] = [];
    for await (const pod of this.#parts.podRecords.pods.all({ key: { name: "status", value: "PROVISIONING" } }))
      if (pod.doc.instance === null && (pod.doc.crashes?.startsAgainAt ?? 0) <= this.#parts.clock.now())
        waiting.push(pod);
    for (const pod of waiting.toSorted((a, b) => a.doc.lastStatusChange - b.doc.lastStatusChange))
      await this.#place(pod);
  }

  async #place(pod: PodItem): Promise<void> {
    const placed = await this.#parts.placer.place(pod);
    if (!placed) return;
    if (!("reason" in placed)) return this.#parts.toDo.ring(placed);
    const { reason } = placed;
    if (isSameReason(reason, pod.doc.reason)) return;
    await this.#parts.podRecords.change(pod.id, ({ doc }) =>
      doc.status === "PROVISIONING" && doc.instance === null ? { set: { reason } } : undefined,
    );
  }

  #soon(): void {
    if (this.#ticking && !this.#isClosed) floating(this.#ticking.soon(), named(this.#parts.failed, PLANNING.name));
  }
}
