/** Knows when the ports of Pods were last used through the proxy. */
import type { Clock } from "../../../kernel/clock.ts";

interface Use {
  /** The number of open requests and WebSockets. */
  open: number;
  lastAt: number;
}

/** Remembers this many Pods. Beyond that the oldest without open requests are forgotten. */
const AT_MOST = 10_000;

export class PortUses {
  readonly #clock: Clock;
  readonly #uses = new Map<string, Use>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined if nobody used the Pod. An open request counts as a use right now. */
  usedAt(pod: string): number | undefined {
    const use = this.#uses.get(pod);
    return use && (use.open > 0 ? this.#clock.now() : use.lastAt);
  }

  /** Counts as a use until it is disposed. */
  begin(pod: string): Disposable {
    const use = this.#uses.get(pod) ?? { open: 0, lastAt: 0 };
    use.open++;
    this.#uses.delete(pod);
    this.#uses.set(pod, use);
    if (this.#uses.size > AT_MOST) this.#forgetOldest();
    return {
      [Symbol.dispose]: () => {
        use.open--;
        use.lastAt = this.#clock.now();
      },
    };
  }

  #forgetOldest(): void {
    const [oldest] = [...this.#uses].find(([, { open }]) => open === 0) ?? [];
    if (oldest !== undefined) this.#uses.delete(oldest);
  }
}
