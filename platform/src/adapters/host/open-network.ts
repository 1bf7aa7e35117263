/** Chooses the network of instances: one of its own for each where that can be, else the machine's. */
import { join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import type { Egress } from "../../ports/compute/egress.ts";
import type { PortRange } from "../../ports/compute/publish.ts";
import { BridgeNetwork } from "./bridge-network.ts";
import type { InstanceNetwork } from "./network.ts";
import { SharedNetwork } from "./shared-network.ts";

export interface NetworkOptions {
  folder: string;
  clock: Clock;
  log: Log;
  /** What programs reach beyond the internet. */
  egress: Egress;
  /** Ports of the machine that can be led to instances. */
  publishedPorts?: PortRange | undefined;
}

export async function openNetwork(
  { folder, clock, log, egress, publishedPorts }: NetworkOptions,
  { key, seed, sandboxed }: { key: string; seed: number; sandboxed: boolean },
): Promise<InstanceNetwork> {
  if (!sandboxed) return new SharedNetwork();
  try {
    return await BridgeNetwork.open({ key, file: join(folder, ".network"), seed, clock, egress, publishedPorts });
  } catch (error) {
    log.warn({}, `instances share the machine's network: ${(error as Error).message}`);
    return new SharedNetwork();
  }
}
