/** Endpoints that the planner is to look at, accounts in turn: one that has thousands holds up no other's first job. */
import { Turns } from "../../../kernel/turns.ts";

/** Those that nothing happened to wait behind those that something happened to, but not for ever: so many of a look's places are theirs. */
const KEPT_FOR_OTHERS = 1 / 4;

export class Agenda {
  #woken = new Turns<string>();
  #others = new Turns<string>();
  /** Those that still wait, and whether something happened to them: an endpoint that stands in both lines is looked at once. */
  readonly #isWoken = new Map<string, boolean>();

  get isEmpty(): boolean {
    return this.#isWoken.size === 0;
  }

  /** Something happened to this one. */
  wake(account: string, endpoint: string): void {
    if (this.#isWoken.get(endpoint)) return;
    this.#isWoken.set(endpoint, true);
    this.#woken.add(account, endpoint);
  }

  add(account: string, endpoint: string): void {
    if (this.#isWoken.has(endpoint)) return;
    this.#isWoken.set(endpoint, false);
    this.#others.add(account, endpoint);
  }

  clear(): void {
    this.#woken = new Turns();
    this.#others = new Turns();
    this.#isWoken.clear();
  }

  /** The next ones, no more than this. */
  take(most: number): string[] {
    const woken = this.#from(this.#woken, Math.ceil(most * (1 - KEPT_FOR_OTHERS)));
    const others = this.#from(this.#others, most - woken.length);
    return [...woken, ...others];
  }

  #from(turns: Turns<string>, most: number): string[] {
    const taken: string[] = [];
    while (taken.length < most) {
      const endpoint = turns.next();
      if (endpoint === undefined) break;
      if (this.#isWoken.delete(endpoint)) taken.push(endpoint);
    }
    return taken;
  }
}
