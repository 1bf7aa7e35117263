/** The trade of Pods: what is done with Pods on the machines of this node. */

import type { Bell } from "../../../kernel/bell.ts";
import { named } from "../../../kernel/failed.ts";
import { floating } from "../../../kernel/floating.ts";
import type { Tools, Trade } from "../../../machines/crew.ts";
import type { OwnMachine } from "../../../machines/own-machine.ts";
import type { KeptPodInstance, PodInstance } from "../instance.ts";
import { podLog } from "../model.ts";
import type { PodFigures } from "./figures.ts";
import { PodHand, type PodHandParts } from "./hand.ts";
import { type IdleParts, IdleStop } from "./idle.ts";
import { Unheard, type UnheardParts } from "./unheard.ts";

/** The parts that a hand gets from its machine. */
type OfMachine = keyof OwnMachine | "machine" | "keeper" | "starter" | "podLog" | "left";

export interface PodTradeParts
  extends Omit<PodHandParts, OfMachine>,
    Pick<UnheardParts, "silentSince">,
    Omit<IdleParts, "isHere"> {
  figures: PodFigures;
  /** Rings when a Pod is gone or left its place. There may be room for others, and something left of it. */
  freed: Bell;
}

/** How often to look for remains that no signal reported. */
const CLEAR_MS = 10_000;

export class PodTrade implements Trade<KeptPodInstance> {
  readonly kind = "pod";
  readonly #parts: PodTradeParts;
  readonly #hands = new Map<string, PodHand>();
  readonly #unheard: Unheard;
  readonly #idle: IdleStop;
  #clearedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: PodTradeParts) {
    this.#parts = parts;
    this.#unheard = new Unheard(parts);
    this.#idle = new IdleStop({ ...parts, isHere: (machine) => this.#hands.has(machine) });
    parts.freed.hear(() => floating(this.#clear(), named(parts.failed, "clear what Pods left")));
  }

  streamOf({ doc }: PodInstance): string {
    return podLog(doc.owner);
  }

  bootOf({ id, doc }: PodInstance): string {
    return `${id}.${doc.boots}`;
  }

  handOn({ machine: { id, ...machine }, lines, starter, keeper }: Tools<KeptPodInstance>): PodHand {
    const left = () => this.#parts.freed.ring();
    const hand = new PodHand({ ...this.#parts, ...machine, machine: id, podLog: lines, starter, keeper, left });
    this.#hands.set(id, hand);
    return hand;
  }

  async tick(): Promise<void> {
    const nowMs = this.#parts.clock.monotonic();
    if (nowMs - this.#clearedAt >= CLEAR_MS) {
      this.#clearedAt = nowMs;
      // A driver that is away must not keep Pods from being started again.
      await this.#clear().catch(named(this.#parts.failed, "clear what Pods left"));
    }
    // This comes after finding what has ended meanwhile, so that it is not metered again.
    for (const [machine, hand] of this.#hands) if (hand.isHeld) await this.#unheard.heardAgain(machine);
    for (const hand of this.#hands.values()) await hand.tick();
    if (await this.#parts.figures.measure()) await this.#idle.look();
  }

  async #clear(): Promise<void> {
    for (const hand of this.#hands.values()) await hand.clear();
  }
}
