/** Pulls an image to the engine, and reports progress at a rate that people can read. */
import type { Clock } from "../../kernel/clock.ts";
import { megabytes } from "../../kernel/reasons/workers.ts";
import { StartRefused } from "../../ports/compute/compute.ts";
import { parseReference } from "../../ports/compute/image-reference.ts";
import type { Arrived, Bringing } from "../../ports/compute/images.ts";
import { type EngineApi, EngineAway, EngineRefused, linesIn } from "./engine-api.ts";
import { authHeaders, findImage, without } from "./image-lookup.ts";

/** One line of the engine's report. A line with an id concerns one layer. */
interface Report {
  id?: string;
  status?: string;
  progressDetail?: { current?: number; total?: number };
  error?: string;
}

const TELL_EVERY_MS = 2_000;
/** The states of a layer that has been downloaded completely. */
const LOADED = new Set(["Verifying Checksum", "Download complete", "Extracting", "Pull complete", "Already exists"]);

export interface Pull extends Bringing {
  image: string;
  clock: Clock;
}

/** Pulls by digest only. A pull by name would leave an image under that name which the operator did not put there. */
export async function bringImage(api: EngineApi, pull: Pull): Promise<void> {
  if (await findImage(api, pull.image)) return;
  if (parseReference(pull.image).digest === undefined)
    throw new StartRefused(`there is no image ${pull.image} on this machine`, { reason: "image-not-found" });
  await pullImage(api, pull);
}

export async function pullImage(api: EngineApi, pull: Pull): Promise<void> {
  const { image, progress, arrived, credential, clock } = pull;
  const startedAt = clock.monotonic();
  progress("asking the registry");
  try {
    const reports = await api.stream("POST", "/images/create", {
      query: { fromImage: image },
      headers: authHeaders(image, credential),
    });
    const layers = new Layers();
    let toldAt = startedAt;
    for await (const line of linesIn(reports)) {
      const report = JSON.parse(line) as Report;
      if (report.error !== undefined) throw new EngineRefused(500, report.error);
      layers.hear(report);
      arrived?.(layers.arrived());
      if (clock.monotonic() - toldAt < TELL_EVERY_MS) continue;
      toldAt = clock.monotonic();
      progress(layers.summary());
    }
  } catch (error) {
    if (!(error instanceof EngineRefused)) throw error;
    throw new StartRefused(`cannot pull ${image}: ${without(credential, error.message)}`, { reason: "pull-failed" });
  }
  // A connection that breaks looks like the end of the report.
  if (!(await findImage(api, image))) throw new EngineAway(`the pull of ${image} was broken off`);
  progress(`done in ${((clock.monotonic() - startedAt) / 1_000).toFixed(1)} s`);
}

/** The progress of each layer. */
class Layers {
  readonly #bytes = new Map<string, { current: number; total: number }>();
  readonly #seen = new Set<string>();
  readonly #done = new Set<string>();
  /** Layers that are downloaded completely. */
  readonly #loaded = new Set<string>();

  hear({ id, status = "", progressDetail: { current = 0, total = 0 } = {} }: Report): void {
    if (id === undefined || status.startsWith("Pulling from")) return;
    this.#seen.add(id);
    if (status === "Pull complete" || status === "Already exists") this.#done.add(id);
    if (status === "Downloading") this.#bytes.set(id, { current, total });
    if (LOADED.has(status)) this.#load(id);
  }

  /** The engine never reports the last bytes of a layer as a number. */
  #load(id: string): void {
    this.#loaded.add(id);
    const { total } = this.#bytes.get(id) ?? { total: 0 };
    this.#bytes.set(id, { current: total, total });
  }

  arrived(): Arrived {
    const sum = (part: "current" | "total") => [...this.#bytes.values()].reduce((all, one) => all + one[part], 0);
    const isAll = this.#seen.size > 0 && this.#loaded.size === this.#seen.size;
    return { bytes: sum("current"), total: sum("total"), isAll };
  }

  summary(): string {
    const { bytes, total } = this.arrived();
    return `${this.#done.size} of ${this.#seen.size} layers, ${megabytes(bytes)} of ${megabytes(total)}`;
  }
}
