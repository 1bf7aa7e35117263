/** Makes Pods exist: finds places for those that wait, lets the keeper of each machine act, and ends those whose time has come. */

import { type Duty, every } from "../kernel/background.ts";
import type { Clock } from "../kernel/clock.ts";
import { type Failed, named } from "../kernel/failed.ts";
import { floating } from "../kernel/floating.ts";
import type { Log } from "../kernel/log.ts";
import { OneAtATime } from "../kernel/one-at-a-time.ts";
import { Images } from "../machines/images.ts";
import { InstanceLog } from "../machines/instance-log.ts";
import type { Need } from "../machines/need.ts";
import type { OwnMachine } from "../machines/own-machine.ts";
import type { SilentSince } from "../machines/silences.ts";
import type { Logs } from "../ports/logs/logs.ts";
import type { Signals } from "../ports/signals/signals.ts";
import type { Store } from "../ports/store/store.ts";
import type { KeptPodInstance, PodInstance } from "../resources/pods/instance.ts";
import { podLog } from "../resources/pods/model.ts";
import type { PodPlacer } from "../resources/pods/placer.ts";
import type { PodItem } from "../resources/pods/records.ts";
import type { PodRemains } from "../resources/pods/remains.ts";
import type { PodService } from "../resources/pods/service.ts";
import type { PortVisits } from "../resources/pods/visits.ts";
import type { Yielding } from "../resources/pods/yielding.ts";
import type { PodBooterParts } from "./booter.ts";
import { Clearing } from "./clearing.ts";
import { Draining, type DrainingParts } from "./draining.ts";
import { PodFigures } from "./figures.ts";
import { IdleStop } from "./idle.ts";
import { PodKeeper } from "./keeper.ts";
import { Timers } from "./timers.ts";
import { Unheard } from "./unheard.ts";

export interface PodsParts
  extends Pick<
    PodBooterParts,
    "podRecords" | "podKeys" | "reveal" | "accessTo" | "ensureVolume" | "sshKeysOf" | "random" | "clusters"
  > {
  store: Store;
  logs: Logs;
  signals: Signals;
  clock: Clock;
  log: Log;
  failed: Failed;
  machines: readonly OwnMachine[];
  pods: PodService;
  podRemains: PodRemains;
  drains: DrainingParts["drains"];
  placer: PodPlacer;
  yielding: Yielding;
  portVisits: PortVisits;
  portUsedAt?: (pod: string) => number | undefined;
  /** No other process keeps Pods. */
  alone: boolean;
  /** When a process before this one last said that its machines were there. */
  seenBefore: () => number | undefined;
  silentSince: SilentSince;
  /** Of many nodes one finds places. */
  mine?: (now: number) => Promise<boolean>;
}

interface Crew {
  keeper: PodKeeper;
  podLog: InstanceLog<KeptPodInstance>;
  clearing: Clearing;
}

const TICK_MS = 1000;
const PLAN = "plan Pods";
const COMPARE_MS = 10_000;
/** Another node may have to act. */
const WORK = "pods:work" as const;

export class Pods implements AsyncDisposable {
  readonly #parts: PodsParts;
  readonly #crews: ReadonlyMap<string, Crew>;
  readonly #timers: Timers;
  readonly #idle: IdleStop;
  readonly #unheard: Unheard;
  readonly #draining: Draining;
  /** What their programs use. */
  readonly figures: PodFigures;
  readonly #stopListening: () => void;
  readonly #turns = new OneAtATime();
  #ticking: Duty | undefined;
  #comparedAt = Number.NEGATIVE_INFINITY;
  #isClearingDue = false;
  #isClosed = false;

  constructor(parts: PodsParts) {
    this.#parts = parts;
    this.#crews = new Map(parts.machines.map((machine) => [machine.id, this.#crewOf(machine)]));
    this.#timers = new Timers(parts);
    this.#unheard = new Unheard(parts);
    this.#draining = new Draining(parts);
    this.figures = new PodFigures(parts);
    this.#idle = new IdleStop({ ...parts, figures: this.figures, isHere: (machine) => this.#crews.has(machine) });
    this.#stopListening = parts.signals.listen(WORK, () => this.#soon());
    parts.pods.onChange((instance) => this.#act(instance));
  }

  /** What was left is taken up again, and what is to run is started. */
  start(): void {
    const { clock, failed } = this.#parts;
    this.#ticking = every(
      clock,
      { name: PLAN, everyMs: TICK_MS },
      (now) => this.#turns.run(() => this.#tick(now)),
      failed,
    );
    this.#soon();
  }

