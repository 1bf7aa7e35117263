/** What a record says of its own metering: where its spans stand, and the price of the one that is open. */

/**
 * An instance whose program runs is paid for; one that is frozen is free. Storage is used while its Pod has a place on a machine, and kept
 * otherwise.
 */
export type Phase = "running" | "frozen" | "used" | "kept";

/** In 1e-9 USD: `storage` per month of 730 hours, so that what is said per GB and month stays a whole number; all else per hour. */
export type Price = {
  gpu: number;
  cpu: number;
  /** Only in spans of releases that reckoned disks by the hour. */
  disk: number;
  storage: number;
};

/** Where the spans of something on record stand. */
export type Metering = {
  /** The span that is open now, and since when; absent while nothing of it is metered. */
  span?: OpenSpan | null;
  /** How many spans were begun for it; the open one is the last of them. */
  spans?: number;
};

export type OpenSpan = {
  phase: Phase;
  from: number;
  /** Absent where an older release began it. */
  price?: Price;
};
