/** What an account costs in a period, and what one of its API keys has caused, computed exactly from spans. */
import { bucketStart } from "../kernel/calendar.ts";
import type { Clock } from "../kernel/clock.ts";
import { Remembered } from "../kernel/remembered.ts";
import type { Store } from "../ports/store/store.ts";
import { type Component, costWithin, HOURS_PER_MONTH, type Reckoned, reckoned, type Window } from "./reckoning.ts";
import { byKey, type KeptSpan, type Metering } from "./span.ts";
import { type Scope, SpanReader } from "./span-reader.ts";

/** What was read a moment ago: the cost of ended spans, and the open spans, which keep adding cost. */
interface Account {
  ended: bigint;
  open: readonly Reckoned[];
}

export type HourlyRates = Record<"compute" | "localStorage" | "networkStorage", number>;

function sumOf({ kind }: Pick<KeptSpan, "kind">, component: Component): keyof HourlyRates {
  if (component !== "disk") return "compute";
  return kind === "volume" ? "networkStorage" : "localStorage";
}

/** A span that began at this very moment already counts. */
const ratesOf = (span: KeptSpan, now: number): Reckoned["rates"] =>
  reckoned({ ...span, to: null }, Math.max(now, span.from + 1))?.rates ?? [];

/** What the open span of an instance costs by the hour, in 1e-9 USD. A frozen instance costs nothing. */
export function instancePerHour({ span }: Metering): number {
  if (!span?.price || span.phase === "frozen") return 0;
  const { gpu, cpu, disk, storage } = span.price;
  return gpu + cpu + disk + storage / HOURS_PER_MONTH;
}

const hourly = (rate: bigint) => Number(rate) / HOURS_PER_MONTH;

/** A span that began after the last reading is seen at most this much later. */
const REMEMBERED_MS = 5000;

export class Costs {
  readonly #reader: SpanReader;
  readonly #clock: Clock;
  readonly #remembered: Remembered<Promise<Account>>;

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#reader = new SpanReader({ store });
    this.#clock = clock;
    this.#remembered = new Remembered(clock, REMEMBERED_MS);
  }

  async prepare(): Promise<void> {}

  /** The cost in 1e-9 USD, from `from` until `to` or now, whichever is earlier. */
  async ofAccount(account: string, window: Window): Promise<bigint> {
    return this.#sum(await this.#read({ account }, window), window);
  }

  /** Does the same for what an API key created, no matter who has used that since. */
  async ofKey(account: string, key: string, window: Window): Promise<bigint> {
    return this.#sum(await this.#read({ account, scope: byKey(key) }, window), window);
  }

  /**
   * What an account, or one of its keys, has cost since this month began (UTC). Frequent callers can use it: the store is read at most
   * every 5 seconds. The result is exact except for spans that began, or ended early, since then.
   */
  async thisMonth({ account, key }: { account: string; key?: string | undefined }): Promise<bigint> {
    const now = this.#clock.now();
    const window = { from: bucketStart("month", now), to: now };
    const name = JSON.stringify([account, key, window.from]);
    const scope = key === undefined ? undefined : byKey(key);
    const reading = this.#remembered.get(name) ?? this.#reading(name, { account, scope }, window);
    try {
      return this.#sum(await reading, window);
    } catch (error) {
      this.#remembered.delete(name);
      throw error;
    }
  }

  /** What all open spans cost per hour, in 1e-9 USD. */
  async perHour(account: string): Promise<HourlyRates> {
    const now = this.#clock.now();
    const sums = { compute: 0n, localStorage: 0n, networkStorage: 0n };
    for await (const span of this.#reader.open({ account }))
      for (const [component, rate] of ratesOf(span, now)) sums[sumOf(span, component)] += rate;
    return {
      compute: hourly(sums.compute),
      localStorage: hourly(sums.localStorage),
      networkStorage: hourly(sums.networkStorage),
    };
  }

  /** Returns what the storage of each account costs by the hour, in 1e-9 USD. What instances cost is on their own records. */
  async storagePerHourOfAll(): Promise<Map<string, number>> {
    const now = this.#clock.now();
    const sums = new Map<string, bigint>();
    for await (const { account, doc } of this.#reader.openOfAll()) {
      if (doc.phase === "running" || doc.phase === "frozen") continue;
      for (const [, rate] of ratesOf(doc, now)) sums.set(account, (sums.get(account) ?? 0n) + rate);
    }
    return new Map([...sums].map(([account, rate]) => [account, hourly(rate)]));
  }

  #reading(name: string, scope: Scope, window: Window): Promise<Account> {
    const reading = this.#read(scope, window);
    this.#remembered.set(name, reading);
    return reading;
  }

  async #read(scope: Scope, window: Window): Promise<Account> {
    const now = this.#clock.now();
    let ended = 0n;
    const open: Reckoned[] = [];
    for await (const span of this.#reader.touching(scope, { ...window, to: Math.min(window.to, now + 1) })) {
      const found = reckoned(span, now);
      if (span.to === null && span.free === undefined) open.push(reckoned(span, Number.MAX_SAFE_INTEGER)!);
      else if (found) ended += costWithin(found, window);
    }
    return { ended, open };
  }

  #sum({ ended, open }: Account, { from, to }: Window): bigint {
    const until = Math.min(to, this.#clock.now());
    return open.reduce((sum, span) => sum + costWithin(span, { from, to: until }), ended);
  }
}
