/** Tells the account that shares an endpoint who uses it, what that brought and what it cost. */
import type { Caller } from "../../kernel/caller.ts";
import { type Clock, timestamp } from "../../kernel/clock.ts";
import { usdOf } from "../../kernel/money.ts";
import type { Charges } from "../../ports/queue/queue.ts";
import { Collection } from "../../ports/store/collection.ts";
import type { Store } from "../../ports/store/store.ts";
import { accounts } from "../account/model.ts";
import { type Buckets, bucketAt, bucketsOf, type WindowAsked } from "../billing/buckets.ts";
import type { ChargeBook } from "../billing/charge-book.ts";
import type { BillingService } from "../billing/service.ts";
import type { PublicEndpointUse } from "./model.ts";
import type { PublicEndpointItem } from "./service.ts";

export class PublicEndpointUses {
  readonly #accounts: Collection<{ name: string }>;
  readonly #charges: ChargeBook;
  readonly #billing: BillingService;
  readonly #clock: Clock;

  constructor(parts: { store: Store; clock: Clock; charges: ChargeBook; billing: BillingService }) {
    this.#accounts = new Collection(parts.store, accounts) as unknown as Collection<{ name: string }>;
    this.#charges = parts.charges;
    this.#billing = parts.billing;
    this.#clock = parts.clock;
  }

  async of(caller: Caller, { doc: { endpointId } }: PublicEndpointItem, asked: WindowAsked) {
    const buckets = bucketsOf(asked, this.#clock.now());
    const charges = await this.#charges.within({ endpoints: [endpointId], from: buckets.from, to: buckets.to });
    const use = inBuckets(charges, buckets);
    const names = await this.#namesOf(use.map(({ accountId }) => accountId));
    const { records } = await this.#billing.history(caller, { ...asked, kind: "worker", owner: endpointId });
    const cost = records.reduce((sum, { amounts }) => [...amounts.values()].reduce((a, b) => a + b, sum), 0n);
    return {
      use: use.map((one) => ({ ...one, accountName: names.get(one.accountId) ?? "" })),
      income: usdOf(charges.reduce((sum, { amount }) => sum + BigInt(amount), 0n)),
      cost: usdOf(cost),
    };
  }

  async #namesOf(ids: readonly string[]): Promise<Map<string, string>> {
    const found = await Promise.all(
      [...new Set(ids)].map(async (id) => [id, (await this.#accounts.get(id))?.doc.name ?? ""] as const),
    );
    return new Map(found);
  }
}

type Use = Omit<PublicEndpointUse, "accountName">;

function inBuckets(charges: readonly Charges[], buckets: Buckets): Use[] {
  const sums = new Map<string, Use & { nanos: bigint }>();
  for (const { caller, hour, requests, executionMs, inputTokens, outputTokens, amount } of charges) {
    const bucket = bucketAt(buckets, hour);
    const name = `${bucket} ${caller}`;
    const sum = sums.get(name) ?? { ...empty(caller, buckets, bucket), nanos: 0n };
    sum.requests += requests;
    sum.executionMs += executionMs;
    sum.inputTokens += inputTokens;
    sum.outputTokens += outputTokens;
    sum.nanos += BigInt(amount);
    sums.set(name, sum);
  }
  return [...sums.values()].map(({ nanos, ...use }) => ({ ...use, amount: usdOf(nanos) }));
}

function empty(accountId: string, { bounds }: Buckets, bucket: number): Use {
  const times = { startTime: timestamp(bounds[bucket]!), endTime: timestamp(bounds[bucket + 1]!) };
  return { accountId, ...times, requests: 0, executionMs: 0, inputTokens: 0, outputTokens: 0, amount: 0 };
}
