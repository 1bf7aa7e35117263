/** Caches records that were read before and have not changed, since reading and parsing their text is what a list costs. */
import type { StoredRecord } from "../../ports/store/store.ts";

/** The columns that tell whether a known record is still the one in the file. */
export interface Head {
  id: string;
  version: number;
  created_at: number;
}

/** How many characters of documents are kept. The records that were not listed for the longest time are dropped first. */
const MOST = 16 * 1024 * 1024;
/** Longer documents are not kept: parsing is not what their list costs, and a few of them would displace all others. */
const LONGEST = 64 * 1024;

interface Known {
  record: StoredRecord;
  size: number;
}

export class KnownRecords {
  readonly #known = new Map<string, Known>();
  #size = 0;

  /**
   * The record with this head, if it is known. The creation time is compared too, since another record may have been created under the same
   * id.
   */
  get(kind: string, { id, version, created_at }: Head): StoredRecord | undefined {
    const key = keyOf(kind, id);
    const known = this.#known.get(key);
    if (!known) return undefined;
    const { record } = known;
    if (record.version !== version || record.createdAt !== created_at) return undefined;
    // A Map keeps the order of insertion, so the most recently used entry stands last.
    this.#known.delete(key);
    this.#known.set(key, known);
    return record;
  }

  keep(record: StoredRecord, size: number): void {
    this.forget(record.kind, record.id);
    if (size > LONGEST) return;
    this.#known.set(keyOf(record.kind, record.id), { record, size });
    this.#size += size;
    for (const { record: oldest } of this.#known.values()) {
      if (this.#size <= MOST) return;
      this.forget(oldest.kind, oldest.id);
    }
  }

  forget(kind: string, id: string): void {
    const key = keyOf(kind, id);
    this.#size -= this.#known.get(key)?.size ?? 0;
    this.#known.delete(key);
  }

  forgetAll(): void {
    this.#known.clear();
    this.#size = 0;
  }
}

const keyOf = (kind: string, id: string) => `${kind}\n${id}`;
