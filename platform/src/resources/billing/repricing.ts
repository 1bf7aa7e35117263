/** Sees to it that prices hold from when they should: everything that is metered goes on at those of now. */

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
  /** Whether this node does it for all. */
  mine: ((now: number) => Promise<boolean>) | undefined;
}

/** Nodes learn of a change within this time, before it holds. */
const LOOK_MS = 2000;
const REPRICE = "apply changed prices";
/** What was put on record as begun before a change, after it was walked over everything, is found by a second walk. */
const ONCE_MORE_MS = 60_000;

/** That storage of older releases is metered too, once. */
const metered: Kept<{ since: number }> = { kind: "metered-storage", v: 1 };
const ONLY = "storage";

export class Repricing implements AsyncDisposable {
  readonly #parts: RepricingParts;
  readonly #spans: Collection<KeptSpan>;
  readonly #metered: Collection<{ since: number }>;
  readonly #duty: Duty;
  #installed: Disposable | undefined;
  /** The change that is in force here. */
  #number = 0;
  /** When everything is to be walked over: at the start, and after each change. */
  #walks: number[];

  constructor(parts: RepricingParts) {
    this.#parts = parts;
    this.#spans = new Collection(parts.store, spans);
    this.#metered = new Collection(parts.store, metered);
    this.#walks = [parts.clock.now()];
    this.#duty = every(parts.clock, { name: REPRICE, everyMs: LOOK_MS }, (now) => this.#tick(now), parts.failed);
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
    // Another node does it; should that one end in the middle, this one still has it to do.
    if (mine && !(await mine(now))) return;
    await this.#begin(now);
    await this.#walk(now);
    this.#walks = this.#walks.filter((at) => at > now);
  }

  /** Broken off anywhere, it is done again from the beginning: what is as it should be is only read. */
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

  /** Pods and volumes of a release that did not meter them. */
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
