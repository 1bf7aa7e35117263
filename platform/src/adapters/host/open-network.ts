/** Chooses the network of instances: their own where possible, else the machine's, which only programs without isolation may use. */
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
  /** The addresses that programs reach in addition to the internet. */
  egress: Egress;
  /** Ports of the machine that can be forwarded to instances. */
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
    // Tenants read this reason too, and must not learn the path of the data folder.
    const reason = (error as Error).message.replaceAll(folder, "the data folder");
    isolation.note("network", `instances would share the machine's network: ${reason}`);
    return new SharedNetwork();
  }
}
