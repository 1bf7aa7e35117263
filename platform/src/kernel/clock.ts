/** Time for the whole program: the only file that reads the real clock or sets a real timer. */

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the Unix epoch. May jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds that only ever grow, for measuring how long something took. */
  monotonic(): number;
  /** Runs `action` once, `delayMs` from now. The timer never keeps the process alive by itself. */
  after(delayMs: number, action: () => void): Timer;
}

/** Node turns longer delays into 1 ms, so a far deadline is waited for in several stretches. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Shorter delays need precision, so each gets a timer of its own. */
const SHORTEST_SHARED_MS = 50;
/** Node's timers fire up to this much early, measured by this clock. */
const EARLY_MS = 1;
/** When more than this many delays exist, a delay that nobody waits for ends its system timer at once. */
const IDLE_DELAYS = 64;

/** One caller that waits for a delay, in the line of all that wait for the same delay. */
class Delayed implements Timer {
  readonly #delay: SharedDelay;
  readonly action: () => void;
  readonly at: number;
  before: Delayed | undefined;
  next: Delayed | undefined;
  isOver = false;

  constructor(delay: SharedDelay, at: number, action: () => void) {
    this.#delay = delay;
    this.at = at;
    this.action = action;
  }

  cancel(): void {
    this.#delay.leave(this);
  }
}

const delays = new Map<number, SharedDelay>();

/**
 * All callers that wait for the same number of milliseconds, in order of arrival, behind one system timer. Nearly every request sets timers
 * that are cancelled a moment later. A Node timer for each of them took 3% of the time of a runsync.
 */
