/** How work that nobody waits for reports a failure: always with the name of the duty it belongs to. */
import type { Log } from "./log.ts";

export interface Failed {
  (error: unknown, duty: string): void;
  /** The roll on which repeated duties record their runs. Without it, only failures are reported. */
  readonly roll?: DutyRoll;
}

export interface DutyRoll {
  /** Adds a duty that runs again and again. Disposing of the notes removes it. */
  enter(name: string, everyMs: number): DutyNotes;
}

export interface DutyNotes extends Disposable {
  began(): void;
  went(): void;
  failed(error: unknown): void;
}

/** Makes a handler for a promise's `catch`, or for `floating`. */
export const named = (failed: Failed, duty: string) => (error: unknown) => failed(error, duty);

/** Writes each failure as a line of the log, for parts that have no roll. */
export const failedTo =
  (log: Log): Failed =>
  (error, duty) =>
    log.error({ err: error, duty }, `the duty "${duty}" failed`);
