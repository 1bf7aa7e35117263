/** What an account costs in a time, and what an API key of it has caused: exactly, from spans. */
import { bucketStart } from "../kernel/calendar.ts";
import type { Clock } from "../kernel/clock.ts";
import { Remembered } from "../kernel/remembered.ts";
import type { Store } from "../ports/store/store.ts";
import { type Component, costWithin, HOURS_PER_MONTH, type Reckoned, reckoned, type Window } from "./reckoning.ts";
import { byKey, type KeptSpan } from "./span.ts";
import { type Scope, SpanReader } from "./span-reader.ts";

/** What was read a moment ago: what had ended costs what it cost, and what was open goes on. */
interface Account {
  ended: bigint;
  open: readonly Reckoned[];
}

export type HourlyRates = Record<"compute" | "localStorage" | "networkStorage", number>;

function sumOf({ kind }: Pick<KeptSpan, "kind">, component: Component): keyof HourlyRates {
  if (component !== "disk") return "compute";
  return kind === "volume" ? "networkStorage" : "localStorage";
}

/** How late a span is seen that began after the last look. */
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

  /** In 1e-9 USD, from `from` until `to` or now, whichever is earlier. */
  async ofAccount(account: string, window: Window): Promise<bigint> {
    return this.#sum(await this.#read({ account }, window), window);
  }

  /** The same of what was made by an API key, whoever used it since. */
  async ofKey(account: string, key: string, window: Window): Promise<bigint> {
    return this.#sum(await this.#read({ account, scope: byKey(key) }, window), window);
  }

  /**
   * What an account, or a key of it, has caused since this month began (UTC). For those who ask often: read from the store at most every 5
   * seconds, and exact but for what began, or ended early, since then.
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

  /** What all that is open now costs by the hour, in 1e-9 USD. */
  async perHour(account: string): Promise<HourlyRates> {
    const now = this.#clock.now();
    const sums = { compute: 0n, localStorage: 0n, networkStorage: 0n };
    for await (const span of this.#reader.open({ account })) {
      // One that began in this very moment counts from now on.
      for (const [component, rate] of reckoned({ ...span, to: null }, Math.max(now, span.from + 1))?.rates ?? [])
        sums[sumOf(span, component)] += rate;
    }
    const hourly = (rate: bigint) => Number(rate) / HOURS_PER_MONTH;
    return {
      compute: hourly(sums.compute),
      localStorage: hourly(sums.localStorage),
      networkStorage: hourly(sums.networkStorage),
    };
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