class SharedDelay {
  readonly #ms: number;
  #first: Delayed | undefined;
  #last: Delayed | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  join(action: () => void): Delayed {
    const joined = new Delayed(this, performance.now() + this.#ms, action);
    joined.before = this.#last;
    if (this.#last) this.#last.next = joined;
    else this.#first = joined;
    this.#last = joined;
    if (!this.#timer) this.#arm(this.#ms);
    return joined;
  }

  leave(one: Delayed): void {
    if (one.isOver) return;
    one.isOver = true;
    if (one.before) one.before.next = one.next;
    else this.#first = one.next;
    if (one.next) one.next.before = one.before;
    else this.#last = one.before;
    // A dead one that the garbage collector takes for old would keep all that came after it, and what they wait for.
    one.before = undefined;
    one.next = undefined;
    if (!this.#first && delays.size > IDLE_DELAYS) this.#end();
  }

  #arm(ms: number): void {
    this.#timer = setTimeout(this.#run, ms).unref();
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (delays.get(this.#ms) === this) delays.delete(this.#ms);
  }

  /** If an action throws, the error reaches the process, and the timer is set again so that the others still run. */
  readonly #run = (): void => {
    const now = performance.now() + EARLY_MS;
    try {
      for (let one = this.#first; one && one.at <= now; one = this.#first) {
        this.leave(one);
        one.action();
      }
    } finally {
      if (this.#first) this.#arm(Math.max(0, this.#first.at - performance.now()));
      else this.#end();
    }
  };
}

export const realClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, action) {
    if (delayMs >= SHORTEST_SHARED_MS && delayMs <= LONGEST_TIMER_MS) {
      const ms = Math.ceil(delayMs);
      let delay = delays.get(ms);
      if (!delay) {
        delay = new SharedDelay(ms);
        delays.set(ms, delay);
      }
      return delay.join(action);
    }
    let timer: NodeJS.Timeout;
    function wait(leftMs: number): void {
      const rest = leftMs - LONGEST_TIMER_MS;
      timer = rest > 0 ? setTimeout(wait, LONGEST_TIMER_MS, rest) : setTimeout(action, Math.max(0, leftMs));
      timer.unref();
    }
    wait(delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};

export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => clock.after(delayMs, resolve));
}

/** A real wait that keeps the process alive, for a command that has nothing else to do. */
export function stay(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

/** Keeps the process alive until the work is over. The clock's own timers do not keep it alive, so it could otherwise end in the middle. */
export async function holding<T>(work: PromiseLike<T>): Promise<T> {
  const hold = setInterval(() => {}, LONGEST_TIMER_MS);
  try {
    return await work;
  } finally {
    clearInterval(hold);
  }
}

/** Waits for one real turn of the event loop, so that everything that is ready runs and awaited work settles. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

let readLately: number | undefined;
const forgetRead = () => {
  readLately = undefined;
};

/**
 * The clock's `monotonic()` as it was when somebody first asked, if nothing was waited for since. Requests that are begun together ask
 * several times each.
 */
export function lately(clock: Clock): number {
  if (clock !== realClock) return clock.monotonic();
  if (readLately === undefined) {
    readLately = performance.now();
    queueMicrotask(forgetRead);
  }
  return readLately;
}

/** Runs `action` at the end of this turn. */
export function soon(action: () => void): void {
  setImmediate(action);
}

let thisTurn: Promise<void> | undefined;

/** Resolves at the end of this turn. All callers in one turn share the same promise and continue together. */
export function sharedTurn(): Promise<void> {
  thisTurn ??= turn().then(() => {
    thisTurn = undefined;
  });
  return thisTurn;
}

/** Resolves after everything that is ready has run, before the event loop looks for new events. */
export function lull(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** RFC 3339 in UTC, the form in which time leaves the program. */
export function timestamp(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** A date in words, for messages of older surfaces: `Sun, 15 Nov 2026 00:00:00 GMT`. */
export function dateText(epochMs: number): string {
  return new Date(epochMs).toUTCString();
}

const RFC_3339 = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
const DAY_S = 86_400;

/** Returns the instant that an RFC 3339 text names, or undefined when it names none. */
export function parseTimestamp(text: string): number | undefined {
  const [, date, time, second, fraction = "", zone] = RFC_3339.exec(text) ?? [];
  if (date === undefined || !isDay(date)) return undefined;
  // Date knows no leap seconds. A leap second, which only the last second of a day may be, is read as the first instant of the next day.
  const leap = second === "60";
  const epochMs = Date.parse(`${date}T${time}:${leap ? "59" : second}${fraction}${zone!.toUpperCase()}`);
  const instant = leap ? epochMs + 1000 : epochMs;
  if (Number.isNaN(instant) || (leap && Math.floor(instant / 1000) % DAY_S !== 0)) return undefined;
  return instant;
}

/** Rejects days such as 30 February, which Date would read as a day in March. */
function isDay(date: string): boolean {
  const midnight = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(midnight) && timestamp(midnight).startsWith(date);
}

interface Pending {
  at: number;
  order: number;
  action: () => void;
}

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #now: number;
  #elapsed = 0;
  #order = 0;
  readonly #pending = new Set<Pending>();

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  after(delayMs: number, action: () => void): Timer {
    const pending = { at: this.#elapsed + Math.max(0, delayMs), order: this.#order++, action };
    this.#pending.add(pending);
    return { cancel: () => this.#pending.delete(pending) };
  }

  /** How many timers are pending, so that a test can detect a leaked one. */
  get waiting(): number {
    return this.#pending.size;
  }

  /** Moves time on, running every timer that falls due in order, and lets its consequences settle. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#moveTo(next.at);
      this.#pending.delete(next);
      next.action();
      await turn();
    }
    this.#moveTo(end);
    await turn();
  }

  /** Sets the wall clock without time passing, as an administrator or NTP does. */
  jump(ms: number): void {
    this.#now += ms;
  }

  #moveTo(elapsed: number): void {
    this.#now += elapsed - this.#elapsed;
    this.#elapsed = elapsed;
  }

  #next(end: number): Pending | undefined {
    let first: Pending | undefined;
    for (const pending of this.#pending) {
      if (pending.at > end) continue;
      if (!first || pending.at < first.at || (pending.at === first.at && pending.order < first.order)) first = pending;
    }
    return first;
  }
}
