/** Limits how many refusals of an account are written to the audit log in an hour, and counts those that are not. */
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
  /** One window per account. Only operators make accounts, so the map stays small. */
  readonly #windows = new Map<string, Window>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a refusal. Returns how many were dropped since the last one that was kept, or undefined if this one is dropped too. */
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
