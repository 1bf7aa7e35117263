/** How busy the GPUs of this machine are, according to NVIDIA's tool, which runs at most once every few seconds. */
import type { Clock } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import type { Gpu } from "../../ports/compute/compute.ts";
import type { GpuStats } from "../../ports/compute/stats.ts";
import { runTool } from "./forker.ts";
import { find } from "./tools.ts";

const QUERY = ["--query-gpu=uuid,utilization.gpu,memory.used,memory.total", "--format=csv,noheader,nounits"];
/** Values are kept this long, since the tool takes a fraction of a second. */
const AS_OLD_AS_MS = 5_000;
const MIB = 1_048_576;

type Measured = Omit<GpuStats, "id" | "virtual">;

/** Parses lines such as `GPU-5a…, 37, 1024, 144384`. A GPU reports values that it does not know as `[N/A]`. */
function parseMeasured(text: string): Map<string, Measured> {
  return new Map(
    text.split("\n").flatMap((line) => {
      const [id, busy, used, total] = line.split(",").map((part) => part.trim());
      if (!id) return [];
      const [percent, memory, most] = [busy, used, total].map((part) => Number.parseFloat(part ?? ""));
      return [
        [
          id,
          {
            ...(Number.isFinite(percent) && { utilisationPercent: percent! }),
            ...(Number.isFinite(memory) && { memoryBytes: memory! * MIB }),
            ...(Number.isFinite(most) && { memoryTotalBytes: most! * MIB }),
          },
        ] as const,
      ];
    }),
  );
}

async function askTool(): Promise<string> {
  const tool = await find("nvidia-smi");
  return tool ? runTool(tool, QUERY) : "";
}

export class GpuMeter {
  readonly #clock: Clock;
  readonly #ask: () => Promise<string>;
  #measured = new Map<string, Measured>();
  #measuredMs = Number.NEGATIVE_INFINITY;
  #measuring: Promise<void> | undefined;

  constructor(clock: Clock, ask: () => Promise<string> = askTool) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** Virtual GPUs are not measured. */
  async of(gpus: readonly Gpu[]): Promise<GpuStats[]> {
    if (gpus.some(({ virtual }) => !virtual)) await this.#measure();
    return gpus.map(({ id, virtual }) => ({ id, virtual, ...(!virtual && this.#measured.get(id)) }));
  }

  /** Callers wait only for the first measurement. */
  async #measure(): Promise<void> {
    if (this.#clock.monotonic() - this.#measuredMs < AS_OLD_AS_MS) return;
    const isFirst = this.#measuredMs === Number.NEGATIVE_INFINITY;
    this.#measuring ??= this.#read().finally(() => {
      this.#measuring = undefined;
    });
    // A tool that fails now may work again later. Until then its values are absent, since the old ones are no longer true.
    if (isFirst) await this.#measuring;
    else floating(this.#measuring, () => {});
  }

  async #read(): Promise<void> {
    this.#measured = await this.#ask().then(parseMeasured, () => new Map());
    this.#measuredMs = this.#clock.monotonic();
  }
}
