/** The events of a run as text, in order. When a job goes wrong, its own events are shown. */
import type { Timeline } from "./timeline.ts";

interface Line {
  atMs: number;
  text: string;
  /** The job or other record that it is about. */
  job: string | undefined;
}

const TOLD_LINES = 60;

export class Violation extends Error {
  override readonly name = "Violation";
  readonly seed: number;

  constructor(seed: number, text: string) {
    super(text);
    this.seed = seed;
  }
}

export class Trace {
  readonly #timeline: Timeline;
  readonly #seed: number;
  readonly #lines: Line[] = [];
  readonly #names = new Map<string, string>();
  #violation: { text: string; job: string | undefined } | undefined;

  constructor(timeline: Timeline, seed: number) {
    this.#timeline = timeline;
    this.#seed = seed;
  }

  /** Records an event that concerns one job, or everyone. */
  note(text: string, job?: string): void {
    if (job !== undefined) this.name(job);
    this.#lines.push({ atMs: this.#timeline.elapsed, text, job });
  }

  /** A short name for a job or another record, numbered in the order of first mention. */
  name(job: string): string {
    let name = this.#names.get(job);
    if (!name) {
      name = `job${this.#names.size + 1}`;
      this.#names.set(job, name);
    }
    return name;
  }

  /** Only the first broken rule is reported. */
  broken(text: string, job?: string): void {
    this.note(`BROKEN ${text}`, job);
    this.#violation ??= { text, job };
  }

  get isBroken(): boolean {
    return this.#violation !== undefined;
  }

  get text(): string {
    return this.#lines.map((line) => this.#shown(line)).join("\n");
  }

  /** Lines become text only when somebody reads them, since hardly any trace is read. */
  #shown({ atMs, text, job }: Line): string {
    const about = job === undefined ? "" : `${this.name(job)}: `;
    return `${(atMs / 1000).toFixed(3).padStart(8)}  ${about}${text}`;
  }

  /** Undefined while every rule holds. */
  get violation(): Violation | undefined {
    if (!this.#violation) return undefined;
    const { text, job } = this.#violation;
    const lines = this.#lines.filter((line) => line.job === undefined || line.job === job).slice(-TOLD_LINES);
    const what = job === undefined ? text : `${this.name(job)} (${job}): ${text}`;
    return new Violation(
      this.#seed,
      `seed ${this.#seed}: ${what}\n${lines.map((line) => this.#shown(line)).join("\n")}`,
    );
  }
}
