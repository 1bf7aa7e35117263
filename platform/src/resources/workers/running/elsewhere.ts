/** Adds load-balanced workers of other nodes to this node's balancer, as those nodes report them, and reaches them through those nodes. */

import type { Duplex } from "node:stream";
import type { Backend, Standing, Told } from "../../../balancing/balanced-group.ts";
import type { Balancer } from "../../../balancing/balancer.ts";
import { timestamp } from "../../../kernel/clock.ts";
import { floating } from "../../../kernel/floating.ts";
import type { Peer } from "../../../machines/machines.ts";

/** Opens a connection to a worker on another node's machine. */
export type Reach = (peer: Pick<Peer, "id" | "url">, endpoint: string, worker: string) => Promise<Duplex>;

interface Known {
  endpoint: string;
  node: string;
  standing: Standing;
  /** When the worker's node last reported. */
  seenAt: number;
  /** The report that was current when the worker could not be reached. Only a newer report makes it ready again. */
  doubtedAt?: number;
}

/** A worker counts as ready only while its node reports. Requests that it already has continue. */
const doubted = (told: Told, node: string, seenAt: number): Told => ({
  ...told,
  standing: "doubtful",
  reason: `its node ${node} has been silent since ${timestamp(seenAt)}`,
});

export class Elsewhere {
  readonly #balancer: Balancer;
  readonly #reach: Reach;
  readonly #workers = new Map<string, Known>();
  readonly #urls = new Map<string, string | undefined>();

  constructor({ balancer, reach }: { balancer: Balancer; reach: Reach }) {
    this.#balancer = balancer;
    this.#reach = reach;
  }

  /** Takes over what the other nodes report. Workers that no node reports any more are removed. */
  learn(peers: readonly Peer[]): void {
    const spokenOf = new Set<string>();
    for (const { id, url, seenAt, loads, isSilent } of peers) {
      this.#urls.set(id, url);
      for (const [endpoint, { workers }] of Object.entries(loads)) {
        for (const [worker, said] of Object.entries(workers)) {
          spokenOf.add(worker);
          const told = isSilent && said.standing === "ready" ? doubted(said, id, seenAt) : said;
          this.#note(worker, told, { endpoint, node: id, standing: told.standing, seenAt });
        }
      }
    }
    const there = new Set(peers.map(({ id }) => id));
    for (const [worker, { endpoint, node }] of [...this.#workers]) {
      if (spokenOf.has(worker)) continue;
      this.#workers.delete(worker);
      const reason = there.has(node) ? "it has ended" : `its node ${node} is silent`;
      this.#balancer.remove(endpoint, worker, reason);
    }
  }

  #note(worker: string, told: Told, now: Known): void {
    const before = this.#workers.get(worker);
    const isThawed = before?.standing === "frozen" && now.standing !== "frozen";
    if (!before || isThawed || before.node !== now.node) this.#balancer.add(now.endpoint, this.#backend(worker, now));
    this.#workers.set(worker, { ...now, doubtedAt: before?.doubtedAt });
    this.#balancer.tell(now.endpoint, worker, told);
    if (now.standing === "ready") this.#ready(worker);
    else if (now.standing !== before?.standing) this.#stand(worker, now, told.reason);
  }

  #ready(worker: string): void {
    const { endpoint, seenAt, doubtedAt } = this.#workers.get(worker)!;
    if (doubtedAt !== seenAt) this.#balancer.ready(endpoint, worker);
  }

  #stand(worker: string, { endpoint, standing }: Known, reason: string): void {
    if (standing === "frozen") this.#balancer.freeze(endpoint, worker);
    else if (standing === "leaving") floating(this.#balancer.drain(endpoint, worker), () => {});
    else this.#balancer.doubt(endpoint, worker, reason);
  }

  #backend(worker: string, { endpoint, node }: Known): Backend {
    return {
      worker,
      node,
      dial: () => this.#reach({ id: node, url: this.#urls.get(node) }, endpoint, worker),
      doubted: () => {
        const known = this.#workers.get(worker);
        if (known) known.doubtedAt = known.seenAt;
      },
    };
  }
}
