/** Warm-ups of the fleet's workers: who needs one and how it ended, kept on the worker's record for every node to see. */
import { workerOf } from "../../../jobs/holder.ts";
import type { Report } from "../../../jobs/report.ts";
import type { WarmUps } from "../../../jobs/warm-up.ts";
import type { WorkerCall } from "../../../jobs/worker-events.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { because, type Reason } from "../../../kernel/reason.ts";
import type { Payload } from "../../../ports/queue/job.ts";
import type { Item } from "../../../ports/store/collection.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import type { WarmUp } from "../model.ts";
import type { WorkerItem, WorkerRecords } from "../records.ts";

export interface WarmUpParts {
  records: WorkerRecords;
  clock: Clock;
  endpoint: (id: string) => Promise<Item<KeptEndpoint> | undefined>;
  /** Called after a write that the worker's machine has to act on. */
  act: (worker: WorkerItem) => void;
}

/** A little more than two pings. A ping cannot include a job that the worker was only just given. */
const MISSED_AFTER_MS = 20_000;
const SHOWN_OF_RESULT = 600;
/** How often a write is retried when others change the record first. */
const TRIES = 4;

export class FleetWarmUps implements WarmUps {
  readonly #parts: WarmUpParts;

  constructor(parts: WarmUpParts) {
    this.#parts = parts;
  }

  /** Whether the worker has to be warmed up before it counts as ready. */
  async isDue({ doc }: WorkerItem): Promise<boolean> {
    return doc.warmUp?.ended === undefined && (await this.#given(doc.owner)) !== undefined;
  }

  /** Why a boot is given up because of its warm-up. */
  async overdue({ doc }: WorkerItem, now: number): Promise<Reason | undefined> {
    if (doc.state !== "STARTING" || !doc.warmUp || doc.warmUp.ended) return undefined;
    const endpoint = await this.#parts.endpoint(doc.owner);
    const limitMs = endpoint?.doc.workers.warmup?.timeout ?? endpoint?.doc.timeout;
    if (limitMs === undefined || now - doc.warmUp.since < limitMs) return undefined;
    return because("warm-up-too-slow", { seconds: limitMs / 1000 });
  }

  /** If somebody else changed the record first, the worker's next request tries again. */
  async begin(call: WorkerCall): Promise<string | "wait" | undefined> {
    const worker = await this.#find(call);
    if (!worker || !isNew(worker)) return undefined;
    const given = await this.#given(call.endpoint);
    if (!given) return undefined;
    const { state, warmUp } = worker.doc;
    if (state !== "STARTING" || (warmUp && !warmUp.isLost)) return "wait";
    const givenAt = this.#parts.clock.now();
    const begun = await this.#parts.records.update(worker, { warmUp: { since: warmUp?.since ?? givenAt, givenAt } });
    return begun ? JSON.stringify({ input: given.input }) : "wait";
  }

  async lose(call: WorkerCall, isSure: boolean): Promise<void> {
    const now = this.#parts.clock.now();
    await this.#write(call, (warmUp) => {
      const isMissed = warmUp && (isSure || now - warmUp.givenAt >= MISSED_AFTER_MS);
      return isMissed ? { ...warmUp, isLost: true } : undefined;
    });
  }

  /** Also works for a warm-up that a previous server began, or that is not known to have begun. */
  async end(call: WorkerCall, report: Extract<Report, { kind: "end" }>): Promise<void> {
    const at = this.#parts.clock.now();
    const ended = { at, failed: report.failed, said: shortened(report.error ?? report.result) };
    await this.#write(call, (warmUp) => ({ since: at, givenAt: at, ...warmUp, ended }));
  }

  async #write(call: WorkerCall, next: (warmUp: WarmUp | undefined) => WarmUp | undefined): Promise<void> {
    for (let tries = 0; tries < TRIES; tries++) {
      const worker = await this.#find(call);
      const isOpen = worker?.doc.state === "STARTING" && !worker.doc.warmUp?.ended;
      const warmUp = isOpen ? next(worker.doc.warmUp) : undefined;
      if (!worker || !warmUp) return;
      const written = await this.#parts.records.update(worker, { warmUp });
      if (written) return this.#parts.act(written);
    }
  }

  async #given(endpoint: string) {
    const found = await this.#parts.endpoint(endpoint);
    return (found?.doc.type === "QUEUE" && found.doc.workers.warmup) || undefined;
  }

  async #find({ endpoint, worker }: WorkerCall): Promise<WorkerItem | undefined> {
    return (await this.#parts.records.ofEndpoint(endpoint)).find(({ id }) => id === workerOf(worker));
  }
}

const shortened = (result: Payload) =>
  typeof result === "string"
    ? result.slice(0, SHOWN_OF_RESULT)
    : Buffer.from(result).toString("utf8", 0, SHOWN_OF_RESULT);

const isNew = ({ doc }: WorkerItem) => doc.state === "PLACED" || doc.state === "STARTING";
