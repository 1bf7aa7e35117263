/** Every acknowledged job of a long run, until its one end was seen, and seen again later. */
import { stay } from "../../platform/src/kernel/clock.ts";
import type { Answer } from "../../platform/tests/world.ts";

export type Ask = (method: string, path: string, body?: unknown) => Promise<Answer>;

interface Entry {
  endpoint: string;
  id: string;
  at: number;
  /** The end, as text, once it was seen. */
  end?: string;
}

const ENDS = ["COMPLETED", "FAILED", "TIMED_OUT", "CANCELLED"];
const FIRST_LOOK_MS = 2_000;
/** Before a result is forgotten after 30 minutes. */
const SECOND_LOOK_MS = 10 * 60_000;
/** One job of this many is looked at a second time. */
const SECOND_LOOKS = 5;
const ROUND_MS = 1_000;

export class JobLedger {
  acknowledged = 0;
  ended = 0;
  lookedAtAgain = 0;
  readonly ends: Record<string, number> = {};
  readonly wrong: string[] = [];
  readonly #ask: Ask;
  readonly #open = new Set<Entry>();
  readonly #again: Entry[] = [];
  readonly #overdueMs: number;

  /** A job without an end after `overdueMs` counts as lost. */
  constructor(ask: Ask, overdueMs = 5 * 60_000) {
    this.#ask = ask;
    this.#overdueMs = overdueMs;
  }

  get unended(): number {
    return this.#open.size;
  }

  accepted(endpoint: string, id: string): void {
    this.acknowledged++;
    this.#open.add({ endpoint, id, at: performance.now() });
  }

  /** A job whose end came with its answer. Its result is forgotten too soon for a second look. */
  acceptedWithEnd(status: string): void {
    this.acknowledged++;
    this.#count(status);
  }

  async keep(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await this.#round();
      await stay(ROUND_MS);
    }
  }

  /** Waits until every job has ended, and looks at all of them again that are still to be looked at. */
  async close(patienceMs: number): Promise<void> {
    const until = performance.now() + patienceMs;
    while (this.#open.size > 0 && performance.now() < until) {
      await this.#round();
      await stay(ROUND_MS);
    }
    for (const { endpoint, id } of this.#open) this.#note(`job ${id} of ${endpoint} was acknowledged and has no end`);
    for (const entry of this.#again.splice(0)) await this.#lookAgain(entry);
  }

  async #round(): Promise<void> {
    const now = performance.now();
    for (const entry of [...this.#open]) {
      if (now - entry.at < FIRST_LOOK_MS) break;
      await this.#look(entry, now).catch((error: Error) => this.#note(`job ${entry.id}: ${error.message}`));
    }
    while (this.#again[0] && now - this.#again[0].at > SECOND_LOOK_MS) await this.#lookAgain(this.#again.shift()!);
  }

  async #look(entry: Entry, now: number): Promise<void> {
    const { endpoint, id, at } = entry;
    const { status, json, text } = await this.#ask("GET", `/v2/${endpoint}/status/${id}`);
    if (status !== 200) {
      this.#open.delete(entry);
      this.#note(`job ${id} was acknowledged, and ${(now - at) / 1000} s later: ${status} ${text.slice(0, 200)}`);
    } else if (ENDS.includes(json.status)) {
      this.#open.delete(entry);
      this.#count(json.errorCode ? `${json.status} ${json.errorCode}` : json.status);
      entry.end = endOf(json);
      if (this.ended % SECOND_LOOKS === 0) this.#again.push(entry);
    } else if (now - at > this.#overdueMs) {
      this.#open.delete(entry);
      this.#note(
        `job ${id} is still ${json.status} after ${this.#overdueMs / 60_000} minutes: ${json.waitReason ?? ""}`,
      );
    }
  }

  async #lookAgain({ endpoint, id, end }: Entry): Promise<void> {
    const { status, json, text } = await this.#ask("GET", `/v2/${endpoint}/status/${id}`);
    this.lookedAtAgain++;
    if (status !== 200 || endOf(json) !== end)
      this.#note(`job ${id} had the end ${end}, and later: ${status} ${text.slice(0, 200)}`);
  }

  #count(status: string): void {
    this.ended++;
    this.ends[status] = (this.ends[status] ?? 0) + 1;
  }

  #note(what: string): void {
    this.wrong.push(what);
    console.log(`WRONG: ${what}`);
  }
}

const endOf = ({ status, output, workerId, error }: Answer["json"]): string =>
  JSON.stringify({ status, output, workerId, error });
