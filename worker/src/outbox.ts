/** What the server must hear: results and progress, kept until it has confirmed them. */

/** Longer results go alone, so that no batch grows without bound and the server can read them aside. */
export const LARGE_LENGTH = 256 * 1024;
const LONGEST_BATCH = 4 * 1024 * 1024;
/** The server takes ten times as many, and reads them all before it answers. */
const MOST_LINES = 1000;

interface Entry {
  id: string;
  attempt: number;
  text: string;
}

export interface Batch {
  /** One line each: `<job id> <attempt> <result object>`. */
  lines: string;
  ends: Entry[];
  progress: Entry[];
}

export class Outbox {
  #ends: Entry[] = [];
  #progress = new Map<string, Entry>();
  /** Ends not confirmed yet, waiting or on their way. */
  readonly #unconfirmed = new Map<string, number>();

  /** Nothing is left to say, and everything said was confirmed. */
  get isDone(): boolean {
    return this.#unconfirmed.size === 0;
  }

  get hasNews(): boolean {
    return this.#ends.length > 0 || this.#progress.size > 0;
  }

  /** Jobs that are over here and, as far as this worker knows, not yet over for the server. */
  get unconfirmed(): Iterable<string> {
    return this.#unconfirmed.keys();
  }

  progress(entry: Entry): void {
    this.#progress.set(entry.id, entry);
  }

  end(entry: Entry): void {
    this.#progress.delete(entry.id);
    this.#ends.push(entry);
    this.#unconfirmed.set(entry.id, entry.attempt);
  }

  /** A result that travels by another way is unconfirmed as well. */
  endAside({ id, attempt }: Pick<Entry, "id" | "attempt">): void {
    this.#progress.delete(id);
    this.#unconfirmed.set(id, attempt);
  }

  /** The rest goes with the next one. */
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

  /** For a batch that may not have arrived. Newer progress, and an end, are worth more than what is put back. */
  putBack({ ends, progress }: Batch): void {
    this.#ends = [...ends, ...this.#ends];
    for (const entry of progress)
      if (!this.#progress.has(entry.id) && !this.#unconfirmed.has(entry.id)) this.#progress.set(entry.id, entry);
  }
}

/** As many of the first ones as there is room for, and one more where that is not used up. */
function fitting(entries: readonly Entry[], room: { lines: number; length: number }): Entry[] {
  let count = 0;
  for (; count < entries.length && room.lines > 0 && room.length > 0; count++) {
    room.lines--;
    room.length -= entries[count]!.text.length;
  }
  return entries.slice(0, count);
}
