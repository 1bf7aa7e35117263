/** Puts spans on record as if things had run, and reads what billing makes of them. */
import { type KeptSpan, spanId, spans } from "../src/metering/span.ts";
import { Collection } from "../src/ports/store/collection.ts";
import type { Store } from "../src/ports/store/store.ts";

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** One USD per hour for a GPU, unless a test says otherwise. */
export const SOME_SPAN: KeptSpan = {
  ...{ instance: "i", kind: "pod", owner: "p", createdBy: "k", phase: "running", dataCenter: null, image: "" },
  ...{ template: null, gpuType: null, gpuCount: 0, flavor: null, vcpu: 0, memoryMb: 0, diskGb: 0 },
  price: { gpu: 1_000_000_000, cpu: 0, disk: 0, storage: 0 },
  ...{ from: 0, to: null },
};

let number = 0;

export async function putSpan(store: Store, account: string, given: Partial<KeptSpan>): Promise<void> {
  const doc = { ...SOME_SPAN, ...given };
  await new Collection(store, spans).insert({ id: spanId("put", ++number), account, createdAt: doc.from, doc });
}

/** Converts an amount from an answer to 1e-9 USD, exactly as it was computed. */
export const nano = (usd: number): bigint => BigInt(Math.round(usd * 1e9));
