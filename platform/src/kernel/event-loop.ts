/** Watches how late the event loop is, once somebody asks. */
import { type EventLoopUtilization, monitorEventLoopDelay, performance } from "node:perf_hooks";

type Delays = ReturnType<typeof monitorEventLoopDelay>;

const RESOLUTION_MS = 20;
/** Two programs that ask in turns do not take each other's figures away. */
const LEAST_SPAN_MS = 5000;

export interface LoopFigures {
  /** In seconds. */
  p50: number;
  p99: number;
  longest: number;
  /** The share of the time in which the loop worked. */
  utilization: number;
}

export class EventLoopWatch implements Disposable {
  #delays: Delays | undefined;
  #used: EventLoopUtilization | undefined;
  #sinceMs = 0;

  /** The figures since the last reading. The watch begins with the first one: it costs a timer, which a server at rest need not have. */
  read(): LoopFigures {
    this.#delays ??= begun();
    const delays = this.#delays;
    const { utilization } = performance.eventLoopUtilization(this.#used);
    const late = (ns: number) => Math.max(0, (Number.isFinite(ns) ? ns : 0) / 1e9 - RESOLUTION_MS / 1000);
    const [p50, p99] = [late(delays.percentile(50)), late(delays.percentile(99))];
    const figures = { p50, p99, longest: late(delays.max), utilization };
    const nowMs = performance.now();
    if (nowMs - this.#sinceMs >= LEAST_SPAN_MS) {
      delays.reset();
      this.#used = performance.eventLoopUtilization();
      this.#sinceMs = nowMs;
    }
    return figures;
  }

  [Symbol.dispose](): void {
    this.#delays?.disable();
  }
}

function begun(): Delays {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  return delays;
}
