/** The roll of background duties: which duties repeat on this node, how the last run of each ended, why it failed, and which hang. */
import type { Clock, Timer } from "./clock.ts";
import type { DutyKind, DutyNotes, DutyRoll, Failed } from "./failed.ts";
import type { Log } from "./log.ts";

/** What is known of one duty. Times are the clock's; a field is absent if the event has not happened yet. */
export interface DutyStanding {
  readonly name: string;
  /** How often it runs. Absent for a duty that runs only when something happens. */
  readonly everyMs?: number;
  /** How many runs have ended. */
  readonly runs: number;
  /** The run in progress. */
  readonly running?: { readonly since: number; readonly forMs: number; readonly isOverdue: boolean };
  /** A run that takes longer is overdue. */
  readonly longestMs?: number;
  readonly last?: { readonly at: number; readonly tookMs: number; readonly isGood: boolean };
  /** When a run last ended well. */
  readonly goodAt?: number;
  /** Failures since its last good run. */
  readonly failuresInRow: number;
  /** The error stays after a good run, so that a passing failure can still be read. */
  readonly lastError?: { readonly at: number; readonly text: string };
}

const MINUTE_MS = 60_000;
/** A duty that runs seldom has more to do in a run. */
const LONGEST_IN_INTERVALS = 5;

/** The roll keeps at most this many characters of an error. The log has the whole text. */
const MOST_TEXT = 1000;

export class Duties implements DutyRoll {
  readonly #clock: Clock;
  readonly #watch: Clock;
  readonly #log: Log;
  readonly #standings = new Map<string, Standing>();
  /** Reports failures of work that nobody waits for. Parts of the program get this. */
  readonly failed: Failed;

  /** `watch` measures how long runs take. A clock that leaps would make each run that it passes look like one that hangs. */
  constructor({ clock, log, watch = clock }: { clock: Clock; log: Log; watch?: Clock }) {
    this.#clock = clock;
    this.#watch = watch;
    this.#log = log;
    const note = (error: unknown, duty: string) => {
      this.#standing(duty).failed(error, clock.now());
      log.error({ err: error, duty }, `the duty "${duty}" failed`);
    };
    this.failed = Object.assign(note, { roll: this });
  }

  /** A second duty with the same name gets a number. */
  enter({ name, everyMs, longestMs = MINUTE_MS + LONGEST_IN_INTERVALS * everyMs }: DutyKind): DutyNotes {
    const unique = this.#unusedName(name);
    const standing = new Standing(unique, { everyMs, longestMs });
    this.#standings.set(unique, standing);
    let overdue: Timer | undefined;
    const over = (isGood: boolean) => {
      overdue?.cancel();
      const { isOverdue, forMs } = standing.over(this.#now(), isGood);
      if (isOverdue) this.#log.info({ duty: unique }, `the duty "${unique}" has ended after ${secondsOf(forMs)}`);
    };
    return {
      began: () => {
        overdue?.cancel();
        standing.began(this.#now());
        overdue = this.#watch.after(longestMs, () => {
          standing.isOverdue = true;
          this.#log.warn({ duty: unique }, `the duty "${unique}" has not ended for ${secondsOf(longestMs)}`);
        });
      },
      went: () => over(true),
      failed: (error) => {
        over(false);
        this.failed(error, unique);
      },
      [Symbol.dispose]: () => {
        overdue?.cancel();
        this.#standings.delete(unique);
      },
    };
  }

  /** Returns all duties, sorted by name. */
  all(): DutyStanding[] {
    return [...this.#standings.values()]
      .map((standing) => standing.shown(this.#now().atMs))
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }

  #now(): Moment {
    return { at: this.#clock.now(), atMs: this.#watch.monotonic() };
  }

  #standing(name: string): Standing {
    const standing = this.#standings.get(name) ?? new Standing(name);
    this.#standings.set(name, standing);
    return standing;
  }

  #unusedName(name: string): string {
    for (let n = 1; ; n++) {
      const candidate = n === 1 ? name : `${name} ${n}`;
      if (this.#standings.get(candidate)?.isRepeated !== true) return candidate;
    }
  }
}

interface Moment {
  at: number;
  /** By the clock that never jumps. */
  atMs: number;
}

class Standing {
  readonly #name: string;
  readonly #period: { everyMs: number; longestMs: number } | undefined;
  #runs = 0;
  #began: Moment | undefined;
  /** Whether the run in progress has taken too long. */
  isOverdue = false;
  #last: DutyStanding["last"];
  #goodAt: number | undefined;
  #failuresInRow = 0;
  #lastError: DutyStanding["lastError"];

  constructor(name: string, period?: { everyMs: number; longestMs: number }) {
    this.#name = name;
    this.#period = period;
  }

  get isRepeated(): boolean {
    return this.#period !== undefined;
  }

  began(now: Moment): void {
    this.#began = now;
    this.isOverdue = false;
  }

  /** Returns how the run went that was in progress. */
  over({ at, atMs }: Moment, isGood: boolean): { isOverdue: boolean; forMs: number } {
    const { isOverdue = false, forMs = 0 } = this.#running(atMs) ?? {};
    this.#began = undefined;
    this.isOverdue = false;
    this.#runs++;
    this.#last = { at, tookMs: forMs, isGood };
    if (isGood) {
      this.#failuresInRow = 0;
      this.#goodAt = at;
    }
    return { isOverdue, forMs };
  }

  failed(error: unknown, at: number): void {
    this.#failuresInRow++;
    this.#lastError = { at, text: textOf(error) };
  }

  shown(atMs: number): DutyStanding {
    const running = this.#running(atMs);
    return {
      name: this.#name,
      ...this.#period,
      runs: this.#runs,
      ...(running && { running }),
      ...(this.#last && { last: this.#last }),
      ...(this.#goodAt !== undefined && { goodAt: this.#goodAt }),
      failuresInRow: this.#failuresInRow,
      ...(this.#lastError && { lastError: this.#lastError }),
    };
  }

  #running(atMs: number): DutyStanding["running"] {
    if (!this.#began) return undefined;
    return { since: this.#began.at, forMs: atMs - this.#began.atMs, isOverdue: this.isOverdue };
  }
}

const secondsOf = (ms: number) => `${Math.round(ms / 1000)} s`;

function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.slice(0, MOST_TEXT);
}
