/** Reading a stream: chunks after a position, waiting for the next on an event. */
import type { Clock } from "../kernel/clock.ts";
import type { Gone } from "../kernel/gone.ts";
import { type Job, jobLifecycle, type Payload } from "../ports/queue/job.ts";
import type { Chunk, Queue } from "../ports/queue/queue.ts";
import type { Signals, Topic } from "../ports/signals/signals.ts";
import { CHUNK_BYTES, splitText } from "./chunks.ts";
import type { Engine } from "./engine.ts";
import type { Outputs } from "./outputs.ts";

export interface Position {
  attempt: number;
  sequence: number;
}

export const BEGINNING: Position = { attempt: 0, sequence: 0 };

export interface StreamView {
  job: Job;
  chunks: Chunk[];
  /** Whether the job has ended, and no chunk comes after these. What stands below is known then. */
  isLast: boolean;
  /** The result object. */
  result?: Payload;
  /** Why the job ended otherwise than by success. */
  error?: string;
  /** Whether the chunks are the output of a handler that streamed nothing. */
  isWhole?: boolean;
  /** Where the error stands behind the last chunk, as an item of its own; absent when the position is behind it already. */
  errorAt?: Position;
}

const READ_AT_ONCE = 200;
/** Where signals may be lost, whoever waits looks for itself this often. */
const LOOK_EVERY_MS = 1000;

export class Streams {
  /** Answers that are being written right now, one a job: whoever asks meanwhile waits for the cursor to move. */
  readonly answering = new Map<string, Promise<void>>();
  readonly #engine: Engine;
  readonly #queue: Queue;
  readonly #outputs: Outputs;
  readonly #signals: Signals;
  readonly #clock: Clock;
  /** How each of those who wait is let go. */
  readonly #waits = new Set<() => void>();
  #closed = false;

  constructor(parts: { engine: Engine; queue: Queue; outputs: Outputs; signals: Signals; clock: Clock }) {
    this.#outputs = parts.outputs;
    this.#engine = parts.engine;
    this.#queue = parts.queue;
    this.#signals = parts.signals;
    this.#clock = parts.clock;
  }

  /** The server ends: from now on nobody is kept waiting. */
  close(): void {
    this.#closed = true;
    for (const release of [...this.#waits]) release();
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Returns as soon as there are chunks after the position or the job has ended, else when the time is up or the server ends. */
  async next(endpoint: string, id: string, after: Position, waitMs: number, gone: Gone): Promise<StreamView> {
    const untilMs = this.#clock.monotonic() + waitMs;
    for (;;) {
      // Listening begins before looking, so that what comes in between is not missed.
      const change = this.#nextChange(id, untilMs - this.#clock.monotonic(), gone);
      try {
        const view = await this.#look(endpoint, id, after);
        const isOver = this.#clock.monotonic() >= untilMs || gone.aborted || this.#closed;
        if (view.chunks.length > 0 || jobLifecycle.isFinal(view.job.state) || isOver) return view;
        await change.happened;
      } finally {
        change.cancel();
      }
    }
  }

  /** The job is read before its chunks: a chunk that comes in between is then seen, and an end never hides one. */
  async #look(endpoint: string, id: string, after: Position): Promise<StreamView> {
    const { job, result } = await this.#engine.read(endpoint, id, ["result"]);
    const found = await this.#queue.chunks(id, after, READ_AT_ONCE + 1);
    const isLast = jobLifecycle.isFinal(job.state) && found.length <= READ_AT_ONCE;
    if (!isLast) return { job, chunks: found.slice(0, READ_AT_ONCE), isLast };
    const isWhole = found.length === 0;
    const chunks = isWhole ? this.#wholeOutput(job, after, result) : found;
    const error = errorOf(job, result);
    if (error === undefined) return { job, chunks, isLast, isWhole, result };
    return { job, chunks, isLast, result, error, errorAt: await this.#behind(job, chunks.at(-1) ?? after) };
  }

  /** The place right behind the last chunk, or undefined where there is no chunk at the position: then it is that place itself. */
  async #behind({ id, attempt }: Job, last: Position): Promise<Position | undefined> {
    if (last.attempt < attempt || last.sequence === 0) return { attempt, sequence: 1 };
    const [chunk] = await this.#queue.chunks(id, { attempt: last.attempt, sequence: last.sequence - 1 }, 1);
    return chunk?.sequence === last.sequence ? { attempt, sequence: last.sequence + 1 } : undefined;
  }

  /** A handler that streamed nothing gives its whole output as the stream, once; or a link to it. */
  #wholeOutput(job: Job, after: Position, result: Payload | undefined): Chunk[] {
    const { id, attempt, state } = job;
    const nothingRead = after.attempt < attempt || (after.attempt === attempt && after.sequence === 0);
    if (state !== "COMPLETED" || !nothingRead) return [];
    const link = this.#outputs.link(job);
    return piecesOf(link ?? outputIn(result)).map((piece, i) => ({
      ...{ id, attempt, sequence: i + 1 },
      text: JSON.stringify({ output: piece }),
    }));
  }

  #nextChange(id: string, waitMs: number, gone: Gone) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const topics: Topic[] = [`chunk:${id}`, `ended:${id}`];
    const stopListening = topics.map((topic) => this.#signals.listen(topic, () => resolve()));
    const longest = this.#signals.reliable ? waitMs : Math.min(waitMs, LOOK_EVERY_MS);
    const timer = this.#clock.after(longest, resolve);
    const leave = () => resolve();
    gone.addEventListener("abort", leave);
    this.#waits.add(leave);
    const cancel = () => {
      this.#waits.delete(leave);
      timer.cancel();
      gone.removeEventListener("abort", leave);
      for (const stop of stopListening) stop();
    };
    return { happened: promise, cancel };
  }
}

function errorOf({ state, reason }: Job, result: Payload | undefined): string | undefined {
  if (state === "COMPLETED") return undefined;
  if (result === undefined) return reason;
  return (JSON.parse(Buffer.from(result).toString()) as { error?: string }).error ?? reason;
}

function outputIn(result: Payload | undefined): unknown {
  if (result === undefined) return undefined;
  return (JSON.parse(typeof result === "string" ? result : Buffer.from(result).toString()) as { output?: unknown })
    .output;
}

function piecesOf(output: unknown): unknown[] {
  if (output === undefined || (Array.isArray(output) && output.length === 0)) return [];
  const text = JSON.stringify(output);
  return Buffer.byteLength(text) <= CHUNK_BYTES ? [output] : splitText(typeof output === "string" ? output : text);
}
