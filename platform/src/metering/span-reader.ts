/** Reads the spans of an account that touch a period, page by page. Older spans are read only if they reach into it. */
import { bucketStart, monthOf } from "../kernel/calendar.ts";
import { turn } from "../kernel/clock.ts";
import type { LastSeen } from "../kernel/cursor.ts";
import { Collection, type Item, type Selected } from "../ports/store/collection.ts";
import type { Store } from "../ports/store/store.ts";
import type { Window } from "./reckoning.ts";
import { intoMonth, type KeptSpan, spans, WHOLE } from "./span.ts";

/** Selects all spans of an account, or those of one scope (`ofOwner`, `byKey`). */
export interface Scope {
  account: string;
  scope?: string | undefined;
}

const PAGE = 500;

export class SpanReader {
  readonly #spans: Collection<KeptSpan>;

  constructor({ store }: { store: Store }) {
    this.#spans = new Collection(store, spans);
  }

  /** Returns each span once. Between two pages, other work gets its turn. */
  async *touching({ account, scope }: Scope, { from, to }: Window): AsyncGenerator<KeptSpan> {
    const month = bucketStart("month", from);
    const whose = scope ?? WHOLE;
    // A span that ends during the reading is found among the open ones, among those that reach into the month, or both, but never in
    // neither.
    const seen = new Set<string>();
    for await (const { id, doc } of this.#before(month, { account, key: { name: "open", value: whose } })) {
      seen.add(id);
      yield doc;
    }
    const into = { name: "into", value: intoMonth(monthOf(month), whose) };
    for await (const { id, doc } of this.#before(month, { account, key: into }))
      if (!seen.has(id) && reaches(doc, from)) yield doc;
    const key = scope === undefined ? undefined : { name: "scope", value: scope };
    for await (const { createdAt, doc } of this.#before(to, { account, key })) {
      if (createdAt < month) return;
      if (reaches(doc, from)) yield doc;
    }
  }

  /** All spans that are open now. */
  async *open({ account, scope = WHOLE }: Scope): AsyncGenerator<KeptSpan> {
    const selected = { account, key: { name: "open", value: scope } };
    for await (const { doc } of this.#before(Number.MAX_SAFE_INTEGER, selected)) yield doc;
  }

  /** Yields the open spans of every account. */
  async *openOfAll(): AsyncGenerator<Item<KeptSpan>> {
    yield* this.#before(Number.MAX_SAFE_INTEGER, { key: { name: "open", value: WHOLE } });
  }

  /** Spans that began before a moment, the newest first. */
  async *#before(moment: number, selected: Selected): AsyncGenerator<Item<KeptSpan>> {
    for (let after: LastSeen | undefined = { createdAt: moment, id: "" }; after; ) {
      const page: Item<KeptSpan>[] = await this.#spans.list({ ...selected, after, limit: PAGE });
      yield* page;
      after = page.length === PAGE ? page.at(-1) : undefined;
      if (after) await turn();
    }
  }
}

const reaches = ({ to }: KeptSpan, moment: number) => to === null || to > moment;
