/** The names that resources have now, for people who read bills. */
import type { SpanKind } from "../../metering/span.ts";
import type { Store } from "../../ports/store/store.ts";
import { clusters } from "../clusters/model.ts";
import { endpoints } from "../endpoints/model.ts";
import { pods } from "../pods/model.ts";
import { networkVolumes } from "../volumes/model.ts";

const KINDS: Record<SpanKind, string> = {
  pod: pods.kind,
  worker: endpoints.kind,
  member: clusters.kind,
  volume: networkVolumes.kind,
};
/** All are forgotten beyond this many. */
const MOST = 5000;

export class ResourceNames {
  readonly #store: Store;
  readonly #names = new Map<string, string | null>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Null for something that has no name, or does not exist any more. */
  async of(kind: SpanKind, id: string): Promise<string | null> {
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    const { name } = ((await this.#store.get(KINDS[kind], id))?.doc ?? {}) as { name?: unknown };
    const found = typeof name === "string" ? name : null;
    if (this.#names.size >= MOST) this.#names.clear();
    this.#names.set(id, found);
    return found;
  }
}
