/** Large JSON bodies are read in a thread: parsing 19 MB would stop the event loop for about 200 ms. */
import { Worker } from "node:worker_threads";
import type { Report } from "../../jobs/report.ts";
import type { RequestTerms } from "../../jobs/request.ts";
import type { Scanned } from "../../kernel/json-scan.ts";
import { type ProblemCode, problem } from "../../kernel/problem.ts";
import type { BatchRequest } from "./batch-body.ts";

/** Shorter bodies are read where they are: handing them over would cost more than it saves. */
export const LARGE_BYTES = 256 * 1024;

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

interface Pending {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

export class LargeJson implements AsyncDisposable {
  #thread: Worker | undefined;
  #nextId = 1;
  #nextScan = 1;
  readonly #pending = new Map<number, Pending>();

  async request(bytes: Uint8Array): Promise<{ terms: RequestTerms; bytes: Uint8Array }> {
    const answer = await this.#askWhole("request", bytes);
    if ("refused" in answer) throw problem(answer.refused.code, answer.refused.detail);
    return answer as Extract<Answer, { terms: RequestTerms }>;
  }

  async requests(bytes: Uint8Array): Promise<BatchRequest[]> {
    const answer = await this.#askWhole("requests", bytes);
    if ("refused" in answer) throw problem(answer.refused.code, answer.refused.detail);
    return (answer as Extract<Answer, { requests: BatchRequest[] }>).requests;
  }

  async report(bytes: Uint8Array): Promise<Report> {
    const answer = (await this.#askWhole("report", bytes)) as Extract<Answer, { report: Report }>;
    return answer.whole && answer.report.kind === "end" ? { ...answer.report, result: answer.bytes } : answer.report;
  }

  scan(): LargeScan {
    const scan = this.#nextScan++;
    const ask = async (kind: ScanQuestion["kind"], bytes?: Uint8Array) => {
      // A copy, since the piece is also written down here.
      const own = bytes && new Uint8Array(bytes);
      return (await this.#ask({ kind, scan, bytes: own }, own ? [own.buffer] : [])) as ScanAnswer;
    };
    return {
      push: async (piece) => (await ask("piece", piece)).goesOn,
      end: async () => (await ask("end")).scanned!,
      [Symbol.dispose]: () => void ask("forget").catch(() => undefined),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread?.terminate();
  }

  /** The bytes travel to the thread and back without being copied. */
  async #askWhole(kind: WholeQuestion["kind"], bytes: Uint8Array): Promise<WholeAnswer> {
    const own = bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
    return (await this.#ask({ kind, bytes: own }, [own.buffer as ArrayBuffer])) as WholeAnswer;
  }

  #ask(question: Omit<WholeQuestion, "id"> | Omit<ScanQuestion, "id">, moved: ArrayBuffer[]): Promise<Answer> {
    const thread = this.#running();
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      thread.postMessage({ id, ...question }, moved);
    });
  }

  /** Started by the first large body: most installations never see one. */
  #running(): Worker {
    if (this.#thread) return this.#thread;
    const thread = new Worker(new URL("./large-json-thread.ts", import.meta.url));
    thread.unref();
    thread.on("message", (answer: Answer) => {
      this.#pending.get(answer.id)?.resolve(answer);
      this.#pending.delete(answer.id);
    });
    thread.on("error", (error) => this.#lost(thread, error));
    thread.on("exit", () => this.#lost(thread, new Error("the thread that reads large bodies ended")));
    this.#thread = thread;
    return thread;
  }

  #lost(thread: Worker, cause: unknown): void {
    if (this.#thread === thread) this.#thread = undefined;
    const error = problem("unavailable", "the request could not be read; try again", { cause });
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}
