/** Measures how long calls of a port take, without making them slower when there are many. */
import { CALL_BOUNDS_MS, Durations } from "./durations.ts";
import { isProblem } from "./problem.ts";

export interface CallTime {
  call: string;
  durations: Durations;
  /** Calls of those measured that failed because the database could not do them. */
  failures: number;
}

type Call = (a: unknown, b: unknown, c: unknown, d: unknown) => Promise<unknown>;
type Calls<Name extends PropertyKey> = { [name in Name]: (...given: never[]) => Promise<unknown> };

export class CallTimes {
  readonly #clock: { monotonic(): number };
  readonly all: CallTime[] = [];

  constructor(clock: { monotonic(): number }) {
    this.#clock = clock;
  }

  /**
   * Replaces these methods of `port` by ones that measure. Of calls with the same name that are under way together, one is measured: they
   * share a batch, so they take equally long, and a busy server pays for one of many.
   */
  watch<Name extends string>(port: Calls<Name>, names: readonly Name[]): void {
    for (const name of names) {
      const time: CallTime = { call: name, durations: new Durations(CALL_BOUNDS_MS), failures: 0 };
      this.all.push(time);
      port[name] = this.#measured(port[name].bind(port) as Call, time);
    }
  }

  /** No method of these ports has more than four arguments. Gathering them in a list would cost every call. */
  #measured(call: Call, time: CallTime): Call {
    const clock = this.#clock;
    let isMeasuring = false;
    return (a, b, c, d) => {
      if (isMeasuring) return call(a, b, c, d);
      isMeasuring = true;
      const beganMs = clock.monotonic();
      const over = () => {
        isMeasuring = false;
        time.durations.note(clock.monotonic() - beganMs);
      };
      const calling = call(a, b, c, d);
      calling.then(over, (error) => {
        over();
        if (isOutage(error)) time.failures++;
      });
      return calling;
    };
  }
}

/** A refusal by a rule, such as a name that is taken, is an answer and no failure. */
const isOutage = (error: unknown) => !isProblem(error) || error.code === "unavailable";
