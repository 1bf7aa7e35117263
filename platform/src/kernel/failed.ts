/** How work that nobody waits for reports a failure: always with the name of the duty it belongs to. */
import type { Log } from "./log.ts";

export interface Failed {
  (error: unknown, duty: string): void;
  /** The roll on which repeated duties record their runs. Without it, only failures are reported. */
  readonly roll?: DutyRoll;
}

export interface DutyRoll {
  /** Adds a duty that runs again and again. Disposing of the notes removes it. */
  enter(kind: DutyKind): DutyNotes;
}

/** The name appears in logs and in what the operator sees. It says what the duty does, such as "end overdue jobs". */
export interface DutyKind {
  name: string;
  everyMs: number;
  /** A run that takes longer is reported. By default that is a minute and five intervals. */
  longestMs?: number;
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
