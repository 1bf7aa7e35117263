/** Reads a stream: returns the chunks after a position and waits for the next ones on an event. */

import { type Admit, UNCOUNTED_BYTES } from "../kernel/body-memory.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Gone } from "../kernel/gone.ts";
import { MIB } from "../kernel/operation.ts";
import { wait } from "../kernel/wait.ts";
import { type Job, jobLifecycle, type Payload } from "../ports/queue/job.ts";
import type { Chunk, Queue } from "../ports/queue/queue.ts";
import type { Signals, Topic } from "../ports/signals/signals.ts";
import { outputChunks } from "./chunks.ts";
import type { Engine, Waiting } from "./engine.ts";
import type { Outputs } from "./outputs.ts";
import { endOf } from "./record.ts";

export interface StreamPosition {
  attempt: number;
  sequence: number;
}

export const BEGINNING: StreamPosition = { attempt: 0, sequence: 0 };

export interface StreamView {
  job: Job;
  chunks: Chunk[];
  /** Whether the job has ended and no chunk follows. The fields below are only set then. */
  isLast: boolean;
  result?: Payload;
  /** Why the job did not succeed. */
  error?: string;
  /** Whether the chunks are the output of a handler that streamed nothing. */
  isWhole?: boolean;
  /** The position of the error, which follows the last chunk as an item of its own. Absent if the reader is already past it. */
  errorAt?: StreamPosition;
}

const READ_AT_ONCE = 200;
/** An answer stays in memory until it is sent, and the reader asks again for more. A chunk has at most 1 MB. */
const READ_BYTES = 4 * MIB;
/** Longer results are parsed in a thread. */
const READ_HERE = 256 * 1024;

/** Reads the output of a result as chunks, in a thread where that would block other requests. */
export type ReadOutput = (
  result: Payload,
  ask: { from: number; most: number; whose: string },
) => Promise<{ texts: string[]; more: boolean }>;

/** Where signals can be lost, each waiting reader checks the queue this often. */
const LOOK_EVERY_MS = 1000;

export class Streams {
  /** Answers that are being written, at most one per job. Another client that asks meanwhile waits for the cursor to move. */
  readonly answering = new Map<string, Promise<void>>();
  readonly #engine: Engine;
  readonly #queue: Queue;
  readonly #outputs: Outputs;
  readonly #readOutput: ReadOutput;
  readonly #signals: Signals;
  readonly #clock: Clock;
  /** Each function releases one waiting reader. */
  readonly #waits = new Set<() => void>();
  #closed = false;

  constructor(parts: {
    engine: Engine;
    queue: Queue;
    outputs: Outputs;
    readOutput: ReadOutput;
    signals: Signals;
    clock: Clock;
  }) {
    this.#outputs = parts.outputs;
    this.#readOutput = parts.readOutput;
    this.#engine = parts.engine;
    this.#queue = parts.queue;
    this.#signals = parts.signals;
    this.#clock = parts.clock;
  }

