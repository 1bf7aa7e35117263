/** A machine that a node runs instances on, and what it tells them of it. */
import type { Reason } from "../kernel/reason.ts";
import type { Compute } from "../ports/compute/compute.ts";
import type { Runs } from "./need.ts";

/** Where a machine stands. */
export interface Site {
  /** The data center that it is in, where nobody asks for another. */
  dataCenter: string;
  /** It stands in every data center of the catalog. */
  isEverywhere?: boolean;
  /** The machine's address to the world, if it is known to have one. */
  publicIp?: string | undefined;
  /** Where others reach ports of the machine: its address to the world, or else one that it has. */
  reachedAt?: string | undefined;
}

export interface OwnMachine {
  id: string;
  compute: Compute;
  /** Where workers of an image reach this server; asked once the image is prepared. */
  workerUrl: (image: string) => string | Promise<string>;
  site: Site;
  /** What images it runs; any where nothing is said. */
  runs?: readonly Runs[];
  /** When it was last switched on, as far as that is known: what ended before did not end by itself. */
  bootedAt?: number;
  /** Why nothing new is begun here, such as a full disk; undefined when nothing is in the way. */
  refusal?: () => Reason | undefined;
}
