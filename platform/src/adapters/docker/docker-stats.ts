/** What a container uses, as the engine reports it without delay. */
import { type Clock, parseTimestamp } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import type { Gpu } from "../../ports/compute/compute.ts";
import type { Stats } from "../../ports/compute/stats.ts";
import { GpuMeter } from "../machine/gpu-meter.ts";
import { gpusOf, type Labels } from "./container.ts";
import { type EngineApi, EngineRefused, isNotFound } from "./engine-api.ts";

/** The fields of the engine's answer that the driver reads. */
interface Told {
  /** A time in the year 1 when the container does not run. */
  read: string;
  cpu_stats?: { cpu_usage?: { total_usage?: number } };
  memory_stats?: { usage?: number; limit?: number; stats?: Record<string, number> };
}

/** A measured disk size is kept this long: to measure it, the engine walks through all files that a container wrote. */
const DISK_AS_OLD_AS_MS = 60_000;

interface Kept {
  gpus: readonly Gpu[];
  diskBytes?: number;
  diskLookedMs: number;
}

export class DockerStats {
  readonly #gpus: readonly Gpu[];
  readonly #meter: GpuMeter;
  readonly #clock: Clock;
  /** The key is the container's own id. */
  readonly #kept = new Map<string, Kept>();

  /** `gpus` are the GPUs of the machine. */
  constructor(gpus: readonly Gpu[], clock: Clock) {
    this.#gpus = gpus;
    this.#clock = clock;
    this.#meter = new GpuMeter(clock);
  }

  async of(api: EngineApi, container: string): Promise<Stats | undefined> {
    const kept = this.#kept.get(container) ?? (await this.#look(api, container));
    const told = await this.#ask(api, container);
    if (!kept || !told) {
      this.#kept.delete(container);
      return undefined;
    }
    this.#measureDisk(api, container, kept);
    const { usage, limit, stats = {} } = told.memory_stats ?? {};
    const cpu = told.cpu_stats?.cpu_usage?.total_usage;
    const droppable = stats.total_inactive_file ?? stats.inactive_file ?? 0;
    return {
      at: this.#clock.now(),
      ...(cpu !== undefined && { cpuMs: Math.floor(cpu / 1e6) }),
      ...(usage !== undefined && { memoryBytes: Math.max(0, usage - droppable) }),
      ...(limit !== undefined && { memoryLimitBytes: limit }),
      ...(kept.diskBytes !== undefined && { diskBytes: kept.diskBytes }),
      gpus: await this.#meter.of(kept.gpus),
    };
  }

  /** `one-shot` skips the second that the engine would otherwise wait to compute a percentage. */
  async #ask(api: EngineApi, container: string): Promise<Told | undefined> {
    const query = { stream: false, "one-shot": true };
    const told = await known(api.call<Told>("GET", `/containers/${container}/stats`, { query }));
    return told && (parseTimestamp(told.read) ?? 0) > 0 ? told : undefined;
  }

  async #look(api: EngineApi, container: string): Promise<Kept | undefined> {
    const found = await known(api.call<{ Config: { Labels: Labels | null } }>("GET", `/containers/${container}/json`));
    if (!found) return undefined;
    const ids = gpusOf(found.Config.Labels ?? {});
    const kept = { gpus: this.#gpus.filter(({ id }) => ids.includes(id)), diskLookedMs: Number.NEGATIVE_INFINITY };
    this.#kept.set(container, kept);
    return kept;
  }

  /** Measures in the background; no caller waits for it. */
  #measureDisk(api: EngineApi, container: string, kept: Kept): void {
    const now = this.#clock.monotonic();
    if (now - kept.diskLookedMs < DISK_AS_OLD_AS_MS) return;
    kept.diskLookedMs = now;
    const counting = { query: { size: true }, answerMs: undefined };
    const asked = api.call<{ SizeRw?: number }>("GET", `/containers/${container}/json`, counting);
    const learn = ({ SizeRw }: { SizeRw?: number }) => {
      if (SizeRw !== undefined) kept.diskBytes = SizeRw;
    };
    floating(asked.then(learn), () => {});
  }
}

/** Undefined when the container is gone. */
async function known<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isNotFound(error) || (error instanceof EngineRefused && error.status === 409)) return undefined;
    throw error;
  }
}
