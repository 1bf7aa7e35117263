/** The spans of an account that touch a window of time, a page at a time: of the past only what reaches into it is read. */
import { bucketStart, monthOf } from "../kernel/calendar.ts";
import { turn } from "../kernel/clock.ts";
import type { LastSeen } from "../kernel/cursor.ts";
import { Collection, type Item, type Selected } from "../ports/store/collection.ts";
import type { Store } from "../ports/store/store.ts";
import type { Window } from "./reckoning.ts";
import { intoMonth, type KeptSpan, spans, WHOLE } from "./span.ts";

/** Whose spans: those of an account, or of them those of one scope (`ofOwner`, `byKey`). */
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

  /** Each once. Between two pages everybody else gets their turn. */
  async *touching({ account, scope }: Scope, { from, to }: Window): AsyncGenerator<KeptSpan> {
    const month = bucketStart("month", from);
    const whose = scope ?? WHOLE;
    // What ends while this reads is among the open ones or among those that went on, or both; never in neither.
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

  /** All that are open now. */
  async *open({ account, scope = WHOLE }: Scope): AsyncGenerator<KeptSpan> {
    const selected = { account, key: { name: "open", value: scope } };
    for await (const { doc } of this.#before(Number.MAX_SAFE_INTEGER, selected)) yield doc;
  }

  /** Those that began before a moment, the newest first. */
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
