/** Workers of load-balancing endpoints from start to end: they are health-checked, and get requests while they are healthy. */

import type { Duplex } from "node:stream";
import type { Balancer } from "../../../balancing/balancer.ts";
import { HealthCheck } from "../../../balancing/health-check.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { type Failed, named } from "../../../kernel/failed.ts";
import { floating } from "../../../kernel/floating.ts";
import type { Reason } from "../../../kernel/reason.ts";
import { listeningOf } from "../../endpoints/listening.ts";

export interface Joining {
  endpoint: string;
  worker: string;
  /** The environment of this boot, which says where its application listens. */
  env: Readonly<Record<string, string>>;
  /** Its record says that it was healthy before this process began. */
  wasReady?: boolean;
}

/** Why a worker that was healthy gets no requests. */
export interface Ailment {
  /** A time on the monotonic clock. */
  sinceMs: number;
  reason: string;
  /** The worker reports that it is getting ready again. */
  isOnItsWay: boolean;
}

/** Hears what happens to a worker. */
export interface RotationListener {
  /** The worker passed its health check for the first time since it joined. */
  ready(worker: string): void;
  /** The worker has to be ended, for this reason. */
  failed(worker: string, reason: Reason): void;
  /** The worker was drained and has answered its last request. */
  drained(worker: string): void;
  /** The worker is unhealthy, is so for another reason than before, or is healthy again. */
  ailing(worker: string): void;
}

export interface RotationParts {
  clock: Clock;
  balancer: Balancer;
  /** Opens a connection to a port of a worker. */
  dial(worker: string, port: number): Promise<Duplex>;
  failed: Failed;
  told: RotationListener;
}

interface Rotated {
  endpoint: string;
  check: HealthCheck;
  leaving: boolean;
  /** Null while the worker is healthy; undefined until that is known. */
  ailment: Ailment | null | undefined;
}

export class Rotation implements Disposable {
  readonly #parts: RotationParts;
  readonly #rotated = new Map<string, Rotated>();

  constructor(parts: RotationParts) {
    this.#parts = parts;
  }

  has(worker: string): boolean {
    return this.#rotated.has(worker);
  }

  /** Called when the worker's program runs, and again after a thaw. Throws if the environment names an invalid port. */
  join({ endpoint, worker, env, wasReady = false }: Joining): void {
    const { balancer, clock } = this.#parts;
    const dial = (port: number) => this.#parts.dial(worker, port);
    const { port, ...health } = listeningOf(env);
    this.#rotated.get(worker)?.check[Symbol.dispose]();
    let known = false;
    balancer.add(endpoint, { worker, dial: () => dial(port), doubted: () => check.doubt() });
    const check = new HealthCheck(
      clock,
      { dial, ...health },
      {
        ready: () => {
          balancer.ready(endpoint, worker);
          this.#note(worker, null);
          if (!known) this.#parts.told.ready(worker);
          known = true;
        },
        ailing: (reason, { wasReady, isOnItsWay }) => {
          balancer.doubt(endpoint, worker, reason);
          if (wasReady) this.#note(worker, { sinceMs: clock.monotonic(), reason, isOnItsWay });
        },
        failed: (reason) => {
          balancer.doubt(endpoint, worker, reason.text);
          this.#parts.told.failed(worker, reason);
        },
      },
      wasReady ? "ailing" : "starting",
    );
    this.#rotated.set(worker, { endpoint, check, leaving: false, ailment: undefined });
  }

  /** Null for a healthy worker; undefined while nobody knows. */
  ailmentOf(worker: string): Ailment | null | undefined {
    return this.#rotated.get(worker)?.ailment;
  }

  #note(worker: string, now: Ailment | null): void {
    const rotated = this.#rotated.get(worker);
    if (!rotated) return;
    const before = rotated.ailment;
    const isSameKind = before && now && before.isOnItsWay === now.isOnItsWay;
    rotated.ailment = isSameKind ? { ...now, sinceMs: before.sinceMs } : now;
    if (before?.reason !== now?.reason) this.#parts.told.ailing(worker);
  }

  /** Sends the worker no more requests. Returns true while it still has some. */
  drain(worker: string): boolean {
    const rotated = this.#rotated.get(worker);
    if (!rotated) return false;
    const { endpoint, check } = rotated;
    const { balancer } = this.#parts;
    const isBusy = this.isBusy(worker);
    if (!rotated.leaving) {
      rotated.leaving = true;
      check[Symbol.dispose]();
      const drained = balancer.drain(endpoint, worker);
      if (isBusy)
        floating(
          drained.then(() => this.#parts.told.drained(worker)),
          named(this.#parts.failed, "drain workers"),
        );
    }
    return isBusy;
  }

  /** Takes the worker out of use before it is frozen, until it joins again. Returns false without a change while it has requests. */
  freeze(worker: string): boolean {
    const rotated = this.#rotated.get(worker);
    if (!rotated || this.isBusy(worker)) return false;
    rotated.check[Symbol.dispose]();
    this.#parts.balancer.freeze(rotated.endpoint, worker);
    return true;
  }

  /** Whether the worker has requests, from any node. */
  isBusy(worker: string): boolean {
    const rotated = this.#rotated.get(worker);
    const occupations = rotated && this.#parts.balancer.occupations(rotated.endpoint);
    return (occupations?.get(worker)?.inFlight ?? 0) > 0;
  }

  /** The worker has ended, for this reason. */
  leave(worker: string, reason: string): void {
    const rotated = this.#rotated.get(worker);
    if (!rotated) return;
    this.#rotated.delete(worker);
    rotated.check[Symbol.dispose]();
    this.#parts.balancer.remove(rotated.endpoint, worker, reason);
  }

  /** Stops all health checks. */
  [Symbol.dispose](): void {
    for (const { check } of this.#rotated.values()) check[Symbol.dispose]();
    this.#rotated.clear();
  }
}
