/** The bells of a server: what its parts tell those that are made after them. */
import { WorkerNews } from "../jobs/worker-events.ts";
import { Bell } from "../kernel/bell.ts";
import type { InstanceItem } from "../machines/instances.ts";
import type { FleetBells } from "../resources/workers/running/fleet.ts";

export interface Bells extends FleetBells {
  /** Rung with every instance whose record its machine must act on. */
  toDo: Bell<InstanceItem>;
  /** A Pod is gone, or has left its place: there may be room for others. */
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
