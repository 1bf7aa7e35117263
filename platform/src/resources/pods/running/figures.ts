/** What the programs of Pods use: measured on each machine every few seconds, and told to the other nodes. */
import { eachOf } from "../../../kernel/bounded.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { Kept } from "../../../kernel/document.ts";
import { EVERYONE } from "../../../machines/nodes.ts";
import type { OwnMachine } from "../../../machines/own-machine.ts";
import type { Stats } from "../../../ports/compute/stats.ts";
import { Collection } from "../../../ports/store/collection.ts";
import type { Store } from "../../../ports/store/store.ts";
import type { PodInstance } from "../instance.ts";
import type { PodRecords } from "../records.ts";
import type { Figures } from "../view.ts";

type Measured = { figures: Record<string, Figures> };

/** One record for each machine. */
const podFigures: Kept<Measured> = { kind: "pod-figures", v: 1 };

export interface FiguresParts {
  store: Store;
  clock: Clock;
  podRecords: PodRecords;
  machines: readonly OwnMachine[];
  /** No other node shows Pods. */
  alone: boolean;
}

interface Sample {
  stats: Stats;
  figures: Figures;
  /** When it was last seen to use a processor or a GPU. */
  usedAt: number;
}

const EVERY_MS = 5000;
const AT_ONCE = 16;
/** Of one processor: what a program that waits takes. */
const IDLE_SHARE = 0.02;

export class PodFigures {
  readonly #parts: FiguresParts;
  readonly #collection: Collection<Measured>;
  #samples = new Map<string, Sample>();
  #elsewhere = new Map<string, Figures>();
  #measuredAt = Number.NEGATIVE_INFINITY;

  constructor(parts: FiguresParts) {
    this.#parts = parts;
    this.#collection = new Collection(parts.store, podFigures);
  }

  of(instance: string): Figures | undefined {
    return this.#samples.get(instance)?.figures ?? this.#elsewhere.get(instance);
  }

  /** When an instance of this node was last seen to use a processor or a GPU; undefined for one that was not looked at yet. */
  usedAt(instance: string): number | undefined {
    return this.#samples.get(instance)?.usedAt;
  }

  /** True when it looked, which it does every few seconds. */
  async measure(): Promise<boolean> {
    const { clock, machines, alone } = this.#parts;
    if (clock.monotonic() - this.#measuredAt < EVERY_MS) return false;
    this.#measuredAt = clock.monotonic();
    const samples = new Map<string, Sample>();
    for (const machine of machines) await this.#measureOn(machine, samples);
    this.#samples = samples;
    if (!alone) await this.#exchange();
    return true;
  }

  async #measureOn({ id, compute }: OwnMachine, samples: Map<string, Sample>): Promise<void> {
    const metering = compute.stats;
    if (!metering) return;
    const running = (await this.#parts.podRecords.ofMachine(id)).filter(({ doc }) => doc.state === "RUNNING");
    await eachOf(running, AT_ONCE, async (instance) => {
      const stats = await metering.of(instance.id);
      if (stats) samples.set(instance.id, this.#sampleOf(instance, stats));
    });
  }

  #sampleOf({ id, doc }: PodInstance, stats: Stats): Sample {
    const before = this.#samples.get(id);
    const share = before ? processorShare(before.stats, stats) : 0;
    const figures = { cpu: percent(share, doc.vcpu), memory: memoryPercent(stats, doc.memoryMb), gpus: gpusOf(stats) };
    const isUsed = !before || share > IDLE_SHARE || figures.gpus.some(({ util }) => util > 0);
    return { stats, figures, usedAt: isUsed ? stats.at : before.usedAt };
  }

  /** Of its own machines each node tells the others, and of theirs it learns. */
  async #exchange(): Promise<void> {
    const { machines, podRecords, clock } = this.#parts;
    const elsewhere = new Map<string, Figures>();
    for await (const { doc } of this.#collection.all())
      for (const [instance, figures] of Object.entries(doc.figures)) elsewhere.set(instance, figures);
    this.#elsewhere = elsewhere;
    for (const { id } of machines) {
      const own = (await podRecords.ofMachine(id)).flatMap((instance) => {
        const figures = this.#samples.get(instance.id)?.figures;
        return figures ? [[instance.id, figures] as const] : [];
      });
      await this.#collection.put({
        id,
        account: EVERYONE,
        createdAt: clock.now(),
        doc: { figures: Object.fromEntries(own) },
      });
    }
  }
}

/** How much of one processor it took between two looks. */
function processorShare(before: Stats, after: Stats): number {
  const passedMs = after.at - before.at;
  if (passedMs <= 0 || before.cpuMs === undefined || after.cpuMs === undefined) return 0;
  return Math.max(0, after.cpuMs - before.cpuMs) / passedMs;
}

const percent = (part: number, whole: number): number => Math.round(Math.min(1, whole > 0 ? part / whole : 0) * 100);

const MB = 1024 * 1024;

const memoryPercent = ({ memoryBytes = 0, memoryLimitBytes }: Stats, memoryMb: number): number =>
  percent(memoryBytes, memoryLimitBytes ?? memoryMb * MB);

/** Those of which something is known. */
const gpusOf = ({ gpus }: Stats): Figures["gpus"] =>
  gpus
    .filter(({ utilisationPercent }) => utilisationPercent !== undefined)
    .map(({ utilisationPercent, memoryBytes = 0, memoryTotalBytes = 0 }) => ({
      util: Math.round(utilisationPercent!),
      memoryUtil: percent(memoryBytes, memoryTotalBytes),
    }));
