/** Large JSON bodies are read in threads, accounts in turns: parsing 19 MB would stop the event loop for about 200 ms. */
import { Worker } from "node:worker_threads";
import type { Report } from "../../jobs/report.ts";
import type { RequestTerms } from "../../jobs/request.ts";
import { floating } from "../../kernel/floating.ts";
import type { Scanned } from "../../kernel/json-scan.ts";
import { type ProblemCode, problem } from "../../kernel/problem.ts";
import { Turns } from "../../kernel/turns.ts";
import type { BatchRequest } from "./batch-body.ts";

/** Shorter bodies are read where they are: handing them over would cost more than it saves. */
export const LARGE_BYTES = 256 * 1024;
/** Those up to this length have a thread of their own, so that none of them waits for a longer one. */
const HEAVY_BYTES = 1024 * 1024;

export type WholeQuestion = { id: number; kind: "request" | "requests" | "report"; bytes: Uint8Array };

/** Of a body that comes in pieces: the next piece, the end of it, or that nobody wants to know any more. */
export type ScanQuestion = { id: number; kind: "piece" | "end" | "forget"; scan: number; bytes?: Uint8Array };

export type Question = WholeQuestion | ScanQuestion;

export type WholeAnswer = { id: number; bytes: Uint8Array } & (
  | { terms: RequestTerms }
  | { requests: BatchRequest[] }
  /** `whole`: the body itself is the result object. */
  | { report: Report; whole: boolean }
  | { refused: { code: ProblemCode; detail: string } }
);

/** Whether it can still be JSON, and at the end what it is. */
export type ScanAnswer = { id: number; goesOn: boolean; scanned?: Scanned };

export type Answer = WholeAnswer | ScanAnswer;

/** A body that is checked while it comes in. */
export interface LargeScan extends Disposable {
  push(piece: Uint8Array): Promise<boolean>;
  end(): Promise<Scanned>;
}

export class LargeJson implements AsyncDisposable {
  readonly #light = new ReadingThread();
  readonly #heavy = new ReadingThread();
  #nextScan = 1;

  /** `whose` says who waits behind whom: bodies of one party are read in their order, those of several in turns. */
  async request(bytes: Uint8Array, whose: string): Promise<{ terms: RequestTerms; bytes: Uint8Array }> {
    const answer = await this.#askWhole("request", bytes, whose);
    if ("refused" in answer) throw problem(answer.refused.code, answer.refused.detail);
    return answer as Extract<Answer, { terms: RequestTerms }>;
  }

  async requests(bytes: Uint8Array, whose: string): Promise<BatchRequest[]> {
    const answer = await this.#askWhole("requests", bytes, whose);
    if ("refused" in answer) throw problem(answer.refused.code, answer.refused.detail);
    return (answer as Extract<Answer, { requests: BatchRequest[] }>).requests;
  }

  async report(bytes: Uint8Array, whose: string): Promise<Report> {
    const answer = (await this.#askWhole("report", bytes, whose)) as Extract<Answer, { report: Report }>;
    return answer.whole && answer.report.kind === "end" ? { ...answer.report, result: answer.bytes } : answer.report;
  }

  /** Its pieces are short, and each waits for the one before. */
  scan(): LargeScan {
    const scan = this.#nextScan++;
    const ask = async (kind: ScanQuestion["kind"], bytes?: Uint8Array) => {
      // A copy, since the piece is also written down here.
      const own = bytes && new Uint8Array(bytes);
      const question = { kind, scan, bytes: own };
      return (await this.#light.ask(question, own ? [own.buffer] : [], `scan ${scan}`)) as ScanAnswer;
    };
    return {
      push: async (piece) => (await ask("piece", piece)).goesOn,
      end: async () => (await ask("end")).scanned!,
      [Symbol.dispose]: () => floating(ask("forget"), () => {}),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#light.end(), this.#heavy.end()]);
  }

  /** The bytes travel to the thread and back without being copied. */
  async #askWhole(kind: WholeQuestion["kind"], bytes: Uint8Array, whose: string): Promise<WholeAnswer> {
    const own = bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
    const thread = own.byteLength > HEAVY_BYTES ? this.#heavy : this.#light;
    return (await thread.ask({ kind, bytes: own }, [own.buffer as ArrayBuffer], whose)) as WholeAnswer;
  }
}

const ENDING = "the server is being ended; try again";

interface Asked {
  question: Omit<WholeQuestion, "id"> | Omit<ScanQuestion, "id">;
  moved: ArrayBuffer[];
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** One question at a time: what waits can still be taken in turns. */
class ReadingThread {
  #thread: Worker | undefined;
  #lastId = 0;
  #asked: Asked | undefined;
  #isOver = false;
  readonly #waiting = new Turns<Asked>();

  ask(question: Asked["question"], moved: ArrayBuffer[], whose: string): Promise<Answer> {
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

  /** Started by the first large body: most installations never see one. */
  #running(): Worker {
    if (this.#thread) return this.#thread;
    const thread = new Worker(new URL("./large-json-thread.ts", import.meta.url));
    thread.unref();
    thread.on("message", (answer: Answer) => {
      if (answer.id !== this.#lastId) return;
      this.#settle(({ resolve }) => resolve(answer));
    });
    thread.on("error", (error) => this.#lost(thread, error));
    thread.on("exit", () => this.#lost(thread, new Error("the thread that reads large bodies ended")));
    this.#thread = thread;
    return thread;
  }

  /** What it was at is lost, and perhaps what ended it; a new one goes on with what waits. */
  #lost(thread: Worker, cause: unknown): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    const error = problem("unavailable", "the request could not be read; try again", { cause });
    this.#settle(({ reject }) => reject(error));
  }

  #settle(tell: (asked: Asked) => void): void {
    const asked = this.#asked;
    this.#asked = undefined;
    if (asked) tell(asked);
    this.#askNext();
  }
}
