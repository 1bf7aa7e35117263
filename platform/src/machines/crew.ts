/** The crew looks after one machine of this node: keeper, images, log and starter, which all trades share, and a hand of each trade. */

import type { Clock } from "../kernel/clock.ts";
import type { Failed } from "../kernel/failed.ts";
import type { Log } from "../kernel/log.ts";
import type { Reason } from "../kernel/reason.ts";
import type { InstanceKind } from "../ports/compute/compute.ts";
import type { Logs } from "../ports/logs/logs.ts";
import type { Store } from "../ports/store/store.ts";
import { Images } from "./images.ts";
import { InstanceLog } from "./instance-log.ts";
import type { InstanceItem, KeptInstance } from "./instances.ts";
import { type Hand, Keeper } from "./keeper.ts";
import type { OwnMachine } from "./own-machine.ts";
import { Starter, type StarterParts } from "./starter.ts";

/** The tools of a hand on its machine. */
export interface Tools<T extends KeptInstance = KeptInstance> {
  machine: OwnMachine;
  starter: Starter;
  lines: InstanceLog<T>;
  keeper: Keeper;
}

/** A purpose for which the platform runs instances. Each kind of instance is one trade. */
export interface Trade<T extends KeptInstance = KeptInstance> {
  readonly kind: InstanceKind;
  /** The log stream that stores an instance's lines. */
  streamOf(item: InstanceItem<T>): string;
  /** Names the boot that an instance's output belongs to, where a stream outlives its instances. Consists of words and dashes. */
  bootOf?(item: InstanceItem<T>): string;
  /** Makes the hand that works on a machine. It is called once for each machine. */
  handOn(tools: Tools<T>): Hand<T>;
  /** Handles what becomes due by time alone for its instances on this node's machines. */
  tick(now: number): Promise<void>;
}

export interface CrewParts extends Pick<StarterParts, "ensureVolume" | "instruments"> {
  store: Store;
  logs: Logs;
  clock: Clock;
  log: Log;
  failed: Failed;
  trades: readonly Trade[];
  /** Whether this node holds a machine that other nodes may name as well. */
  isHeld: (machine: string) => boolean;
  /** When an earlier process last reported its machine, or undefined if none did. */
  seenBefore: () => number | undefined;
}

export class Crew implements AsyncDisposable {
  readonly keeper: Keeper;
  readonly #starter: Starter;
  readonly #lines: InstanceLog;

  constructor(machine: OwnMachine, parts: CrewParts) {
    const { compute } = machine;
    const trades = new Map(parts.trades.map((trade) => [trade.kind, trade]));
    const tradeOf = ({ doc }: InstanceItem) => trades.get(doc.kind)!;
    this.#lines = new InstanceLog({
      ...{ ...parts, compute },
      streamOf: (item) => tradeOf(item).streamOf(item),
      bootOf: (item) => tradeOf(item).bootOf?.(item),
    });
    this.#starter = new Starter({ ...parts, compute, images: new Images({ ...parts, compute }) });
    const tools = { machine, starter: this.#starter, lines: this.#lines };
    const hire = (keeper: Keeper) => parts.trades.map((trade) => trade.handOn({ ...tools, keeper }));
    this.keeper = new Keeper({ ...parts, compute, hire, isHeld: () => parts.isHeld(machine.id) });
  }

  /** The progress of the image that an instance waits for. */
  progressOf(instance: string): Reason | undefined {
    return this.#starter.progressOf(instance);
  }

  /** Begins nothing new. Each trade ends the instances that end with the server. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.keeper.close();
    await this.#lines[Symbol.asyncDispose]();
  }
}
