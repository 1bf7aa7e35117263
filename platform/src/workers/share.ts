/** How many more workers an account may have: shared by all of its endpoints, and taken by one plan after the other. */
import type { KeptWorker } from "../resources/workers/model.ts";

export class AccountShare {
  readonly quota: number;
  #used: number;
  #unplaced: number;

  constructor(quota: number, workers: readonly KeptWorker[]) {
    this.quota = quota;
    this.#used = workers.filter(takesPlace).length;
    this.#unplaced = workers.filter(({ state }) => state === "WANTED").length;
  }

  get left(): number {
    return Math.max(0, this.quota - this.#used);
  }

  get isUsedUp(): boolean {
    return this.left === 0;
  }

  /** As those read it who wait. */
  get reason(): string {
    return `account quota: ${this.#used} of ${this.quota} workers in use`;
  }

  take(): void {
    this.#used++;
  }

  /** Whether one more may stand in line for a place; that it cannot have one is said by a single one of each endpoint. */
  get hasLine(): boolean {
    return !this.isUsedUp && this.#unplaced < this.quota;
  }

  standInLine(): void {
    this.#unplaced++;
  }
}

/** Those that run or are about to. Frozen ones are bounded by memory; a thaw takes a place. */
const takesPlace = ({ state }: KeptWorker) => !["WANTED", "FROZEN", "FAILED"].includes(state);
