/** How the application has its fleet of workers, and how those are told of it that are there before it. */

import { nobodyWarmsUp, type WarmUps } from "../jobs/warm-up.ts";
import type { WorkerEvents } from "../jobs/worker-events.ts";
import { Fleet, type FleetParts } from "../workers/fleet.ts";
import { type AppParts, leaseOf } from "./app-parts.ts";
import type { Services } from "./services.ts";

/** A process that is all there is, and has no machine, keeps no workers; one of many plans for the machines of others too. */
export function createFleet(
  parts: AppParts,
  { endpoints, secrets, registries, workerKeys, workerRecords, quotas, spending, volumes, drains }: Services,
  around: Pick<FleetParts, "desk" | "balancer" | "failed" | "frozen" | "reach" | "makeRoom">,
): Fleet | undefined {
  const { machines = [] } = parts;
  if (machines.length === 0 && parts.alone) return undefined;
  return new Fleet({
    ...parts,
    ...around,
    machines,
    endpoints,
    records: workerRecords,
    keys: workerKeys,
    quotas,
    spending,
    drains,
    reveal: (account, name) => secrets.reveal(account, name),
    accessTo: (pull) => registries.accessTo(pull),
    ensureVolume: (id) => volumes.ensure(id),
    mine: leaseOf("fleet", parts),
  });
}

/** The desk is there before the fleet that it tells. */
export function eventsFor(fleet: () => Fleet | undefined): WorkerEvents {
  return {
    heard: (call) => fleet()?.heard(call),
    unfit: (call, reason) => fleet()?.unfit(call, reason),
    tired: (call) => fleet()?.tired(call),
    stuck: (call) => fleet()?.stuck(call),
  };
}

export function warmUpsOf(fleet: () => Fleet | undefined): WarmUps {
  const known = () => fleet()?.warmUps ?? nobodyWarmsUp;
  return {
    begin: (call) => known().begin(call),
    lose: (call, isSure) => known().lose(call, isSure),
    end: (call, report) => known().end(call, report),
  };
}
