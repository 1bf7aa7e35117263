/** Logs on other nodes. A running worker's log is on its machine's node; the log of an ended worker is on the node that kept it. */

import { isProblem, problem } from "../../kernel/problem.ts";
import type { Peer } from "../../machines/machines.ts";
import type { LogLine } from "../../ports/logs/logs.ts";
import type { PodLogAsked } from "../../resources/pods/logs.ts";
import type { LogAsked, LogsElsewhere } from "../../resources/workers/service.ts";
import type { NodeCalls } from "./calls.ts";
import { POD } from "./paths.ts";

export class OtherLogs implements LogsElsewhere {
  readonly #here: readonly string[];
  readonly #calls: NodeCalls;
  readonly #peers: () => Promise<readonly Peer[]>;

  constructor(parts: { here: readonly string[]; calls: NodeCalls; peers: () => Promise<readonly Peer[]> }) {
    this.#here = parts.here;
    this.#calls = parts.calls;
    this.#peers = parts.peers;
  }

  isHere(machine: string): boolean {
    return this.#here.includes(machine);
  }

  async follow(machine: string, { endpoint, worker, ...rest }: LogAsked): Promise<AsyncIterable<LogLine[]>> {
    return this.#calls.follow(await this.#peerOf(machine), endpoint, worker, rest);
  }

  /** Follows the log of a Pod that is, or last was, on another machine. */
  async followPod(machine: string, { pod, ...rest }: PodLogAsked): Promise<AsyncIterable<LogLine[]>> {
    return this.#calls.follow(await this.#peerOf(machine), POD, pod, rest);
  }

  async #peerOf(machine: string): Promise<Peer> {
    const peer = (await this.#peers()).find(({ machines }) => machines.includes(machine));
    if (peer) return peer;
    throw problem("no-answer", `machine ${machine} is not reachable: its node is silent`);
  }

  /**
   * Asks the nodes one after another, for there are few. If one could not be asked, it may have the log, so the answer is not "not found".
   */
  async find({ endpoint, worker, ...rest }: LogAsked): Promise<AsyncIterable<LogLine[]>> {
    let refusal = problem("not-found", "worker not found");
    for (const peer of await this.#peers()) {
      // A node without an address has no machine, and so no logs.
      if (peer.url === undefined) continue;
      try {
        return await this.#calls.follow(peer, endpoint, worker, rest);
      } catch (error) {
        if (!isProblem(error)) throw error;
        if (error.code !== "not-found") refusal = error;
      }
    }
    throw refusal;
  }
}
