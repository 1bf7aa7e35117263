/** What a record says about its own metering: how many spans it has had, and the price of the open one. */

/**
 * A running instance is paid for, and a frozen one is free. Storage is "used" while its Pod has a place on a machine, and "kept" otherwise.
 */
export type Phase = "running" | "frozen" | "used" | "kept";

/**
 * Prices in 1e-9 USD. `storage` is per month of 730 hours, so that a price per GB and month stays a whole number. All others are per hour.
 */
export type Price = {
  gpu: number;
  cpu: number;
  /** Only in spans of older releases, which charged disks by the hour. */
  disk: number;
  storage: number;
};

/** The metering state of something on record. */
export type Metering = {
  /** The span that is open now, and since when. Absent while nothing is metered. */
  span?: OpenSpan | null;
  /** How many spans have begun. The open one is the last of them. */
  spans?: number;
  /** When the last span ended, if one has. None begins before that, whatever the clocks of other nodes say. */
  meteredUntil?: number;
};

export type OpenSpan = {
  phase: Phase;
  from: number;
  /** Absent in a span that an older release began. */
  price?: Price;
};
