/** The endpoints that the planner has to look at. Accounts take turns, so one with thousands does not delay another's first job. */
import { Turns } from "../../../kernel/turns.ts";

/** Woken endpoints come first, but this share of each round is kept for the others, so that they do not wait forever. */
const KEPT_FOR_OTHERS = 1 / 4;

export class Agenda {
  #woken = new Turns<string>();
  #others = new Turns<string>();
  /** The endpoints that still wait, and whether they were woken. An endpoint in both queues is looked at once. */
  readonly #isWoken = new Map<string, boolean>();

  get isEmpty(): boolean {
    return this.#isWoken.size === 0;
  }

  /** Adds an endpoint that something happened to. */
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

  /** The next endpoints, at most `most`. */
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
