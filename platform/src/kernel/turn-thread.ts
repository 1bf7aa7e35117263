/** A thread that answers one question at a time, and serves several parties in turns. */
import { Worker } from "node:worker_threads";
import { problem } from "./problem.ts";
import { THREAD_MEMORY } from "./thread-memory.ts";
import { Turns } from "./turns.ts";

const ENDING = "the server is being ended; try again";

interface Asked<Question, Answer> {
  question: Question;
  moved: ArrayBuffer[];
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

export class TurnThread<Question extends object, Answer extends { id: number }> {
  readonly #file: URL;
  readonly #data: unknown;
  #thread: Worker | undefined;
  #lastId = 0;
  #asked: Asked<Question, Answer> | undefined;
  #isOver = false;
  readonly #waiting = new Turns<Asked<Question, Answer>>();

  /** The thread's program must answer each message with one that has the same `id`. */
  constructor(file: URL, data?: unknown) {
    this.#file = file;
    this.#data = data;
  }

  /**
   * `whose` names the party that asks; its questions wait behind its own earlier ones. The buffers in `moved` belong to the thread from
   * then on.
   */
  ask(question: Question, moved: ArrayBuffer[], whose: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(whose, { question, moved, resolve, reject });
      this.#askNext();
    });
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#thread?.terminate();
  }

  #askNext(): void {
    if (this.#asked) return;
    this.#asked = this.#waiting.next();
    if (!this.#asked) return;
    const { question, moved } = this.#asked;
    if (this.#isOver) this.#settle(({ reject }) => reject(problem("unavailable", ENDING)));
    else this.#running().postMessage({ id: ++this.#lastId, ...question }, moved);
  }

  /** The first question starts the thread, since most installations never ask one. */
  #running(): Worker {
    if (this.#thread) return this.#thread;
    const thread = new Worker(this.#file, { workerData: this.#data, resourceLimits: THREAD_MEMORY });
    thread.unref();
    thread.on("message", (answer: Answer) => {
      if (answer.id !== this.#lastId) return;
      this.#settle(({ resolve }) => resolve(answer));
    });
    thread.on("error", (error) => this.#lost(thread, error));
    thread.on("exit", () => this.#lost(thread, new Error("the thread ended")));
    this.#thread = thread;
    return thread;
  }

  /**
   * The question that it was working on is lost, since it may have ended the thread. A new thread continues with the questions that wait.
   */
  #lost(thread: Worker, cause: unknown): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    const error = problem("unavailable", "the request could not be read; try again", { cause });
    this.#settle(({ reject }) => reject(error));
  }

  #settle(tell: (asked: Asked<Question, Answer>) => void): void {
    const asked = this.#asked;
    this.#asked = undefined;
    if (asked) tell(asked);
    this.#askNext();
  }
}
