/** Health checks: asks a worker's health path repeatedly and reports when it becomes ready, ails or is given up. */
import { request } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock, Timer } from "../kernel/clock.ts";
import { floating } from "../kernel/floating.ts";
import { withoutPlaces } from "../kernel/places.ts";
import { because, type Reason } from "../kernel/reason.ts";
import { connection } from "./connection.ts";
import {
  GIVE_UP_MS,
  type Health,
  intervalOf,
  isGivenUp,
  judge,
  newborn,
  type Phase,
  PROBE_TIMEOUT_MS,
  type Probed,
} from "./health.ts";

export interface Watched {
  healthPort: number;
  healthPath: string;
  dial(port: number): Promise<Duplex>;
}

export interface HealthListener {
  /** The worker answered 200, for the first time or after it ailed. */
  ready(): void;
  /** The worker is not ready, for this reason. Called after every check that fails. */
  ailing(reason: string, told: { wasReady: boolean; isOnItsWay: boolean }): void;
  /** The worker ailed for so long that it is given up. It is not asked any more. */
  failed(reason: Reason): void;
}

export class HealthCheck implements Disposable {
  readonly #clock: Clock;
  readonly #watched: Watched;
  readonly #listener: HealthListener;
  #health: Health;
  #timer: Timer | undefined;
  #probing = false;
  #over = false;

  /** `phase` is what is already known: a worker that an earlier process found ready is not starting. */
  constructor(clock: Clock, watched: Watched, listener: HealthListener, phase?: Phase) {
    this.#clock = clock;
    this.#watched = watched;
    this.#listener = listener;
    this.#health = newborn(clock.monotonic(), phase);
    this.soon();
  }

  /** Checks now and reports the result even if it is unchanged, because somebody doubts the worker. */
  doubt(): void {
    if (this.#health.phase === "ready") this.#health = { ...this.#health, phase: "ailing", reason: "it is in doubt" };
    this.soon();
  }

  soon(): void {
    if (this.#over || this.#probing) return;
    this.#timer?.cancel();
    this.#probing = true;
    // A listener reports its own failures, and the timer of the next check is already set.
    floating(this.#probe(), () => {});
  }

  [Symbol.dispose](): void {
    this.#over = true;
    this.#timer?.cancel();
  }

  async #probe(): Promise<void> {
    const probed = await probe(this.#watched, this.#clock);
    this.#probing = false;
    if (this.#over) return;
    const before = this.#health;
    const now = this.#clock.monotonic();
    this.#health = judge(before, probed, now);
    this.#timer = this.#clock.after(intervalOf(this.#health), () => this.soon());
    this.#tell(before, now);
  }

  #tell(before: Health, now: number): void {
    const { phase, reason, isOnItsWay = false } = this.#health;
    const { healthPort, healthPath } = this.#watched;
    const said = `GET ${healthPath} on port ${healthPort}: ${reason}`;
    if (phase === "ready" && before.phase !== "ready") this.#listener.ready();
    else if (isGivenUp(this.#health, now)) {
      this[Symbol.dispose]();
      this.#listener.failed(because("never-healthy", { minutes: GIVE_UP_MS / 60_000, check: said }));
    } else if (phase !== "ready") this.#listener.ailing(said, { wasReady: phase === "ailing", isOnItsWay });
  }
}

async function probe(watched: Watched, clock: Clock): Promise<Probed> {
  const over = new AbortController();
  const timer = clock.after(PROBE_TIMEOUT_MS, () => over.abort(new Error(`no answer in ${PROBE_TIMEOUT_MS / 1000} s`)));
  try {
    return { status: await ask(watched, clock, over.signal) };
  } catch (error) {
    return { failure: withoutPlaces((error as Error).message) };
  } finally {
    timer.cancel();
    over.abort();
  }
}

/** Returns the status of the answer. The signal closes the connection, even one that is made only afterwards. */
function ask({ dial, healthPort, healthPath }: Watched, clock: Clock, signal: AbortSignal): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  signal.addEventListener("abort", () => reject(signal.reason));
  const headers = { host: "localhost", "user-agent": "millrace-health-check", connection: "close" };
  connection(() => dial(healthPort), clock)
    .then((worker) => {
      signal.addEventListener("abort", () => worker.destroy());
      if (signal.aborted) worker.destroy();
      request({ createConnection: () => worker, path: healthPath, headers })
        .once("response", ({ statusCode = 0 }) => resolve(statusCode))
        .on("error", reject)
        .end();
    })
    .catch(reject);
  return promise;
}
