/** Limits how many bytes of bodies and results are in memory at once: an account may hold at most as many as stay free for others. */
import type { Clock } from "./clock.ts";
import type { Gone } from "./gone.ts";
import { MIB } from "./operation.ts";
import { type Problem, problem } from "./problem.ts";
import { wait } from "./wait.ts";

/** Shorter bodies are not counted, since every connection uses about this much memory anyway. */
export const UNCOUNTED_BYTES = 64 * 1024;

/** A body or result that waits longer than this is refused. */
export const MEMORY_WAIT_MS = 30_000;

const RETRY_AFTER_S = 5;

/** Bytes that a caller holds. Disposing of the hold frees them; disposing of it twice does no harm. */
export interface Hold extends Disposable {
  /** Gives back all bytes of the hold but this many. */
  keep(bytes: number): void;
}

/** Admits this many bytes into memory, at once or as soon as they are free. Throws when they do not become free. */
export type Admit = (bytes: number) => Hold | Promise<Hold>;

interface Party {
  name: string;
  held: number;
  /** The waiting requests of this account, in the order in which they came. */
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
  /** Accounts that wait. The one whose turn it is stands first. */
  readonly #line = new Set<Party>();
  #held = 0;

  constructor({ bytes, clock }: { bytes: number; clock: Clock }) {
    this.#total = bytes;
    this.#clock = clock;
  }

  get held(): number {
    return this.#held;
  }

  get total(): number {
    return this.#total;
  }

  /** How many requests wait. */
  get waiting(): number {
    let waiting = 0;
    for (const party of this.#line) waiting += party.waiting.size;
    return waiting;
  }

  /**
   * Returns the hold itself when memory is free. Otherwise accounts are served in turns, and the requests of one account in their order.
   */
  take(whose: string, bytes: number, { gone, waitMs = MEMORY_WAIT_MS }: Patience = {}): Hold | Promise<Hold> {
    const party = this.#party(whose);
    // A body longer than the whole memory counts as all of it, so it is admitted when nothing else is held.
    const asked = Math.min(bytes, this.#total);
    if (party.waiting.size === 0 && this.#fits(party, asked)) return this.#give(party, asked);
    return this.#wait(party, asked, waitMs, gone);
  }

  /** Like `take`, but refuses instead of waiting. */
  takeAtOnce(whose: string, bytes: number): Hold {
    const party = this.#party(whose);
    if (party.waiting.size === 0 && this.#fits(party, bytes)) return this.#give(party, bytes);
    const refusal = this.#refusal(party, bytes);
    this.#forget(party);
    throw refusal;
  }

  /** Counts bytes that are in memory already, even if that exceeds the limit. */
  note(whose: string, bytes: number): Hold {
    return this.#give(this.#party(whose), bytes);
  }

  /**
   * An account that holds nothing may take everything that is free. One that holds something must leave at least as much free for others as
   * it then holds.
   */
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
      // Requests behind this one may be shorter, and fit now.
      this.#serve();
      throw refusal;
    }
  }

  /** Gives out holds until a whole round over the waiting accounts finds none whose next request fits. */
  #serve(): void {
    for (let served = true; served; ) {
      served = false;
      for (const party of [...this.#line]) {
        const [next] = party.waiting;
        if (!next || !this.#fits(party, next.bytes)) continue;
        served = true;
        next.give(this.#give(party, next.bytes));
        // This account's next turn comes after all others.
        if (this.#line.delete(party)) this.#line.add(party);
      }
    }
  }

  /** The refusal says what is in the way: what the account itself holds, or what others hold. */
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

/** The client has gone, so nobody reads this text. */
const nobodyLeft = () => problem("unavailable", "the client is gone");
