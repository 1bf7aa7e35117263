/** Gathers all metrics for one scrape. Scrapes at the same time share the work, and a database that is away only costs its own figures. */
import type { Clock } from "../../kernel/clock.ts";
import { EventLoopWatch } from "../../kernel/event-loop.ts";
import { type Failed, named } from "../../kernel/failed.ts";
import { within } from "../../kernel/wait.ts";
import type { DiskRoom } from "../../ports/disk.ts";
import type { Figures, InstallationFigures } from "../../resources/installation/figures.ts";
import { installationSamples } from "./installation-samples.ts";
import { type NodeParts, nodeSamples } from "./node-samples.ts";
import { processFigures } from "./process-figures.ts";
import { metricsText } from "./text.ts";

export interface MetricsParts extends Omit<NodeParts, "loop" | "startedAt"> {
  figures: Pick<Figures, "read">;
  clock: Clock;
  /** How many endpoints get series of their own. */
  endpoints: number;
  diskRoom?: (() => Promise<DiskRoom>) | undefined;
  failed: Failed;
}

/** Whoever asks more often gets the last text again. */
const LEAST_MS = 1000;
/** Prometheus gives up after 10 s. Until then it gets what can be had without the database. */
const MOST_READING_MS = 5000;

export class Metrics implements Disposable {
  readonly #parts: MetricsParts;
  readonly #loop = new EventLoopWatch();
  readonly #startedAt: number;
  #gathered: { atMs: number; text: Promise<string> } | undefined;
  /** Only one reading is under way, also when the database answers none. */
  #reading: Promise<InstallationFigures | undefined> | undefined;

  constructor(parts: MetricsParts) {
    this.#parts = parts;
    // Read once: each reading of two clocks gives another fraction, and another second after one of them was set.
    this.#startedAt = parts.clock.now() - Math.round(process.uptime() * 1000);
  }

  text(): Promise<string> {
    const nowMs = this.#parts.clock.monotonic();
    if (!this.#gathered || nowMs - this.#gathered.atMs >= LEAST_MS)
      this.#gathered = { atMs: nowMs, text: this.#gather() };
    return this.#gathered.text;
  }

  [Symbol.dispose](): void {
    this.#loop[Symbol.dispose]();
  }

  async #gather(): Promise<string> {
    const { diskRoom } = this.#parts;
    const [process, disk, figures] = await Promise.all([
      processFigures(),
      diskRoom?.().catch(() => undefined),
      this.#figures(),
    ]);
    return metricsText({
      ...nodeSamples({ ...this.#parts, loop: this.#loop, startedAt: this.#startedAt }, { process, disk }),
      millrace_installation_read: [[{}, figures ? 1 : 0]],
      ...(figures && installationSamples(figures)),
    });
  }

  async #figures(): Promise<InstallationFigures | undefined> {
    const { figures, endpoints, clock, failed } = this.#parts;
    let found: InstallationFigures | undefined;
    this.#reading ??= figures
      .read(endpoints)
      .catch(named(failed, "read the figures of the installation"))
      .then((read) => read ?? undefined)
      .finally(() => {
        this.#reading = undefined;
      });
    await within(
      clock,
      MOST_READING_MS,
      this.#reading.then((read) => {
        found = read;
      }),
    );
    return found;
  }
}
