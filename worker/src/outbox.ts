/** Results and progress for the server, kept until it has confirmed them. */

/** Longer results are sent alone, so that batches stay small and the server can read them separately. */
export const LARGE_LENGTH = 256 * 1024;
const LONGEST_BATCH = 4 * 1024 * 1024;
/** The server accepts ten times as many, and reads all of them before it answers. */
const MOST_LINES = 1000;

interface Entry {
  id: string;
  attempt: number;
  text: string;
}

export interface Batch {
  /** Each line is `<job id> <attempt> <result object>`. */
  lines: string;
  ends: Entry[];
  progress: Entry[];
}

export class Outbox {
  #ends: Entry[] = [];
  #progress = new Map<string, Entry>();
  /** Ended jobs that the server has not confirmed yet, waiting or on their way. */
  readonly #unconfirmed = new Map<string, number>();
  /** Those of them that were unconfirmed when the late ones were last asked for. */
  #seen = new Set<string>();

  /** Everything was sent and confirmed. */
  get isDone(): boolean {
    return this.#unconfirmed.size === 0;
  }

  get hasNews(): boolean {
    return this.#ends.length > 0 || this.#progress.size > 0;
  }

  /** Jobs that have ended here and, as far as this worker knows, not yet on the server. */
  get unconfirmed(): Iterable<string> {
    return this.#unconfirmed.keys();
  }

  /**
   * The unconfirmed jobs that were unconfirmed already when this was called before. The result of any other one is most likely just on its
   * way: if a report named it, the server would keep it for a job that this worker is at, until the next report.
   */
  late(): string[] {
    const late = [...this.#unconfirmed.keys()].filter((id) => this.#seen.has(id));
    this.#seen = new Set(this.#unconfirmed.keys());
    return late;
  }

  progress(entry: Entry): void {
    this.#progress.set(entry.id, entry);
  }

  end(entry: Entry): void {
    this.#progress.delete(entry.id);
    this.#ends.push(entry);
    this.#unconfirmed.set(entry.id, entry.attempt);
  }

  /** A result that is sent separately is also unconfirmed. */
  endAside({ id, attempt }: Pick<Entry, "id" | "attempt">): void {
    this.#progress.delete(id);
    this.#unconfirmed.set(id, attempt);
  }

  /** Takes as much as fits into one batch. The rest goes with the next one. */
  takeBatch(): Batch {
    const room = { lines: MOST_LINES, length: LONGEST_BATCH };
    const progress = fitting([...this.#progress.values()], room);
    for (const { id } of progress) this.#progress.delete(id);
    const ends = fitting(this.#ends, room);
    this.#ends = this.#ends.slice(ends.length);
    let lines = "";
    for (const { id, attempt, text } of progress) lines += `${id} ${attempt} ${text}\n`;
    for (const { id, attempt, text } of ends) lines += `${id} ${attempt} ${text}\n`;
    return { lines, ends, progress };
  }

  confirm(ends: readonly Pick<Entry, "id" | "attempt">[]): void {
    for (const { id, attempt } of ends) if (this.#unconfirmed.get(id) === attempt) this.#unconfirmed.delete(id);
  }

  /** Restores a batch that may not have arrived. Newer progress or an end of the same job takes precedence. */
  putBack({ ends, progress }: Batch): void {
    this.#ends = [...ends, ...this.#ends];
    for (const entry of progress)
      if (!this.#progress.has(entry.id) && !this.#unconfirmed.has(entry.id)) this.#progress.set(entry.id, entry);
  }
}

/** Returns the first entries that fit. The last one may exceed the length. */
function fitting(entries: readonly Entry[], room: { lines: number; length: number }): Entry[] {
  let count = 0;
  for (; count < entries.length && room.lines > 0 && room.length > 0; count++) {
    room.lines--;
    room.length -= entries[count]!.text.length;
  }
  return entries.slice(0, count);
}
