/** Waiting jobs of one priority: those of each caller in their order, and the order in which callers take turns. */
import { Deque } from "./deque.ts";
import type { LiveJob } from "./live-job.ts";

type Line = Deque<LiveJob>;

export class Lane {
  /** Jobs without a caller. An endpoint that is not shared has no others. */
  readonly #own: Line = new Deque();
  /** Lines by caller, made when needed. */
  #lines: Map<string, Line> | undefined;
  /** The lines in the order of their turns. Those with nothing left are dropped when their turn comes. */
  #turns: Line[] = [];

  /** Keeps each line in the order of positions, as the journal is, whenever a job arrives. */
  put(job: LiveJob): void {
    const line = job.caller === undefined ? this.#own : this.#lineOf(job.caller);
    while (line.first && !isWaiting(line.first)) line.shift();
    while (line.last && !isWaiting(line.last)) line.pop();
    job.lane = "waiting";
    if (!line.first || job.position < line.first.position) line.unshift(job);
    else if (job.position > line.last!.position) line.push(job);
    else putBetween(line, job);
  }

  /** Puts a job back that was taken and not used. Its caller did not have this turn. */
  putBack(job: LiveJob): void {
    this.put(job);
    if (job.caller === undefined) return;
    const line = this.#lineOf(job.caller);
    this.#turns = [line, ...this.#turns.filter((other) => other !== line)];
  }

  /** `of` names one caller; an empty text means jobs without one. */
  next(inTurns: boolean, of?: string): LiveJob | undefined {
    const job = of === undefined ? this.#ofAny(inTurns) : shifted(of === "" ? this.#own : this.#lines?.get(of));
    if (job) job.lane = "out";
    return job;
  }

  /** All waiting jobs, in the order of turns. This changes nothing. */
  *[Symbol.iterator](): Generator<LiveJob> {
    for (const job of this.#own) if (job.lane === "waiting") yield job;
    if (this.#turns.length === 0) return;
    const rounds = this.#turns.map((line) => line[Symbol.iterator]());
    for (let left = rounds; left.length > 0; ) {
      const some: typeof left = [];
      for (const line of left) {
        const { value, done } = line.next();
        if (done) continue;
        some.push(line);
        if (value.lane === "waiting") yield value;
      }
      left = some;
    }
  }

  /** Forgets the entries at the front whose jobs moved on. */
  trim(): void {
    while (this.#own.first && !isWaiting(this.#own.first)) this.#own.shift();
  }

  #ofAny(inTurns: boolean): LiveJob | undefined {
    return this.#lines && !inTurns ? this.#oldest() : (shifted(this.#own) ?? this.#ofNextCaller());
  }

  #ofNextCaller(): LiveJob | undefined {
    for (;;) {
      const line = this.#turns.shift();
      if (!line) return undefined;
      const job = shifted(line);
      if (job) {
        this.#turns.push(line);
        return job;
      }
      this.#forget(line);
    }
  }

  #oldest(): LiveJob | undefined {
    let oldest: Line | undefined;
    for (const line of [this.#own, ...this.#turns]) {
      while (line.first && !isWaiting(line.first)) line.shift();
      if (line.first && (!oldest || line.first.position < oldest.first!.position)) oldest = line;
    }
    return oldest?.shift();
  }

  #lineOf(caller: string): Line {
    this.#lines ??= new Map();
    let line = this.#lines.get(caller);
    if (!line) {
      line = new Deque();
      this.#lines.set(caller, line);
      this.#turns.push(line);
    }
    return line;
  }

  #forget(line: Line): void {
    for (const [caller, its] of this.#lines ?? []) if (its === line) this.#lines!.delete(caller);
  }
}

/** Skips entries of jobs that have moved on. */
function shifted(line: Line | undefined): LiveJob | undefined {
  if (!line) return undefined;
  for (let job = line.shift(); job; job = line.shift()) if (isWaiting(job)) return job;
  return undefined;
}

/** Asked about an entry that is about to leave its line or be compared. An entry whose job had left the line is dropped here. */
function isWaiting(job: LiveJob): boolean {
  if (job.lane === "left") job.lane = "out";
  return job.lane === "waiting";
}

/** This is rare. It happens when a job's change took longer than its neighbours', so the job belongs near one of the ends. */
function putBetween(line: Line, job: LiveJob): void {
  const passed: LiveJob[] = [];
  if (job.position - line.first!.position < line.last!.position - job.position) {
    while (!isWaiting(line.first!) || line.first!.position < job.position) passed.push(line.shift()!);
    line.unshift(job);
    for (const other of passed.filter(isWaiting).reverse()) line.unshift(other);
  } else {
    while (!isWaiting(line.last!) || line.last!.position > job.position) passed.push(line.pop()!);
    line.push(job);
    for (const other of passed.filter(isWaiting).reverse()) line.push(other);
  }
}
