/** How many refusals of an account are written down: so many an hour, and how many were not. */
import type { Clock } from "../../kernel/clock.ts";

const HOUR_MS = 3_600_000;
const KEPT_AN_HOUR = 60;

interface Window {
  beganMs: number;
  kept: number;
  unkept: number;
}

export class RefusalPace {
  readonly #clock: Clock;
  /** One for each account, of which there are as many as an operator made. */
  readonly #windows = new Map<string, Window>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many were not kept since the last that was; undefined when this one is not kept either. */
  note(account: string): number | undefined {
    const nowMs = this.#clock.monotonic();
    const known = this.#windows.get(account);
    const isOver = !known || nowMs - known.beganMs >= HOUR_MS;
    const window = isOver ? { beganMs: nowMs, kept: 0, unkept: known?.unkept ?? 0 } : known;
    this.#windows.set(account, window);
    if (window.kept >= KEPT_AN_HOUR) {
      window.unkept++;
      return undefined;
    }
    window.kept++;
    const { unkept } = window;
    window.unkept = 0;
    return unkept;
  }
}