  /** The server shuts down, so nobody is kept waiting from now on. */
  close(): void {
    this.#closed = true;
    for (const release of [...this.#waits]) release();
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Returns as soon as there are chunks after the position or the job has ended. Otherwise it returns when the time is up or the server
   * shuts down.
   */
  async next(
    endpoint: string,
    id: string,
    after: StreamPosition,
    { waitMs, gone, admit }: Waiting,
  ): Promise<StreamView> {
    const untilMs = this.#clock.monotonic() + waitMs;
    for (;;) {
      // Listening begins before looking, so that no change in between is missed.
      const change = this.#nextChange(id, untilMs - this.#clock.monotonic(), gone);
      try {
        const view = await this.#look(endpoint, id, after, admit);
        const isOver = this.#clock.monotonic() >= untilMs || gone.aborted || this.#closed;
        if (view.chunks.length > 0 || jobLifecycle.isFinal(view.job.state) || isOver) return view;
        await change.happened;
      } finally {
        change.cancel();
      }
    }
  }

  /** The job is read before its chunks. So a chunk that arrives in between is seen, and the end of the job never hides a chunk. */
  async #look(endpoint: string, id: string, after: StreamPosition, admit?: Admit): Promise<StreamView> {
    const { job } = await this.#engine.read(endpoint, id);
    const found = await this.#chunks(id, after, admit);
    const isOver = jobLifecycle.isFinal(job.state);
    if (!isOver || (await this.#hasMore(id, found))) return { job, chunks: found, isLast: false };
    return this.#lookAtEnd(endpoint, job, after, found, admit);
  }

  /** The length of the chunks is only known once they are read, so the largest possible size is reserved until then. */
  async #chunks(id: string, after: StreamPosition, admit?: Admit): Promise<Chunk[]> {
    const hold = await admit?.(READ_BYTES);
    const found = await this.#queue.chunks(id, after, READ_AT_ONCE, READ_BYTES);
    const length = found.reduce((sum, { text }) => sum + text.length, 0);
    hold?.keep(length > UNCOUNTED_BYTES ? length : 0);
    return found;
  }

  async #hasMore(id: string, found: readonly Chunk[]): Promise<boolean> {
    const last = found.at(-1);
    return last !== undefined && (await this.#queue.chunks(id, last, 1)).length > 0;
  }

  async #lookAtEnd(
    endpoint: string,
    { id }: Job,
    after: StreamPosition,
    found: Chunk[],
    admit: Admit | undefined,
  ): Promise<StreamView> {
    // The job is read again together with its result, so that both are from the same moment.
    const { job, result } = await this.#engine.read(endpoint, id, ["result"], admit);
    if (!jobLifecycle.isFinal(job.state)) return { job, chunks: found, isLast: false };
    const isWhole = found.length === 0 && job.state === "COMPLETED" && !(await this.#hasStreamed(job, after));
    const { chunks, more } = isWhole ? await this.#wholeOutput(job, after, result) : { chunks: found, more: false };
    if (more) return { job, chunks, isLast: false, isWhole };
    const error = errorOf(job, result);
    if (error === undefined) return { job, chunks, isLast: true, isWhole, result };
    return { job, chunks, isLast: true, result, error, errorAt: await this.#behind(job, chunks.at(-1) ?? after) };
  }

  /** There is no chunk after the position. So there is either a chunk before it or none at all. */
  async #hasStreamed({ id, attempt }: Job, after: StreamPosition): Promise<boolean> {
    if (after.attempt < attempt || after.sequence === 0) return false;
    return (await this.#queue.chunks(id, { attempt, sequence: 0 }, 1)).length > 0;
  }

  /**
   * Returns the position right behind the last chunk. If no chunk is at `last`, then `last` is already that position, and this returns
   * undefined.
   */
  async #behind({ id, attempt }: Job, last: StreamPosition): Promise<StreamPosition | undefined> {
    if (last.attempt < attempt || last.sequence === 0) return { attempt, sequence: 1 };
    const [chunk] = await this.#queue.chunks(id, { attempt: last.attempt, sequence: last.sequence - 1 }, 1);
    return chunk?.sequence === last.sequence ? { attempt, sequence: last.sequence + 1 } : undefined;
  }

  /** The whole output of a handler that streamed nothing, or a link to it, is given out once as the stream. */
  async #wholeOutput(
    job: Job,
    after: StreamPosition,
    result: Payload | undefined,
  ): Promise<{ chunks: Chunk[]; more: boolean }> {
    const { id, attempt, endpoint } = job;
    const from = after.attempt < attempt ? 0 : after.sequence;
    const link = this.#outputs.link(job);
    const { texts, more } = link
      ? outputChunks(link, from, READ_BYTES)
      : await this.#readOutput(result ?? "{}", { from, most: READ_BYTES, whose: endpoint });
    return { chunks: texts.map((text, i) => ({ id, attempt, sequence: from + i + 1, text })), more };
  }

  #nextChange(id: string, waitMs: number, gone: Gone) {
    const topics: Topic[] = [`chunk:${id}`, `ended:${id}`];
    const over = () => {
      this.#waits.delete(leave);
      for (const stop of stopListening) stop();
    };
    const ms = this.#signals.reliable ? waitMs : Math.min(waitMs, LOOK_EVERY_MS);
    const { ended, leave } = wait<void>({ clock: this.#clock, ms, gone, late: undefined, over });
    const stopListening = topics.map((topic) => this.#signals.listen(topic, leave));
    this.#waits.add(leave);
    return { happened: ended, cancel: leave };
  }
}

/** A long result is not parsed for its error, because the job has the beginning of it. */
export function errorOf(job: Job, result: Payload | undefined): string | undefined {
  const { state, error } = job;
  const reason = endOf(job);
  if (state === "COMPLETED") return undefined;
  if (result === undefined) return reason;
  if (result.length > READ_HERE) return error ?? reason;
  return (JSON.parse(Buffer.from(result).toString()) as { error?: string }).error ?? reason;
}
