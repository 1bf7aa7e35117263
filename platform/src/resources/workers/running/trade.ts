/** The trade of workers: what is done with workers on the machines of this node. */

import type { Reason } from "../../../kernel/reason.ts";
import type { Tools, Trade } from "../../../machines/crew.ts";
import type { HolderState, Queue } from "../../../ports/queue/queue.ts";
import { type KeptWorker, workerLog } from "../model.ts";
import type { WorkerItem } from "../records.ts";
import { WorkerHand } from "./hand.ts";
import type { WorkerHandParts } from "./hand-parts.ts";

export interface WorkerTradeParts extends Omit<WorkerHandParts, keyof OfMachine> {
  queue: Queue;
}

/** The parts that a hand gets from its machine. */
type OfMachine = Pick<
  WorkerHandParts,
  "machine" | "keeper" | "starter" | "workerLog" | "compute" | "workerUrl" | "site" | "runs" | "bootedAt" | "refusal"
>;

export class WorkerTrade implements Trade<KeptWorker> {
  readonly kind = "worker";
  readonly #parts: WorkerTradeParts;
  readonly #hands = new Map<string, WorkerHand>();
  readonly #keepers = new Map<string, Tools["keeper"]>();

  constructor(parts: WorkerTradeParts) {
    this.#parts = parts;
  }

  streamOf({ id, doc }: WorkerItem): string {
    return workerLog(doc.owner, id);
  }

  handOn({ machine: { id, ...machine }, lines, starter, keeper }: Tools<KeptWorker>): WorkerHand {
    const hand = new WorkerHand({ ...this.#parts, ...machine, machine: id, workerLog: lines, starter, keeper });
    this.#hands.set(id, hand);
    this.#keepers.set(id, keeper);
    return hand;
  }

  async tick(now: number): Promise<void> {
    if (this.#hands.size === 0) return;
    let heard: Promise<ReadonlyMap<string, HolderState>> | undefined;
    const listen = () => {
      heard ??= this.#heard();
      return heard;
    };
    for (const hand of this.#hands.values()) await hand.tick(now, listen);
  }

  /** The workers that were heard of lately, by the names under which they hold jobs. */
  async #heard(): Promise<ReadonlyMap<string, HolderState>> {
    const holders = await this.#parts.queue.holders(undefined);
    return new Map(holders.map((one) => [one.holder, one]));
  }

  /** The worker asked for work for the first time since its start or its thaw. */
  async answered(worker: string): Promise<void> {
    await Promise.all([...this.#hands.values()].map((hand) => hand.answered(worker)));
  }

  async giveUp(worker: string, reason: Reason): Promise<void> {
    await Promise.all([...this.#hands.values()].map((hand) => hand.giveUp(worker, reason)));
  }

  /** Thaws a worker before that is recorded. Returns false if another node holds the worker's machine, even if this node names it too. */
  async thaw({ id, doc: { machine } }: WorkerItem): Promise<boolean> {
    if (machine === null || !this.#keepers.get(machine)?.isHeld) return false;
    await this.#hands.get(machine)!.thaw(id);
    return true;
  }

  /** Ends everything of a deleted endpoint that runs on this node, at once. */
  async endAll(endpoint: string): Promise<void> {
    await Promise.all([...this.#hands.values()].map((hand) => hand.endAll(endpoint)));
  }
}
