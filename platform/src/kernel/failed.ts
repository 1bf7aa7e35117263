/** How work that nobody waits for says that it failed: always with the name of the duty that it belongs to. */
import type { Log } from "./log.ts";

export interface Failed {
  (error: unknown, duty: string): void;
  /** On which repeated duties note their runs. Without it, only failures are heard of. */
  readonly roll?: DutyRoll;
}

export interface DutyRoll {
  /** Notes of a duty that runs again and again, until they are disposed of. */
  enter(name: string, everyMs: number): DutyNotes;
}

export interface DutyNotes extends Disposable {
  began(): void;
  went(): void;
  failed(error: unknown): void;
}

/** For a promise's `catch`, and for `floating`. */
export const named = (failed: Failed, duty: string) => (error: unknown) => failed(error, duty);

/** Where there is no roll: each failure is a line of the log. */
export const failedTo =
  (log: Log): Failed =>
  (error, duty) =>
    log.error({ err: error, duty }, `the duty "${duty}" failed`);
