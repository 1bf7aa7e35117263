/** One attempt to run a job: calls any kind of handler and ends with a result or, if the job was stopped, with none. */
import type { Handler, Job, Run } from "./handler.ts";
import { failureOf, type Origin, type Result, resultOf } from "./result.ts";

export interface RunParts {
  handler: Handler;
  origin: Origin;
  /** A new process is wanted after every job. */
  refresh: boolean;
  /** The values that a generator yields are also the job's output. */
  aggregate: boolean;
  /** Resolves once the server has the chunk. */
  stream(job: Job, sequence: number, chunk: string): Promise<void>;
  progressed(run: JobRun, text: string): void;
  /** `result` is undefined if the job was stopped, because nobody wants it. */
  ended(run: JobRun, result: Result | undefined): void;
}

type Values = AsyncIterator<unknown> | Iterator<unknown>;

export class JobRun implements Run {
  readonly job: Job;
  readonly #parts: RunParts;
  /** Created on first use, because most handlers never use it. */
  #abort: AbortController | undefined;
  #stopped: Error | undefined;
  #over = false;

  constructor(job: Job, parts: RunParts) {
    this.job = job;
    this.#parts = parts;
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#stopped) this.#abort.abort(this.#stopped);
    }
    return this.#abort.signal;
  }

  get stopped(): boolean {
    return this.#stopped !== undefined;
  }

  progress(value: unknown): void {
    if (this.#over || this.#stopped) return;
    this.#parts.progressed(this, JSON.stringify({ status: "IN_PROGRESS", output: value ?? null }));
  }

  /** A handler that ignores the signal continues, and its result is dropped. */
  stop(): void {
    this.#stopped = new Error(`job ${this.job.id} was stopped`);
    this.#abort?.abort(this.#stopped);
  }

  /** Never throws. If the handler returns synchronously, the run has ended when this returns. */
  begin(): void {
    let value: unknown;
    try {
      value = this.#parts.handler(this.job, this);
    } catch (thrown) {
      this.#end(failureOf(thrown, this.#parts, this.#parts.origin));
      return;
    }
    if (isThenable(value))
      value.then(
        (resolved) => this.#settle(resolved),
        (thrown) => this.#fail(thrown),
      );
    else this.#settle(value);
  }

  #settle(value: unknown): void {
    const values = valuesOf(value);
    if (values) this.#stream(values).catch((thrown) => this.#fail(thrown));
    else this.#end(resultOf(value, this.#parts, this.#parts.origin));
  }

  /** The server has each chunk before the next one is requested, so they arrive in order. */
  async #stream(values: Values): Promise<void> {
    const yielded: unknown[] = [];
    let sequence = 0;
    for (let next = await values.next(); !next.done; next = await values.next()) {
      if (this.#stopped) break;
      const error = (next.value as { error?: unknown } | null | undefined)?.error;
      if (error) throw error instanceof Error ? error : new Error(String(error));
      if (this.#parts.aggregate) yielded.push(next.value);
      await this.#parts.stream(this.job, ++sequence, JSON.stringify({ output: next.value }));
    }
    if (this.#stopped) await values.return?.(undefined);
    this.#end(resultOf(yielded, this.#parts, this.#parts.origin));
  }

  #fail(thrown: unknown): void {
    this.#end(failureOf(thrown, this.#parts, this.#parts.origin));
  }

  #end(result: Result): void {
    this.#over = true;
    this.#parts.ended(this, this.#stopped ? undefined : result);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === "function";
}

/** Recognizes the return value of a generator function. An array is also iterable but is treated as a plain value. */
function valuesOf(value: unknown): Values | undefined {
  const given = value as (Partial<AsyncIterator<unknown>> & { [Symbol.iterator]?: unknown }) | null | undefined;
  if (typeof given !== "object" || typeof given?.next !== "function") return undefined;
  return Symbol.asyncIterator in given || Symbol.iterator in given ? (given as Values) : undefined;
}
