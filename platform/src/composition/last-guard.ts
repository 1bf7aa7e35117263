/** The last guard logs failures that nobody handled, and the server continues. Only a state that cannot be trusted ends it. */
import type { EventEmitter } from "node:events";
import { CannotGoOn } from "../kernel/cannot-go-on.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";

export interface GuardParts {
  /** The process, and its standard streams. */
  process: EventEmitter;
  streams: readonly EventEmitter[];
  log: Log;
  clock: Clock;
  /** Shuts the process down in order. */
  end: () => Promise<void>;
  exit: (code: number) => void;
}

/** Within a period, at most this many failures are logged. The rest are counted. */
const TOLD_AT_MOST = 10;
const SPAN_MS = 10_000;

/** An orderly shutdown that takes longer than this is given up. */
const LONGEST_END_MS = 20_000;

export class LastGuard implements Disposable {
  readonly #parts: GuardParts;
  readonly #listeners: readonly (readonly [EventEmitter, string, (error: unknown) => void])[];
  #spanAt = Number.NEGATIVE_INFINITY;
  #inSpan = 0;
  #ending = false;

  constructor(parts: GuardParts) {
    this.#parts = parts;
    this.#listeners = [
      [parts.process, "uncaughtException", (error) => this.#heard(error, "thrown where nobody caught it")],
      [parts.process, "unhandledRejection", (error) => this.#heard(error, "the failure of work that nobody awaited")],
      // Nobody reads these streams any more, so reporting the error there would fail in the same way.
      ...parts.streams.map((stream) => [stream, "error", () => {}] as const),
    ];
    for (const [emitter, event, listener] of this.#listeners) emitter.on(event, listener);
  }

  [Symbol.dispose](): void {
    for (const [emitter, event, listener] of this.#listeners) emitter.off(event, listener);
  }

  #heard(error: unknown, how: string): void {
    try {
      if (error instanceof CannotGoOn) this.#end(error);
      else this.#tell(error, how);
    } catch {
      // The guard must not fail, because its own failure would call it again.
    }
  }

  #tell(error: unknown, how: string): void {
    const now = this.#parts.clock.monotonic();
    if (now - this.#spanAt >= SPAN_MS) {
      const untold = this.#inSpan - TOLD_AT_MOST;
      if (untold > 0) this.#parts.log.error({ untold }, "more failures that reached nobody");
      this.#spanAt = now;
      this.#inSpan = 0;
    }
    if (++this.#inSpan <= TOLD_AT_MOST)
      this.#parts.log.error({ err: asError(error), how }, "a failure that reached nobody; the server continues");
  }

  #end(reason: CannotGoOn): void {
    if (this.#ending) return;
    this.#ending = true;
    const { log, clock, end, exit } = this.#parts;
    log.error({ err: reason }, "the server cannot continue, and ends");
    clock.after(LONGEST_END_MS, () => exit(1));
    const over = () => exit(1);
    end().then(over, over);
  }
}

/** Anything can be thrown, but only an Error has a stack. */
const asError = (error: unknown) => (error instanceof Error ? error : new Error(`thrown: ${String(error)}`));