  /** What is being done for an instance of this node that does not run yet. */
  progressOf(instance: string): string | undefined {
    for (const { keeper } of this.#crews.values()) {
      const line = keeper.progressOf(instance);
      if (line !== undefined) return line;
    }
    return undefined;
  }

  /** Ends Pods that give way, where that makes room for something else. */
  makeRoom(need: Need, whom: string): Promise<unknown> {
    return this.#parts.yielding.makeRoom(need, whom);
  }

  /** Nothing new is begun. What runs goes on without the server. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopListening();
    await this.#ticking?.[Symbol.asyncDispose]();
    await this.#turns.over;
    let left = 0;
    for (const { keeper, podLog } of this.#crews.values()) {
      await keeper.close().catch(named(this.#parts.failed, "close Pods"));
      await podLog[Symbol.asyncDispose]();
      left += (await keeper.own()).size;
    }
    if (left > 0) this.#parts.log.info({ pods: left }, "Pods go on running without the server");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #crewOf({ id, ...machine }: OwnMachine): Crew {
    const { compute } = machine;
    const parts = this.#parts;
    const streamOf = ({ doc }: PodInstance) => podLog(doc.owner);
    const bootOf = ({ id: instance, doc }: PodInstance) => `${instance}.${doc.boots}`;
    const lines = new InstanceLog<KeptPodInstance>({ ...parts, compute, streamOf, bootOf });
    const images = new Images({ ...parts, compute });
    const left = () => this.#lookAgain();
    const keeper = new PodKeeper({ ...parts, ...machine, machine: id, images, podLog: lines, left });
    return { keeper, podLog: lines, clearing: new Clearing({ ...parts, machine: id, compute }) };
  }

  async #tick(now: number): Promise<void> {
    await this.#compare();
    // Known on every node, whether or not it runs any: a Pod is shown by what there may be of it on a machine that is silent.
    await this.#parts.podRecords.allInstances();
    // After what has ended meanwhile was found: that is not metered again.
    for (const machine of this.#crews.keys()) await this.#unheard.heardAgain(machine);
    for (const { keeper } of this.#crews.values()) await keeper.tick();
    if (await this.figures.measure()) await this.#idle.look();
    if (this.#parts.mine && !(await this.#parts.mine(now))) return;
    await this.#unheard.note();
    await this.#draining.look();
    await this.#timers.act(now);
    await this.#placeWaiting();
  }

  async #compare(): Promise<void> {
    const now = this.#parts.clock.monotonic();
    const isDue = now - this.#comparedAt >= COMPARE_MS;
    const isClearingDue = isDue || this.#isClearingDue;
    this.#isClearingDue = false;
    for (const { keeper, clearing } of this.#crews.values()) {
      if (isDue) await keeper.compare();
      if (isClearingDue) await clearing.clear();
    }
    if (isDue) this.#comparedAt = now;
  }

  /** The first that came is the first that gets room. */
  async #placeWaiting(): Promise<void> {
    const waiting: PodItem[] = [];
    for await (const pod of this.#parts.podRecords.pods.all({ key: { name: "status", value: "PROVISIONING" } }))
      if (pod.doc.instance === null) waiting.push(pod);
    for (const pod of waiting.toSorted((a, b) => a.doc.lastStatusChange - b.doc.lastStatusChange))
      await this.#place(pod);
  }

  async #place(pod: PodItem): Promise<void> {
    const placed = await this.#parts.placer.place(pod);
    if (!placed) return;
    if (!("reason" in placed)) return this.#act(placed);
    const { reason } = placed;
    if (reason === pod.doc.reason) return;
    await this.#parts.podRecords.change(pod.id, ({ doc }) =>
      doc.status === "PROVISIONING" && doc.instance === null ? { set: { reason } } : undefined,
    );
  }

  #act(instance: PodInstance | undefined): void {
    const crew = this.#crews.get(instance?.doc.machine ?? "");
    if (this.#isClosed) return;
    if (instance && crew) floating(crew.keeper.tend(instance.id), named(this.#parts.failed, "tend Pods"));
    else if (instance) this.#parts.signals.emit(WORK);
    else this.#lookAgain();
  }

  /** Something ended: there may be room for others, and something left of it. */
  #lookAgain(): void {
    this.#isClearingDue = true;
    this.#soon();
  }

  #soon(): void {
    if (this.#ticking && !this.#isClosed) floating(this.#ticking.soon(), named(this.#parts.failed, PLAN));
  }
}
