/** The cost of an account or key since a moment, for frequent callers: it is read once, and then only what is new. */
import type { Clock } from "../kernel/clock.ts";
import { turn } from "../kernel/clock.ts";
import type { LastSeen } from "../kernel/cursor.ts";
import { Collection, type Item } from "../ports/store/collection.ts";
import type { Store } from "../ports/store/store.ts";
import { costWithin, reckoned } from "./reckoning.ts";
import { byKey, type KeptSpan, spans, WHOLE } from "./span.ts";
import { SpanReader } from "./span-reader.ts";

/** Whose cost to compute, and since when. */
export interface Asked {
  account: string;
  key?: string | undefined;
  since: number;
}

type SpanItem = Item<KeptSpan>;

/** The result of the last look: the cost of ended spans, and the open spans, which keep adding cost. */
interface Tally {
  ended: bigint;
  open: ReadonlyMap<string, KeptSpan>;
  /** Recent spans that `ended` already includes, with when they began. The next look finds them again. */
  counted: ReadonlyMap<string, number>;
  lookedAt: number;
  wholeAt: number;
}

interface Known {
  tally?: Tally;
  looking?: Promise<Tally> | undefined;
  whole?: Promise<void> | undefined;
}

/** The cost is not known yet, because a long history is being read. */
export class StillReading extends Error {}

/** A span that began or ended after the last look is seen at most this much later. */
const LOOK_MS = 5000;
/** A span may be written this much later than it began, because an instance is metered from its start by its machine's clock. */
const LATE_MS = 15 * 60_000;
/** Everything is read again after this long, which finds anything that was missed. */
const WHOLE_MS = 3_600_000;
const PAGE = 500;
/** Beyond this many, the least recently requested sum is dropped. It is read again when needed. */
const MOST_KNOWN = 10_000;

/** The cost of ended spans, each counted once. */
class Sum {
  readonly #asked: Asked;
  readonly #now: number;
  readonly #counted: Map<string, number>;
  #ended: bigint;

  constructor(asked: Asked, now: number, { ended, counted }: Pick<Tally, "ended" | "counted"> = NOTHING) {
    this.#asked = asked;
    this.#now = now;
    this.#ended = ended;
    this.#counted = new Map([...counted].filter(([, from]) => from >= now - 2 * LATE_MS));
  }

  add(span: KeptSpan): void {
    const name = nameOf(span);
    // A span of no length costs nothing, and another span may have begun at the same moment.
    if (span.to === null || span.to <= span.from || this.#counted.has(name)) return;
    this.#ended += costOf(span, this.#asked.since, this.#now);
    this.#counted.set(name, span.from);
  }

  tally(open: ReadonlyMap<string, KeptSpan>): Pick<Tally, "ended" | "open" | "counted"> {
    const still = [...open].filter(([, span]) => !this.#counted.has(nameOf(span)));
    const counted = new Map([...this.#counted].filter(([, from]) => from >= this.#now - 2 * LATE_MS));
    return { ended: this.#ended, open: new Map(still), counted };
  }
}

const NOTHING = { ended: 0n, counted: new Map<string, number>() };
const nameOf = ({ kind, instance, phase, from }: KeptSpan) => `${kind} ${instance} ${phase} ${from}`;

export class RunningCosts {
  readonly #reader: SpanReader;
  readonly #spans: Collection<KeptSpan>;
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#reader = new SpanReader({ store });
    this.#spans = new Collection(store, spans);
    this.#clock = clock;
  }

  /** The cost until now, in 1e-9 USD. */
  async since(asked: Asked): Promise<bigint> {
    const known = this.#knownOf(asked);
    const { ended, open } = await this.#tally(asked, known);
    const now = this.#clock.now();
    let sum = ended;
    for (const span of open.values()) sum += costOf(span, asked.since, now);
    return sum;
  }

  /**
   * Does the same for callers that others wait for: throws `StillReading` if the cost is not known within this time. The reading continues.
   */
  async sinceWithin(asked: Asked, patienceMs: number): Promise<bigint> {
    const reading = this.since(asked);
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = this.#clock.after(patienceMs, () => reject(new StillReading("it is still being read")));
    try {
      return await Promise.race([reading, promise]);
    } finally {
      timer.cancel();
    }
  }

  async #tally(asked: Asked, known: Known): Promise<Tally> {
    const { tally } = known;
    const now = this.#clock.now();
    // If the clock was set back, the last reading is not trusted.
    if (tally && now >= tally.lookedAt && now - tally.lookedAt < LOOK_MS) return tally;
    known.looking ??= this.#look(asked, known).finally(() => {
      known.looking = undefined;
    });
    return known.looking;
  }

  async #look(asked: Asked, known: Known): Promise<Tally> {
    const now = this.#clock.now();
    const { tally } = known;
    if (!tally || now < tally.lookedAt || now - tally.lookedAt >= LATE_MS) {
      known.tally = await this.#begin(asked, now);
      return known.tally;
    }
    if (now - tally.wholeAt >= WHOLE_MS) this.#readWhole(asked, known);
    const next = await this.#goOn(asked, tally, now);
    // A complete reading that finished meanwhile is better. The next look continues from that.
    if (known.tally === tally) known.tally = next;
    return next;
  }

