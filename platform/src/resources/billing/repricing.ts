/** Applies price changes on time: everything that is metered continues at the current prices. */

import { installPrices } from "../../catalog/compute.ts";
import { type Duty, every } from "../../kernel/background.ts";
import { type Clock, turn } from "../../kernel/clock.ts";
import type { Kept } from "../../kernel/document.ts";
import { type Failed, named } from "../../kernel/failed.ts";
import { floating } from "../../kernel/floating.ts";
import type { InstanceRecords } from "../../machines/instance-records.ts";
import type { PriceBook } from "../../metering/price-book.ts";
import { priceOf, samePrice } from "../../metering/prices.ts";
import { type KeptSpan, spans, WHOLE } from "../../metering/span.ts";
import { Collection } from "../../ports/store/collection.ts";
import type { Store } from "../../ports/store/store.ts";
import type { PodRecords } from "../pods/records.ts";
import type { NetworkVolumeService } from "../volumes/service.ts";

export interface RepricingParts {
  store: Store;
  clock: Clock;
  prices: PriceBook;
  instanceRecords: InstanceRecords;
  podRecords: PodRecords;
  volumes: NetworkVolumeService;
  failed: Failed;
  /** Whether this node does the work for all nodes. */
  mine: ((now: number) => Promise<boolean>) | undefined;
}

/** A node reads a price change within this time, which is before it applies. */
const LOOK_MS = 2000;
const REPRICE = "apply changed prices";
/** A run may continue a span of every instance and volume. */
const LONGEST_MS = 3_600_000;
/** The second walk comes this much later. It finds spans that began before the change but were recorded after the first walk. */
const ONCE_MORE_MS = 60_000;

/** Marks that the storage that older releases left unmetered is metered now. That is done once. */
const metered: Kept<{ since: number }> = { kind: "metered-storage", v: 1 };
const ONLY = "storage";

export class Repricing implements AsyncDisposable {
  readonly #parts: RepricingParts;
  readonly #spans: Collection<KeptSpan>;
  readonly #metered: Collection<{ since: number }>;
  readonly #duty: Duty;
  #installed: Disposable | undefined;
  /** The number of the price change that is in force here. */
  #number = 0;
  /** The times at which to walk over all open spans: at the start, and after each price change. */
  #walks: number[];

  constructor(parts: RepricingParts) {
    this.#parts = parts;
    this.#spans = new Collection(parts.store, spans);
    this.#metered = new Collection(parts.store, metered);
    this.#walks = [parts.clock.now()];
    const kind = { name: REPRICE, everyMs: LOOK_MS, longestMs: LONGEST_MS };
    this.#duty = every(parts.clock, kind, (now) => this.#tick(now), parts.failed);
    floating(this.#duty.soon(), named(parts.failed, REPRICE));
  }

  async #tick(now: number): Promise<void> {
    const { prices, mine } = this.#parts;
    await prices.refresh();
    const number = prices.numberAt(now);
    if (number !== this.#number) {
      this.#number = number;
      this.#installed = installPrices(prices.at(now));
      this.#walks = [now, now + ONCE_MORE_MS];
    }
    if (!this.#walks.some((at) => at <= now)) return;
    // Another node does the walk. This node keeps it due, in case that one ends halfway.
    if (mine && !(await mine(now))) return;
    await this.#begin(now);
    await this.#walk(now);
    this.#walks = this.#walks.filter((at) => at > now);
  }

  /** An interrupted walk starts again from the beginning. Spans that already have the right price are only read. */
  async #walk(now: number): Promise<void> {
    const { prices } = this.#parts;
    for await (const { doc } of this.#spans.all({ key: { name: "open", value: WHOLE } })) {
      const isAsNow = samePrice(doc.price, priceOf(doc, prices.at(now)));
      if (isAsNow && prices.changes(doc.from, now).length === 0) continue;
      await this.#renew(doc);
      await turn();
    }
  }

  #renew({ kind, phase, instance }: KeptSpan): Promise<void> {
    const { instanceRecords, podRecords, volumes } = this.#parts;
    if (kind === "volume") return volumes.records.renew(instance);
    return phase === "used" || phase === "kept" ? podRecords.renew(instance) : instanceRecords.renew(instance);
  }

  /** Starts to meter Pods and volumes from a release that did not. */
  async #begin(now: number): Promise<void> {
    const { podRecords, volumes } = this.#parts;
    if (await this.#metered.get(ONLY)) return;
    for await (const { id } of podRecords.pods.all()) await podRecords.renew(id);
    for await (const { id } of volumes.records.volumes.all()) await volumes.records.renew(id);
    await this.#metered.put({ id: ONLY, account: WHOLE, createdAt: now, doc: { since: now } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#duty[Symbol.asyncDispose]();
    this.#installed?.[Symbol.dispose]();
  }
}
