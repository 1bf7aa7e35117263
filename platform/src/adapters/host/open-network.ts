/** Chooses the network of instances: one of its own for each where that can be, else the machine's, which only those may use that run without isolation. */
import { join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import type { Egress } from "../../ports/compute/egress.ts";
import type { PortRange } from "../../ports/compute/publish.ts";
import type { Isolation } from "../machine/isolation.ts";
import { BridgeNetwork } from "./bridge-network.ts";
import type { InstanceNetwork } from "./network.ts";
import { SharedNetwork } from "./shared-network.ts";

export interface NetworkOptions {
  folder: string;
  clock: Clock;
  /** What programs reach beyond the internet. */
  egress: Egress;
  /** Ports of the machine that can be led to instances. */
  publishedPorts?: PortRange | undefined;
}

export async function openNetwork(
  { folder, clock, egress, publishedPorts }: NetworkOptions,
  { key, seed, sandboxed, isolation }: { key: string; seed: number; sandboxed: boolean; isolation: Isolation },
): Promise<InstanceNetwork> {
  if (!sandboxed) return new SharedNetwork();
  try {
    return await BridgeNetwork.open({ key, file: join(folder, ".network"), seed, clock, egress, publishedPorts });
  } catch (error) {
    // Tenants read this too, whom the place of the data folder does not concern.
    const reason = (error as Error).message.replaceAll(folder, "the data folder");
    isolation.note("network", `instances would share the machine's network: ${reason}`);
    return new SharedNetwork();
  }
}
