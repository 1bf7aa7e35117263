/** A worker of a load-balancing endpoint between its start and its end: health-checked, and in the balancer while it is well. */
import type { Duplex } from "node:stream";
import type { Clock } from "../kernel/clock.ts";
import { listeningOf } from "../resources/endpoints/listening.ts";
import type { Balancer } from "./balancer.ts";
import { HealthCheck } from "./health-check.ts";

export interface Joining {
  endpoint: string;
  worker: string;
  /** A connection to a port of this boot. */
  dial(port: number): Promise<Duplex>;
  /** The environment of this boot, which says where its application listens. */
  env: Readonly<Record<string, string>>;
}

/** What the fleet wants to know of it. */
export interface RotationListener {
  /** It answered its health check for the first time. */
  ready(): void;
  /** It is to be ended, for this reason. */
  failed(reason: string): void;
}

export interface Member {
  /** It gets no more requests; resolves when it has answered what it has. */
  drain(): Promise<void>;
  /** It is about to be frozen, and nobody talks to it until it joins again. */
  freeze(): void;
  /** It has ended, for this reason. */
  leave(reason: string): void;
}

export class Rotation {
  readonly #clock: Clock;
  readonly #balancer: Balancer;

  constructor(parts: { clock: Clock; balancer: Balancer }) {
    this.#clock = parts.clock;
    this.#balancer = parts.balancer;
  }

  /** From the time at which its program runs, and anew after a thaw. Throws when the environment names a port that is none. */
  join({ endpoint, worker, dial, env }: Joining, listener: RotationListener): Member {
    const balancer = this.#balancer;
    const { port, ...health } = listeningOf(env);
    let known = false;
    balancer.add(endpoint, { worker, dial: () => dial(port), doubted: () => check.doubt() });
    const check = new HealthCheck(
      this.#clock,
      { dial, ...health },
      {
        ready() {
          balancer.ready(endpoint, worker);
          if (!known) listener.ready();
          known = true;
        },
        ailing: (reason) => balancer.doubt(endpoint, worker, reason),
        failed(reason) {
          balancer.doubt(endpoint, worker, reason);
          listener.failed(reason);
        },
      },
    );
    return {
      async drain() {
        check[Symbol.dispose]();
        await balancer.drain(endpoint, worker);
      },
      freeze() {
        check[Symbol.dispose]();
        balancer.freeze(endpoint, worker);
      },
      leave(reason) {
        check[Symbol.dispose]();
        balancer.remove(endpoint, worker, reason);
      },
    };
  }
}
