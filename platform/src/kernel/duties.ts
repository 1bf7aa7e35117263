/** The roll of background duties: which duties repeat on this node, how the last run of each ended, and why it failed. */
import type { Clock } from "./clock.ts";
import type { DutyNotes, DutyRoll, Failed } from "./failed.ts";
import type { Log } from "./log.ts";

/** What is known of one duty. Times are the clock's; a field is absent if the event has not happened yet. */
export interface DutyStanding {
  readonly name: string;
  /** How often it runs. Absent for a duty that runs only when something happens. */
  readonly everyMs?: number;
  /** How many runs have ended. */
  readonly runs: number;
  readonly isRunning: boolean;
  readonly last?: { readonly at: number; readonly tookMs: number; readonly isGood: boolean };
  /** When a run last ended well. */
  readonly goodAt?: number;
  /** Failures since its last good run. */
  readonly failuresInRow: number;
  /** The error stays after a good run, so that a passing failure can still be read. */
  readonly lastError?: { readonly at: number; readonly text: string };
}

/** The roll keeps at most this many characters of an error. The log has the whole text. */
const MOST_TEXT = 1000;

export class Duties implements DutyRoll {
  readonly #clock: Clock;
  readonly #standings = new Map<string, Standing>();
  /** Reports failures of work that nobody waits for. Parts of the program get this. */
  readonly failed: Failed;

  constructor({ clock, log }: { clock: Clock; log: Log }) {
    this.#clock = clock;
    const note = (error: unknown, duty: string) => {
      this.#standing(duty).failed(error, clock.now());
      log.error({ err: error, duty }, `the duty "${duty}" failed`);
    };
    this.failed = Object.assign(note, { roll: this });
  }

  /** A second duty with the same name gets a number. */
  enter(name: string, everyMs: number): DutyNotes {
    const unique = this.#unusedName(name);
    const standing = new Standing(unique, everyMs);
    this.#standings.set(unique, standing);
    let beganAt = 0;
    return {
      began: () => {
        beganAt = this.#clock.monotonic();
        standing.began();
      },
      went: () => standing.over(this.#clock.now(), this.#clock.monotonic() - beganAt, true),
      failed: (error) => {
        standing.over(this.#clock.now(), this.#clock.monotonic() - beganAt, false);
        this.failed(error, unique);
      },
      [Symbol.dispose]: () => {
        this.#standings.delete(unique);
      },
    };
  }

  /** Returns all duties, sorted by name. */
  all(): DutyStanding[] {
    return [...this.#standings.values()]
      .map((standing) => standing.shown())
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }

  #standing(name: string): Standing {
    const standing = this.#standings.get(name) ?? new Standing(name, undefined);
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

class Standing {
  readonly #name: string;
  readonly #everyMs: number | undefined;
  #runs = 0;
  #isRunning = false;
  #last: DutyStanding["last"];
  #goodAt: number | undefined;
  #failuresInRow = 0;
  #lastError: DutyStanding["lastError"];

  constructor(name: string, everyMs: number | undefined) {
    this.#name = name;
    this.#everyMs = everyMs;
  }

  get isRepeated(): boolean {
    return this.#everyMs !== undefined;
  }

  began(): void {
    this.#isRunning = true;
  }

  over(at: number, tookMs: number, isGood: boolean): void {
    this.#isRunning = false;
    this.#runs++;
    this.#last = { at, tookMs, isGood };
    if (!isGood) return;
    this.#failuresInRow = 0;
    this.#goodAt = at;
  }

  failed(error: unknown, at: number): void {
    this.#failuresInRow++;
    this.#lastError = { at, text: textOf(error) };
  }

  shown(): DutyStanding {
    return {
      name: this.#name,
      ...(this.#everyMs !== undefined && { everyMs: this.#everyMs }),
      runs: this.#runs,
      isRunning: this.#isRunning,
      ...(this.#last && { last: this.#last }),
      ...(this.#goodAt !== undefined && { goodAt: this.#goodAt }),
      failuresInRow: this.#failuresInRow,
      ...(this.#lastError && { lastError: this.#lastError }),
    };
  }
}

function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.slice(0, MOST_TEXT);
}
