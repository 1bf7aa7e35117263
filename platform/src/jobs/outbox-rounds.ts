/** Who has webhooks to send, grouped by the account that caused them. Accounts take turns, and so do the tellers of an account. */
import type { Teller } from "../ports/queue/queue.ts";

export interface Turn {
  account: string;
  teller: Teller;
  /** The target at which its last page ended. */
  after: string | undefined;
  /** Whether its earlier pages had messages. */
  hadSome: boolean;
}

interface PageSeen {
  hasSome: boolean;
  next: string | undefined;
  /** Whether its next page must wait for `wake`. */
  rests: boolean;
}

export class OutboxRounds {
  /** The tellers of each account, by name. Accounts and tellers at the front are next. */
  readonly #turns = new Map<string, Map<string, Turn>>();
  /** Tellers that nobody takes until `wake`, by account and name. */
  readonly #resting = new Map<string, Turn>();

  get accounts(): string[] {
    return [...this.#turns.keys()];
  }

  add(account: string, teller: Teller): void {
    const name = nameOf(teller);
    if (this.#resting.has(restingName(account, name))) return;
    const turns = this.#turnsOf(account);
    if (!turns.has(name)) turns.set(name, { account, teller, after: undefined, hadSome: false });
  }

  /** Removes the next teller of an account and returns its turn. The account moves to the end. */
  take(account: string): Turn {
    const turns = this.#turns.get(account)!;
    const [name, turn] = turns.entries().next().value!;
    turns.delete(name);
    this.#turns.delete(account);
    if (turns.size > 0) this.#turns.set(account, turns);
    return turn;
  }

  /**
   * Puts a teller back at the end, to continue with its next page. After the last page it begins again if any page had messages, since
   * their targets may have more. Otherwise it has nothing to send now.
   */
  putBack({ account, teller, hadSome }: Turn, { next, hasSome, rests }: PageSeen): void {
    const isOver = next === undefined;
    if (isOver && !hadSome && !hasSome) return;
    const turn = { account, teller, after: next, hadSome: !isOver && (hadSome || hasSome) };
    const name = nameOf(teller);
    if (rests) this.#resting.set(restingName(account, name), turn);
    else this.#turnsOf(account).set(name, turn);
  }

  wake(): void {
    for (const turn of this.#resting.values()) this.#turnsOf(turn.account).set(nameOf(turn.teller), turn);
    this.#resting.clear();
  }

  #turnsOf(account: string): Map<string, Turn> {
    const turns = this.#turns.get(account) ?? new Map<string, Turn>();
    this.#turns.set(account, turns);
    return turns;
  }
}

/** No account has a line break in its id. */
const nameOf = ({ endpoint, caller }: Teller) => `${caller}\n${endpoint}`;
const restingName = (account: string, name: string) => `${account}\n${name}`;
