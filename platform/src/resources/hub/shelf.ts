/** The listings of this node: read from their sources, and read again when those change. What could be read stays if a source fails. */
import { type Duty, every } from "../../kernel/background.ts";
import { type Clock, timestamp } from "../../kernel/clock.ts";
import { type Failed, named } from "../../kernel/failed.ts";
import { floating } from "../../kernel/floating.ts";
import { type Fault, type ListingSource, SOURCE_LIMITS } from "../../ports/listings/listings.ts";
import { imagesFrom, type Listing, listingFrom } from "./listing.ts";
import type { HubSource } from "./model.ts";

/** A run may fetch several repositories, each for minutes. */
const READING = { name: "read the hub", everyMs: 10_000, longestMs: 3_600_000 };

interface Kept {
  source: ListingSource;
  listings: readonly Listing[];
  faults: readonly Fault[];
  readAt: number | null;
  /** By the clock that never jumps. */
  renewAt: number;
  trouble: string | null;
}

export class HubShelf implements AsyncDisposable {
  readonly #kept: Kept[];
  readonly #clock: Clock;
  readonly #failed: Failed;
  readonly #duty: Duty;
  readonly #first: Promise<void>;
  #listings = new Map<string, Listing>();

  /** Of two listings with the same id, the one of the first source is offered. */
  constructor({ sources, clock, failed }: { sources: readonly ListingSource[]; clock: Clock; failed: Failed }) {
    this.#clock = clock;
    this.#failed = failed;
    const unread = { listings: [], faults: [], readAt: null, renewAt: 0, trouble: null };
    this.#kept = sources.map((source) => ({ source, ...unread }));
    this.#first = this.#readAll();
    this.#duty = every(clock, READING, () => this.#tick(), failed);
    floating(
      this.#first.then(() => this.#duty.soon()),
      named(failed, READING.name),
    );
  }

  /** By title. The first call waits until the sources were read once. */
  async all(): Promise<Listing[]> {
    await this.#first;
    return [...this.#listings.values()].sort((a, b) => a.title.localeCompare(b.title) || (a.id < b.id ? -1 : 1));
  }

  async find(id: string): Promise<Listing | undefined> {
    await this.#first;
    return this.#listings.get(id.toLowerCase());
  }

  /** Only the release that a listing has now is known. */
  async ofRelease(releaseId: string): Promise<Listing | undefined> {
    const listing = await this.find(releaseId.slice(0, releaseId.lastIndexOf("@")));
    return listing?.releaseId === releaseId ? listing : undefined;
  }

  sources(): HubSource[] {
    return this.#kept.map(({ source: { kind, place }, listings, faults, readAt, trouble }) => ({
      ...{ kind, place, trouble },
      listings: listings.length,
      readAt: readAt === null ? null : timestamp(readAt),
      faults: faults.map((fault) => ({ ...fault })),
    }));
  }

  /** The sources end first, so that nobody waits for a network. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { source } of this.#kept) await source[Symbol.asyncDispose]();
    await this.#first;
    await this.#duty[Symbol.asyncDispose]();
  }

  async #tick(): Promise<void> {
    for (const kept of this.#kept) await this.#renew(kept);
    await this.#readAll();
  }

  async #renew(kept: Kept): Promise<void> {
    const { source, renewAt } = kept;
    if (source.renewEveryMs === undefined || this.#clock.monotonic() < renewAt) return;
    kept.renewAt = this.#clock.monotonic() + source.renewEveryMs;
    try {
      await source.renew();
      kept.trouble = null;
    } catch (error) {
      this.#note(kept, error);
    }
  }

  async #readAll(): Promise<void> {
    for (const kept of this.#kept) await this.#read(kept);
    const all = new Map<string, Listing>();
    for (const kept of this.#kept) {
      for (const listing of kept.listings) if (!all.has(listing.id)) all.set(listing.id, listing);
    }
    this.#listings = all;
  }

  async #read(kept: Kept): Promise<void> {
    try {
      const { listings: found, images, faults: before } = await kept.source.read();
      const faults = [...before];
      const named = imagesFrom(images, faults);
      const read = found.map((one) => listingFrom(one, named));
      const listings = read.flatMap(({ listing }) => listing ?? []);
      kept.listings = listings.filter(({ id }, at) => isFirst(listings, id, at) || isDouble(id, faults));
      kept.faults = [...faults, ...read.flatMap(({ faults }) => faults)].slice(0, SOURCE_LIMITS.faults);
      kept.readAt = this.#clock.now();
      if (kept.source.renewEveryMs === undefined) kept.trouble = null;
    } catch (error) {
      // A repository that was never fetched has told already why.
      if (kept.trouble === null && kept.source.renewEveryMs === undefined) this.#note(kept, error);
    }
  }

  /** The same trouble is reported once, and not at every look. */
  #note(kept: Kept, error: unknown): void {
    const why = (error as Error).message;
    if (kept.trouble !== why) this.#failed(new Error(`${kept.source.place}: ${why}`, { cause: error }), READING.name);
    kept.trouble = why;
  }
}

const isFirst = (listings: readonly Listing[], id: string, at: number) =>
  listings.findIndex((one) => one.id === id) === at;

function isDouble(id: string, faults: Fault[]): false {
  faults.push({
    file: id,
    field: "",
    why: "is the id of another listing of this source too; only the first is offered",
  });
  return false;
}
