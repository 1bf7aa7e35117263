/** What an account, or a key of it, has cost since a moment, for those who ask all the time: read once, and then what is new. */
import type { Clock } from "../kernel/clock.ts";
import { turn } from "../kernel/clock.ts";
import type { LastSeen } from "../kernel/cursor.ts";
import { Collection, type Item } from "../ports/store/collection.ts";
import type { Store } from "../ports/store/store.ts";
import { costWithin, reckoned } from "./reckoning.ts";
import { byKey, type KeptSpan, spans, WHOLE } from "./span.ts";
import { SpanReader } from "./span-reader.ts";

/** Whose cost, and since when. */
export interface Asked {
  account: string;
  key?: string | undefined;
  since: number;
}

type SpanItem = Item<KeptSpan>;

/** What was found at the last look: what had ended costs what it cost, what was open goes on at its price. */
interface Tally {
  ended: bigint;
  open: ReadonlyMap<string, KeptSpan>;
  /** Those of the last minutes that are in `ended`, with when they began: the next look finds them once more. */
  counted: ReadonlyMap<string, number>;
  lookedAt: number;
  wholeAt: number;
}

interface Known {
  tally?: Tally;
  looking?: Promise<Tally> | undefined;
  whole?: Promise<void> | undefined;
}

/** What was spent is not known yet: a long history is being read. */
export class StillReading extends Error {}

/** How late a span is seen that began, or ended, after the last look. */
const LOOK_MS = 5000;
/** A span may be written so much later than it began: an instance is metered from its start, by the time of its machine. */
const LATE_MS = 15 * 60_000;
/** Whatever was missed is found by then. */
const WHOLE_MS = 3_600_000;
const PAGE = 500;
/** Sums that nobody asked for in a while are read again when somebody does. */
const MOST_KNOWN = 10_000;

/** What has ended, each once. */
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
    // One of no length costs nothing, and may have begun with another.
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

  /** In 1e-9 USD, until now. */
  async since(asked: Asked): Promise<bigint> {
    const known = this.#knownOf(asked);
    const { ended, open } = await this.#tally(asked, known);
    const now = this.#clock.now();
    let sum = ended;
    for (const span of open.values()) sum += costOf(span, asked.since, now);
    return sum;
  }

  /** The same for those who keep others waiting: what is not known within this time is not waited for, and known a little later. */
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
    // A clock that was set back is no reason to trust what was read before.
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
    // What was read as a whole meanwhile is better, and goes on from there at the next look.
    if (known.tally === tally) known.tally = next;
    return next;
  }

  /** Beside those who ask: nobody waits for it, and one that fails is tried again by the next look. */
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

  /** What is open is listed first: what ends while all is read is then found among those that ended, or is still to end at the next look. */
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

  /** Those that began since a little before a moment. */
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
    // The last that was asked for stands at the end.
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
