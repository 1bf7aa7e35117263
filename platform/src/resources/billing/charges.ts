/** What is charged for: of Pods, workers and members their GPUs, vCPUs and disks; of volumes their tier. */
import type { Component } from "../../metering/reckoning.ts";
import type { KeptSpan } from "../../metering/span.ts";

export type Charge = `${"pod" | "worker" | "member"} ${Component}` | "volume STANDARD" | "volume HIGH_PERFORMANCE";

/** In 1e-9 USD. */
export type Amounts = Map<Charge, bigint>;

export function chargeOf({ kind, tier = "STANDARD" }: KeptSpan, component: Component): Charge {
  return kind === "volume" ? `volume ${tier}` : `${kind} ${component}`;
}
