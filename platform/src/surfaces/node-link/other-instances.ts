/** Reaches instances on other nodes' machines through the node that has them. */
import type { Duplex } from "node:stream";
import { problem } from "../../kernel/problem.ts";
import type { Peer } from "../../machines/machines.ts";
import type { ExecSpec, Execution } from "../../ports/compute/execution.ts";
import type { LoopbackTarget } from "../../ports/compute/loopback.ts";
import type { NodeCalls } from "./calls.ts";

export class OtherInstances {
  readonly #calls: NodeCalls;
  readonly #peers: () => Promise<readonly Peer[]>;

  constructor(parts: { calls: NodeCalls; peers: () => Promise<readonly Peer[]> }) {
    this.#calls = parts.calls;
    this.#peers = parts.peers;
  }

  /** Opens a connection to a port that the instance's `dial` may reach. */
  async dial(machine: string, instance: string, port: number): Promise<Duplex> {
    return this.#calls.dialInstance(await this.#peerOf(machine), instance, port);
  }

  /** Opens a connection to a port that an instance listens on only on its loopback. */
  async dialLoopback(machine: string, instance: string, target: LoopbackTarget): Promise<Duplex> {
    return this.#calls.dialLoopback(await this.#peerOf(machine), instance, target);
  }

  /** Starts one more program in an instance. Throws ExecRefused, as the driver there does. */
  async exec(machine: string, instance: string, spec: ExecSpec): Promise<Execution> {
    return this.#calls.exec(await this.#peerOf(machine), instance, spec);
  }

  async #peerOf(machine: string): Promise<Peer> {
    const peer = (await this.#peers()).find(({ machines }) => machines.includes(machine));
    if (peer) return peer;
    throw problem("no-answer", `machine ${machine} is not reachable: its node is silent`);
  }
}
