/** How many bytes of bodies and results are in memory at once: each account may hold as many as stay free for others. */
import type { Clock } from "./clock.ts";
import type { Gone } from "./gone.ts";
import { MIB } from "./operation.ts";
import { type Problem, problem } from "./problem.ts";
import { wait } from "./wait.ts";

/** What is shorter is not counted: there is about as much of it on every connection anyhow. */
export const UNCOUNTED_BYTES = 64 * 1024;

/** A body or result that waits longer than this is refused. */
export const MEMORY_WAIT_MS = 30_000;

const RETRY_AFTER_S = 5;

/** Bytes that somebody has; they are free again when it is disposed of, once. */
export interface Hold extends Disposable {
  /** Gives back all but so many. */
  keep(bytes: number): void;
}

/** Lets so many bytes into memory: at once, when there is room, or not at all, which is an error. */
export type Admit = (bytes: number) => Hold | Promise<Hold>;

interface Party {
  name: string;
  held: number;
  /** In the order in which they came. */
  waiting: Set<Waiting>;
}

interface Waiting {
  bytes: number;
  give(hold: Hold): void;
}

interface Patience {
  gone?: Gone;
  waitMs?: number;
}

export class BodyMemory {
  readonly #total: number;
  readonly #clock: Clock;
  readonly #parties = new Map<string, Party>();
  /** Those of them that wait; whose turn it is stands first. */
  readonly #line = new Set<Party>();
  #held = 0;

  constructor({ bytes, clock }: { bytes: number; clock: Clock }) {
    this.#total = bytes;
    this.#clock = clock;
  }

  get held(): number {
    return this.#held;
  }

  /** How many wait. */
  get waiting(): number {
    let waiting = 0;
    for (const party of this.#line) waiting += party.waiting.size;
    return waiting;
  }

  /** The hold itself where there is room. Others are served in turns, each account's own in their order. */
  take(whose: string, bytes: number, { gone, waitMs = MEMORY_WAIT_MS }: Patience = {}): Hold | Promise<Hold> {
    const party = this.#party(whose);
    // What is longer than all the room has it to itself.
    const asked = Math.min(bytes, this.#total);
    if (party.waiting.size === 0 && this.#fits(party, asked)) return this.#give(party, asked);
    return this.#wait(party, asked, waitMs, gone);
  }

  /** Refuses what would have to wait. */
  takeAtOnce(whose: string, bytes: number): Hold {
    const party = this.#party(whose);
    if (party.waiting.size === 0 && this.#fits(party, bytes)) return this.#give(party, bytes);
    const refusal = this.#refusal(party, bytes);
    this.#forget(party);
    throw refusal;
  }

  /** Counts what is there already. */
  note(whose: string, bytes: number): Hold {
    return this.#give(this.#party(whose), bytes);
  }

  /** An account that has nothing is given whatever is free; one that has something, as much as then stays free for others. */
  #fits({ held }: Party, bytes: number): boolean {
    const left = this.#total - this.#held - bytes;
    return left >= (held === 0 ? 0 : held + bytes);
  }

  #give(party: Party, bytes: number): Hold {
    let kept = 0;
    const keep = (wanted: number) => {
      const more = wanted - kept;
      kept = wanted;
      party.held += more;
      this.#held += more;
      if (more < 0) this.#freed(party);
    };
    keep(bytes);
    return { keep: (wanted) => keep(Math.min(wanted, kept)), [Symbol.dispose]: () => keep(0) };
  }

  #freed(party: Party): void {
    this.#forget(party);
    if (this.#line.size > 0) this.#serve();
  }

  async #wait(party: Party, bytes: number, waitMs: number, gone: Gone | undefined): Promise<Hold> {
    const over = () => {
      party.waiting.delete(waiting);
      if (party.waiting.size === 0) this.#line.delete(party);
    };
    const refuse = (why: () => Problem) => () => {
      throw why();
    };
    const waited = wait<() => Hold>({
      clock: this.#clock,
      ms: waitMs,
      gone,
      late: refuse(() => this.#refusal(party, bytes)),
      left: refuse(nobodyLeft),
      over,
    });
    const waiting: Waiting = { bytes, give: (hold) => waited.end(() => hold) };
    party.waiting.add(waiting);
    this.#line.add(party);
    try {
      return (await waited.ended)();
    } catch (refusal) {
      this.#forget(party);
      // Those behind it may be shorter.
      this.#serve();
      throw refusal;
    }
  }

  /** Until a whole round of those who wait finds nobody whose next one fits. */
  #serve(): void {
    for (let served = true; served; ) {
      served = false;
      for (const party of [...this.#line]) {
        const [next] = party.waiting;
        if (!next || !this.#fits(party, next.bytes)) continue;
        served = true;
        next.give(this.#give(party, next.bytes));
        // Its next turn comes after that of all others.
        if (this.#line.delete(party)) this.#line.add(party);
      }
    }
  }

  /** Says what is in the way: its own, or that of others. */
  #refusal({ held }: Party, bytes: number): Problem {
    const isOwn = held > 0 && bytes <= this.#total - this.#held + held;
    if (!isOwn) {
      const why = `the server has no memory free for ${inMb(bytes)} MB more of bodies and results at the moment; try again`;
      return problem("unavailable", why, { retryAfterS: RETRY_AFTER_S });
    }
    const why = `too much at once: bodies and results of this account that are on their way take ${inMb(held)} MB of the server's memory, and there is no room for ${inMb(bytes)} MB more`;
    return problem("too-much", `${why}; send or read fewer at a time, or try again later`, {
      retryAfterS: RETRY_AFTER_S,
    });
  }

  #party(name: string): Party {
    let party = this.#parties.get(name);
    if (!party) {
      party = { name, held: 0, waiting: new Set() };
      this.#parties.set(name, party);
    }
    return party;
  }

  #forget(party: Party): void {
    const isOver = party.held === 0 && party.waiting.size === 0;
    if (isOver && this.#parties.get(party.name) === party) this.#parties.delete(party.name);
  }
}

const inMb = (bytes: number) => Math.max(1, Math.round(bytes / MIB));

/** Nobody reads it. */
const nobodyLeft = () => problem("unavailable", "the client is gone");
