/** Measures what the programs of Pods and workers use on each machine every few seconds, and shares it with the other nodes. */
import { eachOf } from "../../../kernel/bounded.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { Kept } from "../../../kernel/document.ts";
import type { InstanceRecords } from "../../../machines/instance-records.ts";
import type { InstanceItem } from "../../../machines/instances.ts";
import { EVERYONE } from "../../../machines/nodes.ts";
import type { OwnMachine } from "../../../machines/own-machine.ts";
import type { Stats } from "../../../ports/compute/stats.ts";
import { Collection } from "../../../ports/store/collection.ts";
import type { Store } from "../../../ports/store/store.ts";
import type { Figures } from "../view.ts";

type Measured = { figures: Record<string, Figures> };

/** There is one record for each machine. */
const podFigures: Kept<Measured> = { kind: "pod-figures", v: 1 };

export interface FiguresParts {
  store: Store;
  clock: Clock;
  instanceRecords: InstanceRecords;
  machines: readonly OwnMachine[];
  /** True if no other node shows Pods. */
  alone: boolean;
}

interface Sample {
  stats: Stats;
  figures: Figures;
  /** When the instance was last seen to use a processor or a GPU. */
  usedAt: number;
}

const EVERY_MS = 5000;
/** Workers are measured in every third look only: there may be many of them, and only charts show the result. */
const LOOKS_PER_WORKER = 3;
/** States of a worker whose program runs. */
const WORKING: readonly string[] = ["READY", "DRAINING"];
const AT_ONCE = 16;
/** The share of one processor that a waiting program may use and still count as idle. */
const IDLE_SHARE = 0.02;

export class PodFigures {
  readonly #parts: FiguresParts;
  readonly #collection: Collection<Measured>;
  #samples = new Map<string, Sample>();
  #elsewhere = new Map<string, Figures>();
  #measuredAt = Number.NEGATIVE_INFINITY;
  #looks = 0;

  constructor(parts: FiguresParts) {
    this.#parts = parts;
    this.#collection = new Collection(parts.store, podFigures);
  }

  of(instance: string): Figures | undefined {
    return this.#samples.get(instance)?.figures ?? this.#elsewhere.get(instance);
  }

  /** When an instance of this node was last seen to use a processor or a GPU. Undefined if it was not measured yet. */
  usedAt(instance: string): number | undefined {
    return this.#samples.get(instance)?.usedAt;
  }

  /** Measures every few seconds. Returns true if it measured now. */
  async measure(): Promise<boolean> {
    const { clock, machines, alone } = this.#parts;
    if (clock.monotonic() - this.#measuredAt < EVERY_MS) return false;
    this.#measuredAt = clock.monotonic();
    const samples = new Map<string, Sample>();
    const isWorkersTurn = this.#looks++ % LOOKS_PER_WORKER === 0;
    for (const machine of machines) await this.#measureOn(machine, samples, isWorkersTurn);
    this.#samples = samples;
    if (!alone) await this.#exchange();
    return true;
  }

  async #measureOn({ id, compute }: OwnMachine, samples: Map<string, Sample>, isWorkersTurn: boolean): Promise<void> {
    const metering = compute.stats;
    if (!metering) return;
    const there = (await this.#parts.instanceRecords.all()).filter(({ doc }) => doc.machine === id);
    const looked = there.filter(({ doc }) => doc.state === "RUNNING" || (isWorkersTurn && WORKING.includes(doc.state)));
    // Between two measurements of a worker, the last one counts.
    for (const { id, doc } of isWorkersTurn ? [] : there) {
      const before = this.#samples.get(id);
      if (before && WORKING.includes(doc.state)) samples.set(id, before);
    }
    await eachOf(looked, AT_ONCE, async (instance) => {
      const stats = await metering.of(instance.id);
      if (stats) samples.set(instance.id, this.#sampleOf(instance, stats));
    });
  }

  #sampleOf({ id, doc }: InstanceItem, stats: Stats): Sample {
    const before = this.#samples.get(id);
    const share = before ? processorShare(before.stats, stats) : 0;
    const figures = { cpu: percent(share, doc.vcpu), memory: memoryPercent(stats, doc.memoryMb), gpus: gpusOf(stats) };
    const isUsed = !before || share > IDLE_SHARE || figures.gpus.some(({ util }) => util > 0);
    return { stats, figures, usedAt: isUsed ? stats.at : before.usedAt };
  }

  /** Each node writes the figures of its own machines, and reads those of the others. */
  async #exchange(): Promise<void> {
    const { machines, instanceRecords, clock } = this.#parts;
    const elsewhere = new Map<string, Figures>();
    for await (const { doc } of this.#collection.all())
      for (const [instance, figures] of Object.entries(doc.figures)) elsewhere.set(instance, figures);
    this.#elsewhere = elsewhere;
    for (const { id } of machines) {
      const there = (await instanceRecords.all()).filter(({ doc }) => doc.machine === id);
      const own = there.flatMap((instance) => {
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

/** The share of one processor that the program used between two measurements. */
function processorShare(before: Stats, after: Stats): number {
  const passedMs = after.at - before.at;
  if (passedMs <= 0 || before.cpuMs === undefined || after.cpuMs === undefined) return 0;
  return Math.max(0, after.cpuMs - before.cpuMs) / passedMs;
}

const percent = (part: number, whole: number): number => Math.round(Math.min(1, whole > 0 ? part / whole : 0) * 100);

const MB = 1024 * 1024;

const memoryPercent = ({ memoryBytes = 0, memoryLimitBytes }: Stats, memoryMb: number): number =>
  percent(memoryBytes, memoryLimitBytes ?? memoryMb * MB);

/** The GPUs whose utilisation is known. */
const gpusOf = ({ gpus }: Stats): Figures["gpus"] =>
  gpus
    .filter(({ utilisationPercent }) => utilisationPercent !== undefined)
    .map(({ utilisationPercent, memoryBytes = 0, memoryTotalBytes = 0 }) => ({
      util: Math.round(utilisationPercent!),
      memoryUtil: percent(memoryBytes, memoryTotalBytes),
    }));
