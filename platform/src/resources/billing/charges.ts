/** The things that are charged: GPUs, vCPUs and disks of Pods, workers and members, the tiers of volumes, and public endpoints. */
import type { Component } from "../../metering/reckoning.ts";
import type { KeptSpan } from "../../metering/span.ts";

export type Charge =
  | `${"pod" | "worker" | "member"} ${Component}`
  | "volume STANDARD"
  | "volume HIGH_PERFORMANCE"
  | "endpoint";

/** Amounts are in 1e-9 USD. */
export type Amounts = Map<Charge, bigint>;

export function chargeOf({ kind, tier = "STANDARD" }: KeptSpan, component: Component): Charge {
  return kind === "volume" ? `volume ${tier}` : `${kind} ${component}`;
}
