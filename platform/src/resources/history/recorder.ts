/** The recorder keeps the series of charts: one node samples gauges, every node counts its own jobs, and each writes once a minute. */
import { type Duty, every } from "../../kernel/background.ts";
import { eachOf } from "../../kernel/bounded.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Failed } from "../../kernel/failed.ts";
import { HISTORY_DAYS, keyOf, type Layout, type Subject, subjectOf } from "./model.ts";
import type { Counted, Sample } from "./point.ts";
import type { RecordedSpan, SeriesRecords, StoredSeries } from "./records.ts";
import { SAMPLE_MS, Track } from "./track.ts";

export interface Sampled {
  subject: Subject;
  values: Sample;
}

export interface CountedOf {
  subject: Subject;
  counted: Counted;
}

/** Where the values come from. A source leaves out resources that have only zeros and unknown values. */
export interface Sources {
  /** Samples the gauges of the whole installation. */
  sample(): Promise<Sampled[]>;
  /** Returns what this node counted since the last call. */
  count(): Promise<CountedOf[]>;
  /** Whether the resource exists. */
  isThere(subject: Pick<Subject, "kind" | "id">): Promise<boolean>;
  /** Whether this is no longer a node of the installation. */
  isGone(node: string): Promise<boolean>;
}

export interface RecorderParts {
  records: SeriesRecords;
  sources: Sources;
  clock: Clock;
  failed: Failed;
  node: string;
  /** Whether this node is the one that samples. Absent if there is only one node. */
  mine?: ((now: number) => Promise<boolean>) | undefined;
  /** Series are kept for this many days. */
  days?: number | undefined;
}

const RECORDING = { name: "keep series of metrics", everyMs: SAMPLE_MS };
/** How often points are stored. A crash loses at most this much. */
const WRITE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
/** How often the recorder removes series whose resource is gone. A resource deleted during a write can leave some behind. */
const PRUNE_MS = DAY_MS;
/** Soon after the start, since a server may be restarted every day. */
const FIRST_PRUNE_MS = 10 * 60_000;
const READ_AT_ONCE = 16;

export class Recorder implements AsyncDisposable {
  readonly #parts: RecorderParts;
  readonly #tracks = new Map<string, Track>();
  readonly #duty: Duty;
  #span: RecordedSpan | undefined;
  /** Spans that are over, until their end is stored. */
  #ended: RecordedSpan[] = [];
  #writtenAt: number;
  #prunedAt: number;

  constructor(parts: RecorderParts) {
    this.#parts = parts;
    this.#writtenAt = parts.clock.monotonic();
    this.#prunedAt = this.#writtenAt - PRUNE_MS + FIRST_PRUNE_MS;
    this.#duty = every(parts.clock, RECORDING, (now) => this.tick(now), parts.failed);
  }

  /** Returns what this node has not stored yet of a resource in a tier. Its head replaces the stored one. */
  unwritten(key: string, number: number): StoredSeries[] {
    const track = this.#tracks.get(key);
    if (!track) return [];
    const { node } = this.#parts;
    const blocks = track.unwritten(number).map((block) => ({ block: block.number, rows: block.packed() }));
    return [{ node, isHead: true, ...track.head() }, ...blocks.map((block) => ({ node, isHead: false, ...block }))];
  }

  /** The current span of this node, if it samples. */
  get span(): RecordedSpan | undefined {
    return this.#span;
  }

  async tick(now: number): Promise<void> {
    const { sources, mine, clock } = this.#parts;
    const isSampling = !mine || (await mine(now));
    const sampled = isSampling ? await sources.sample() : [];
    const counted = await sources.count();
    await this.#load([...sampled, ...counted].map(({ subject }) => subject));
    this.#goOn(isSampling, now);
    const samples = new Map(sampled.map(({ subject, values }) => [keyOf(subject), values]));
    const counts = new Map(counted.map(({ subject, counted }) => [keyOf(subject), counted]));
    for (const [key, track] of this.#tracks) {
      const values = samples.get(key) ?? (isSampling ? NOTHING : undefined);
      track.note(now, counts.get(key), values && wholeSample(track.layout, values));
    }
    if (clock.monotonic() - this.#writtenAt < WRITE_MS) return;
    await this.#write(now);
    if (clock.monotonic() - this.#prunedAt >= PRUNE_MS) await this.#prune(isSampling, now);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#duty[Symbol.asyncDispose]();
    try {
      await this.#write(this.#parts.clock.now());
    } catch (error) {
      this.#parts.failed(error, RECORDING.name);
    }
  }

  /** Makes tracks for these subjects. Each continues from its stored head. */
  async #load(subjects: readonly Subject[]): Promise<void> {
    const { records, node } = this.#parts;
    const unknown = new Map(subjects.map((subject) => [keyOf(subject), subject]));
    for (const key of this.#tracks.keys()) unknown.delete(key);
    await eachOf([...unknown], READ_AT_ONCE, async ([key, subject]) => {
      const track = new Track(subject, await records.headOf(key, node));
      if (this.#span) track.beginSpan(this.#span.from);
      this.#tracks.set(key, track);
    });
  }

  #goOn(isSampling: boolean, now: number): void {
    if (isSampling === (this.#span !== undefined)) {
      if (this.#span) this.#span.to = Math.max(this.#span.to, now);
      return;
    }
    if (this.#span) this.#ended.push(this.#span);
    this.#span = isSampling ? { by: this.#parts.node, from: now, to: now } : undefined;
    for (const track of this.#tracks.values()) track.beginSpan(now);
  }

  async #write(now: number): Promise<void> {
    const { records, node, clock } = this.#parts;
    this.#writtenAt = clock.monotonic();
    await this.#dropGone();
    const dirty = [...this.#tracks.values()].filter(({ isDirty }) => isDirty);
    for (const { key } of await records.write(dirty, node, now)) this.#tracks.delete(key);
    for (const [key, track] of this.#tracks) if (track.isAtRest) this.#tracks.delete(key);
    const spans = [...this.#ended, ...(this.#span ? [{ ...this.#span }] : [])];
    if (spans.length > 0) await records.noteSpans(spans, now);
    this.#ended = [];
  }

  /** Drops tracks that were never stored and whose resource was deleted meanwhile. */
  async #dropGone(): Promise<void> {
    const made = [...this.#tracks.values()].filter(({ isDirty, isStored }) => isDirty && !isStored);
    await eachOf(made, READ_AT_ONCE, async ({ key, subject }) => {
      if (!(await this.#parts.sources.isThere(subject))) this.#tracks.delete(key);
    });
  }

  async #prune(isSampling: boolean, now: number): Promise<void> {
    const { records, sources, clock, node: mine, days = HISTORY_DAYS } = this.#parts;
    this.#prunedAt = clock.monotonic();
    const isGone = async (node: string) => isSampling && sources.isGone(node);
    await records.removeBefore(now - days * DAY_MS, { mine, isGone });
    if (!isSampling) return;
    for await (const key of records.keys()) {
      if (await sources.isThere(subjectOf(key))) continue;
      this.#tracks.delete(key);
      await records.remove(key);
    }
  }
}

const NOTHING: Sample = [];

/** A value that a sample leaves out is unknown if the gauge allows that, and 0 otherwise. A whole sample stays the same object. */
function wholeSample({ gauges }: Layout, values: Sample): Sample {
  const isWhole = gauges.every(({ isOptional }, i) => isOptional || values[i] !== undefined);
  return isWhole ? values : gauges.map(({ isOptional }, i) => values[i] ?? (isOptional ? undefined : 0));
}
