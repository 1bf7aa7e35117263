/** Connects to ports that programs of the host open on their loopback address. */
import type { Duplex } from "node:stream";
import { dialFirst, type Loopback, type LoopbackTarget, notReached } from "../../ports/compute/loopback.ts";
import type { HostInstance } from "./host-instance.ts";
import { networkedOf } from "./host-parts.ts";
import type { InstanceNetwork } from "./network.ts";

export class HostLoopback implements Loopback {
  readonly #instances: ReadonlyMap<string, HostInstance>;
  readonly #network: InstanceNetwork;

  constructor(instances: ReadonlyMap<string, HostInstance>, network: InstanceNetwork) {
    this.#instances = instances;
    this.#network = network;
  }

  async dial(id: string, target: LoopbackTarget): Promise<Duplex> {
    const instance = this.#instances.get(id);
    if (!instance) throw new Error(`no instance ${id}`);
    if (instance.isEnded) throw notReached(id, target, "it has ended");
    return dialFirst(target, (place) =>
      this.#network.dialInside(networkedOf(instance), place).catch((error: Error) => {
        throw notReached(id, target, error.message, error);
      }),
    );
  }
}
