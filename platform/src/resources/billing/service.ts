/** Computes what an account was charged, from the spans that overlap the requested time. */
import type { Caller } from "../../kernel/caller.ts";
import { type Clock, parseTimestamp } from "../../kernel/clock.ts";
import { OneAtATimeEach } from "../../kernel/one-at-a-time.ts";
import { problem } from "../../kernel/problem.ts";
import { Slices } from "../../kernel/slices.ts";
import { costUntil, reckoned } from "../../metering/reckoning.ts";
import { type KeptSpan, ofOwner, type SpanKind } from "../../metering/span.ts";
import { SpanReader } from "../../metering/span-reader.ts";
import type { Charges } from "../../ports/queue/queue.ts";
import type { Store } from "../../ports/store/store.ts";
import { type Buckets, bucketAt, bucketsOf, type WindowAsked } from "./buckets.ts";
import type { ChargeBook } from "./charge-book.ts";
import { type Amounts, type Charge, chargeOf } from "./charges.ts";
import { type Grouping, groupBy, isWithin, type SpanFilter } from "./grouping.ts";
import { Usage, useOf } from "./usage.ts";

export type { Amounts, Charge } from "./charges.ts";

export interface HistoryAsked extends WindowAsked {
  /** Limits the history to one kind; by default it covers everything. */
  kind?: SpanKind | "endpoint";
  /** Limits the history to one owner. */
  owner?: string | undefined;
  /** Limits the history to spans that match all of these. */
  where?: SpanFilter;
  /** Makes one record per bucket for each owner, GPU type or instance; without it, one for everything. */
  by?: Grouping | undefined;
  /** Leaves out everything after `endTime`, even within the last bucket. */
  isExact?: boolean;
}

export interface HistoryRecord {
  from: number;
  to: number;
  /** The value that the record is grouped by. Undefined if there is none, such as the GPU type of a disk. */
  owner: string | undefined;
  amounts: Amounts;
  used: Usage;
}

export interface History {
  buckets: Buckets;
  /** Sorted by time, then by owner. */
  records: HistoryRecord[];
}

/** Enough for a thousand Pods by day over a month. A larger answer would hold up other requests while it is written. */
const MOST_RECORDS = 32_000;
/** Counts each span that is read and each bucket of it that is computed. This many are about two seconds of work. */
const MOST_STEPS = 3_000_000;
/** Other work gets a turn after this many steps. */
const STEPS_AT_A_STRETCH = 10_000;

export class BillingService {
  readonly #clock: Clock;
  readonly #reader: SpanReader;
  readonly #charges: ChargeBook;
  /** An account's histories are computed one at a time, however many it asks for at once. */
  readonly #making = new OneAtATimeEach();

  constructor({ store, clock, charges }: { store: Store; clock: Clock; charges: ChargeBook }) {
    this.#clock = clock;
    this.#charges = charges;
    this.#reader = new SpanReader({ store });
  }

  async prepare(): Promise<void> {}

  /** Leaves out everything that cost nothing. */
  async history({ account }: Caller, asked: HistoryAsked): Promise<History> {
    const buckets = bucketsOf(asked, this.#clock.now());
    return { buckets, records: await this.#making.run(account, () => this.#records(account, asked, buckets)) };
  }

  async #records(account: string, asked: HistoryAsked, buckets: Buckets): Promise<HistoryRecord[]> {
    const { kind, owner, where = {}, by } = asked;
    const now = this.#clock.now();
    const found = new Ledger(buckets, untilOf(asked));
    const slices = new Slices(STEPS_AT_A_STRETCH);
    const group = groupBy(by);
    if (kind === "endpoint" || (kind === undefined && owner === undefined)) {
      const { from, to } = buckets;
      const charges = await this.#charges.within({ caller: account, from, to });
      for (const one of charges) if (owner === undefined || one.share === owner) found.addCharge(one);
    }
    if (kind === "endpoint") return found.records();
    const scope = owner === undefined ? undefined : ofOwner(owner);
    for await (const span of this.#reader.touching({ account, scope }, buckets)) {
      const isMeant = (kind === undefined || span.kind === kind) && isWithin(where, span);
      const steps = isMeant ? found.add(span, now, group(span)) : 0;
      found.worked(steps + 1);
      await slices.did(steps + 1);
    }
    return found.records();
  }
}

const untilOf = ({ isExact, endTime }: HistoryAsked): number =>
  (isExact && endTime !== undefined ? parseTimestamp(endTime) : undefined) ?? Number.POSITIVE_INFINITY;

/** The records so far, by bucket and owner. */
class Ledger {
  readonly #buckets: Buckets;
  readonly #until: number;
  readonly #records = new Map<string, HistoryRecord>();
  #steps = 0;

  constructor(buckets: Buckets, until: number) {
    this.#buckets = buckets;
    this.#until = until;
  }

  /** Adds a span's share to each bucket. Returns the number of steps that took. */
  add(span: KeptSpan, now: number, owner: string | undefined): number {
    const { bounds, from } = this.#buckets;
    const to = Math.min(this.#buckets.to, this.#until);
    const endOf = (bucket: number) => Math.min(bounds[bucket + 1]!, to);
    const paid = reckoned(span, now);
    if (!paid || paid.to <= from || paid.from >= to) return 0;
    const first = bucketAt(this.#buckets, Math.max(paid.from, from));
    let steps = 0;
    for (const [component, rate] of paid.rates) {
      const use = useOf(span, component);
      const charge = chargeOf(span, component);
      let before = costUntil(rate, paid, bounds[first]!);
      for (let bucket = first; bounds[bucket]! < Math.min(paid.to, to); bucket++, steps++) {
        const after = costUntil(rate, paid, endOf(bucket));
        if (after > before) {
          const used = this.#charge(bucket, owner, charge, after - before);
          used.add(charge, use, Math.min(paid.to, endOf(bucket)) - Math.max(paid.from, bounds[bucket]!));
        }
        before = after;
        if (steps % STEPS_AT_A_STRETCH === 0) this.#refuseTooMany();
      }
    }
    return steps;
  }

  /** Adds what was owed for public endpoints in an hour. */
  addCharge({ hour, amount }: Charges): void {
    if (amount > 0) this.#charge(bucketAt(this.#buckets, hour), undefined, "endpoint", BigInt(amount));
  }

  worked(steps: number): void {
    this.#steps += steps;
    this.#refuseTooMany();
    if (this.#steps > MOST_STEPS) throw problem("rule-broken", `There is too much to reckon for one answer. ${ADVICE}`);
  }

  records(): HistoryRecord[] {
    return [...this.#records.values()].toSorted((a, b) => a.from - b.from || compare(a.owner ?? "", b.owner ?? ""));
  }

  #charge(bucket: number, owner: string | undefined, charge: Charge, amount: bigint): Usage {
    const name = `${bucket} ${owner ?? ""}`;
    let record = this.#records.get(name);
    if (!record) {
      const [from, to] = [this.#buckets.bounds[bucket]!, this.#buckets.bounds[bucket + 1]!];
      record = { from, to, owner, amounts: new Map(), used: new Usage() };
      this.#records.set(name, record);
    }
    record.amounts.set(charge, (record.amounts.get(charge) ?? 0n) + amount);
    return record.used;
  }

  #refuseTooMany(): void {
    if (this.#records.size > MOST_RECORDS)
      throw problem("rule-broken", `No answer has more than ${MOST_RECORDS} records. ${ADVICE}`);
  }
}

const ADVICE = "Ask for a shorter time, for larger buckets, or for one thing by its id.";

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
