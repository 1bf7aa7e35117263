/** A machine on which a node runs instances, and what the node knows about it. */
import type { Reason } from "../kernel/reason.ts";
import type { Compute } from "../ports/compute/compute.ts";
import type { Runs } from "./need.ts";

/** Where a machine is. */
export interface Site {
  /** The data center that it counts for if nobody asks for another. */
  dataCenter: string;
  /** The machine counts for every data center of the catalog. */
  isEverywhere?: boolean;
  /** The machine's public address, if it is known to have one. */
  publicIp?: string | undefined;
  /** Where others reach ports of the machine: its public address, or else another address that it has. */
  reachedAt?: string | undefined;
}

export interface OwnMachine {
  id: string;
  compute: Compute;
  /** The URL at which workers of an image reach this server. It is asked for once the image is prepared. */
  workerUrl: (image: string) => string | Promise<string>;
  site: Site;
  /** Which images the machine runs. If absent, it runs any. */
  runs?: readonly Runs[];
  /** When the machine was last booted, if known. A program that ended before did not end by itself. */
  bootedAt?: number;
  /** Why nothing new is started here, such as a full disk, or undefined if nothing prevents it. */
  refusal?: () => Reason | undefined;
}
