/** The bells of a server: its parts ring them to notify parts that are created later. */
import { WorkerNews } from "../jobs/worker-events.ts";
import { Bell } from "../kernel/bell.ts";
import type { InstanceItem } from "../machines/instances.ts";
import type { FleetBells } from "../resources/workers/running/fleet.ts";

export interface Bells extends FleetBells {
  /** Rung with every instance whose machine must act on its record. */
  toDo: Bell<InstanceItem>;
  /** A Pod is gone or has left its place, so there may be room for others. */
  freed: Bell;
}

export const makeBells = (): Bells => ({
  wanted: new Bell(),
  changed: new Bell(),
  lacking: new Bell(),
  loads: new Bell(),
  news: new WorkerNews(),
  toDo: new Bell(),
  freed: new Bell(),
});
