/** Reads the history of metrics: the stored series of all nodes, plus what this node has not stored yet. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Accounts } from "../account/accounts.ts";
import type { EndpointService } from "../endpoints/service.ts";
import type { PodService } from "../pods/service.ts";
import { type Columns, columnsOf } from "./chart.ts";
import { HISTORY_DAYS, keyOf, layouts, pointAt, type Range, type Subject, tiers } from "./model.ts";
import type { Recorder } from "./recorder.ts";
import type { RecordedSpan, SeriesRecords, StoredSeries } from "./records.ts";

export interface HistoryAsked {
  range: Range;
  /** The end of the range; now by default. */
  end: number | undefined;
}

export interface History {
  range: Range;
  start: number;
  end: number;
  stepMs: number;
  series: Columns;
}

export interface HistoryParts {
  seriesRecords: SeriesRecords;
  recorder: Pick<Recorder, "unwritten" | "span">;
  endpoints: Pick<EndpointService, "own">;
  pods: Pick<PodService, "own">;
  accounts: Pick<Accounts, "madeAt">;
  clock: Clock;
  /** Series are kept for this many days. */
  days?: number | undefined;
}

const DAY_MS = 24 * 3_600_000;

export class HistoryService {
  readonly #parts: HistoryParts;

  constructor(parts: HistoryParts) {
    this.#parts = parts;
  }

  async ofEndpoint(caller: Caller, id: string, asked: HistoryAsked): Promise<History> {
    const { createdAt } = await this.#parts.endpoints.own(caller, id);
    return this.#history({ kind: "endpoint", id }, createdAt, asked);
  }

  async ofPod(caller: Caller, id: string, asked: HistoryAsked): Promise<History> {
    const { createdAt } = await this.#parts.pods.own(caller, id);
    return this.#history({ kind: "pod", id }, createdAt, asked);
  }

  async ofAccount({ account: id }: Caller, asked: HistoryAsked): Promise<History> {
    return this.#history({ kind: "account", id }, (await this.#parts.accounts.madeAt(id)) ?? 0, asked);
  }

  async #history(subject: Pick<Subject, "kind" | "id">, since: number, { range, end }: HistoryAsked): Promise<History> {
    const { clock, days = HISTORY_DAYS } = this.#parts;
    const now = clock.now();
    const number = tiers.findIndex((tier) => tier.range === range);
    const tier = tiers[number]!;
    const last = pointAt(tier, Math.min(end ?? now, now));
    const first = last - tier.points + 1;
    const stored = await this.#stored(keyOf(subject), number);
    const spans = await this.#spans();
    const chart = {
      layout: layouts[subject.kind],
      tier,
      number,
      first,
      points: tier.points,
      stored,
      spans,
      // What is older may not be removed yet, and values that never change would be shown for any time.
      since: days < HISTORY_DAYS ? Math.max(since, now - days * DAY_MS) : since,
      now,
    };
    const { stepMs } = tier;
    return { range, start: first * stepMs, end: (last + 1) * stepMs, stepMs, series: columnsOf(chart) };
  }

  async #stored(key: string, number: number): Promise<StoredSeries[]> {
    const { seriesRecords, recorder } = this.#parts;
    const stored = await seriesRecords.stored(key, number);
    const own = recorder.unwritten(key, number);
    const isReplaced = ({ isHead, node }: StoredSeries) => isHead && own.some((one) => one.isHead && one.node === node);
    return [...stored.filter((one) => !isReplaced(one)), ...own];
  }

  async #spans(): Promise<RecordedSpan[]> {
    const { seriesRecords, recorder } = this.#parts;
    const [known, own] = [await seriesRecords.spans(), recorder.span];
    if (!own) return known;
    return [...known.filter(({ by, from }) => by !== own.by || from !== own.from), own];
  }
}