  /** Runs in the background. Nobody waits for it, and the next look repeats it if it fails. */
  #readWhole(asked: Asked, known: Known): void {
    known.whole ??= this.#begin(asked, this.#clock.now())
      .then(
        (read) => {
          known.tally = read;
        },
        () => undefined,
      )
      .finally(() => {
        known.whole = undefined;
      });
  }

  /** Open spans are listed first. A span that ends during the reading is then found among the ended ones, or ends at the next look. */
  async #begin(asked: Asked, now: number): Promise<Tally> {
    const sum = new Sum(asked, now);
    const open = await this.#open(asked);
    const scope = asked.key === undefined ? undefined : byKey(asked.key);
    const all = this.#reader.touching({ account: asked.account, scope }, { from: asked.since, to: now + 1 });
    for await (const span of all) sum.add(span);
    return { ...sum.tally(open), lookedAt: now, wholeAt: now };
  }

  async #goOn(asked: Asked, tally: Tally, now: number): Promise<Tally> {
    const sum = new Sum(asked, now, tally);
    const open = await this.#open(asked);
    for (const { doc } of await this.#recent(asked, tally.lookedAt)) sum.add(doc);
    for (const id of tally.open.keys()) {
      const item = open.has(id) ? undefined : await this.#spans.get(id);
      if (item) sum.add(item.doc);
    }
    return { ...sum.tally(open), lookedAt: now, wholeAt: tally.wholeAt };
  }

  async #open({ account, key }: Asked): Promise<Map<string, KeptSpan>> {
    const value = key === undefined ? WHOLE : byKey(key);
    const open = new Map<string, KeptSpan>();
    for await (const { id, doc } of this.#spans.all({ account, key: { name: "open", value } })) open.set(id, doc);
    return open;
  }

  /** Spans that began since shortly before a moment. */
  async #recent({ account, key, since }: Asked, moment: number): Promise<SpanItem[]> {
    const selected = { account, key: key === undefined ? undefined : { name: "scope", value: byKey(key) } };
    const from = Math.max(since, moment - LATE_MS);
    const recent: SpanItem[] = [];
    for (let after: LastSeen | undefined, more = true; more; ) {
      const page: SpanItem[] = await this.#spans.list({ ...selected, after, limit: PAGE });
      recent.push(...page.filter(({ createdAt }) => createdAt >= from));
      after = page.at(-1);
      more = page.length === PAGE && after!.createdAt >= from;
      if (more) await turn();
    }
    return recent;
  }

  #knownOf({ account, key, since }: Asked): Known {
    const name = JSON.stringify([account, key, since]);
    const known = this.#known.get(name) ?? {};
    // The most recently requested sum goes to the end.
    this.#known.delete(name);
    this.#known.set(name, known);
    if (this.#known.size > MOST_KNOWN) this.#known.delete(this.#known.keys().next().value!);
    return known;
  }
}

function costOf(span: KeptSpan, since: number, now: number): bigint {
  const found = reckoned(span, now);
  return found ? costWithin(found, { from: since, to: now }) : 0n;
}
