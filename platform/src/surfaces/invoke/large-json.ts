/** Parses large JSON bodies in threads, accounts in turns: parsing 19 MB here would block the event loop for about 200 ms. */
import { outputChunks, outputIn } from "../../jobs/chunks.ts";
import { credentialBytes, type Opening } from "../../jobs/credential.ts";
import { inputBytes } from "../../jobs/input.ts";
import type { Report } from "../../jobs/report.ts";
import type { RequestTerms } from "../../jobs/request.ts";
import { floating } from "../../kernel/floating.ts";
import type { Scanned } from "../../kernel/json-scan.ts";
import type { Span } from "../../kernel/json-spans.ts";
import { type Meaning, problem } from "../../kernel/problem.ts";
import { TurnThread } from "../../kernel/turn-thread.ts";
import type { Payload } from "../../ports/queue/job.ts";
import type { BatchRequest } from "./batch-body.ts";
import { type OpenAiAnswer, openAiAnswer, shownChunks } from "./shown-output.ts";

/** Shorter bodies are parsed directly: handing them to a thread would cost more than it saves. */
export const LARGE_BYTES = 256 * 1024;
/** Bodies up to this length have a thread of their own, so that they never wait for a longer one. */
const HEAVY_BYTES = 1024 * 1024;

export type WholeQuestion = {
  id: number;
  kind:
    | "request"
    | "requests"
    | "report"
    | "chunks"
    | "openAi"
    | "output"
    | "openAiAnswer"
    | "credentials"
    | "input"
    | "body";
  bytes: Uint8Array;
  /** The schema that validates a body, as JSON. */
  schema?: string;
  /** Which chunks of an output are wanted. */
  part?: { from: number; most: number };
  /** The text that the credentials to be found begin with. */
  opening?: Opening;
};

/** Stored chunks that should be formatted: as items of a stream, or as events for an OpenAI client. */
export type ChunksQuestion = { id: number; kind: "items" | "openAiEvents"; stored: StoredChunk[] };

export interface StoredChunk {
  text: string;
  sequence: number;
}

/** For a body that arrives in pieces: its next piece, its end, or the message that no one needs it any more. */
export type ScanQuestion = { id: number; kind: "piece" | "end" | "forget"; scan: number; bytes?: Uint8Array };

export type Question = WholeQuestion | ScanQuestion | ChunksQuestion;

export type WholeAnswer = { id: number; bytes: Uint8Array } & (
  | { terms: RequestTerms }
  | { requests: BatchRequest[] }
  | { chunks: string[] }
  | { wantsStream: boolean }
  | { texts: string[]; more: boolean }
  | { answer: OpenAiAnswer }
  | { credentials: Span[] }
  | { input: Span }
  | { value: unknown }
  /** `whole` means that the body itself is the result object. */
  | { report: Report; whole: boolean }
  | { refused: { code: Meaning; detail: string; errors?: string[] | undefined } }
);

/** Whether the bytes can still be JSON, and at the end what they are. The buffer of a piece is returned. */
export type ScanAnswer = { id: number; goesOn: boolean; scanned?: Scanned; bytes?: Uint8Array };

export type Answer = WholeAnswer | ScanAnswer | { id: number; shown: string[] };

/** A body that is checked while it arrives. */
export interface LargeScan extends Disposable {
  push(piece: Uint8Array): Promise<boolean>;
  end(): Promise<Scanned>;
}

type Unnumbered = Omit<WholeQuestion, "id"> | Omit<ScanQuestion, "id"> | Omit<ChunksQuestion, "id">;

const THREAD = new URL("./large-json-thread.ts", import.meta.url);

export class LargeJson implements AsyncDisposable {
  readonly #light = new TurnThread<Unnumbered, Answer>(THREAD);
  readonly #heavy = new TurnThread<Unnumbered, Answer>(THREAD);
  #nextScan = 1;

  /** `whose` decides the order: bodies with the same `whose` are read in sequence, others in turns. */
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

  /** Parses a body of the REST API and validates it. The schema limits the size of the returned value. */
  async body(bytes: Uint8Array, schema: object, whose: string): Promise<unknown> {
    const answer = await this.#askWhole("body", bytes, whose, { schema: JSON.stringify(schema) });
    if (!("refused" in answer)) return (answer as Extract<Answer, { value: unknown }>).value;
    const { code, detail, errors } = answer.refused;
    throw problem(code, detail, errors ? { errors } : {});
  }

  /** Splits one post of a streaming job into chunks. */
  async chunks(bytes: Uint8Array, whose: string): Promise<string[]> {
    return ((await this.#askWhole("chunks", bytes, whose)) as Extract<Answer, { chunks: string[] }>).chunks;
  }

  /** Checks a body that is passed on unchanged. */
  async openAi(bytes: Uint8Array, whose: string): Promise<{ wantsStream: boolean; bytes: Uint8Array }> {
    const answer = await this.#askWhole("openAi", bytes, whose);
    if ("refused" in answer) throw problem(answer.refused.code, answer.refused.detail);
    return answer as Extract<Answer, { wantsStream: boolean }>;
  }

  /** Returns the output of a stored result as chunks, and whether more follow. */
  async output(
    result: Payload,
    { whose, ...part }: { from: number; most: number; whose: string },
  ): Promise<{ texts: string[]; more: boolean }> {
    if (result.length <= LARGE_BYTES) return outputChunks(outputIn(textOf(result)), part.from, part.most);
    const answer = await this.#askWhole("output", bytesOf(result), whose, { part });
    return answer as Extract<Answer, { texts: string[] }>;
  }

  /** Turns a stored result into the answer for an OpenAI client. */
  async openAiAnswer(result: Payload, whose: string): Promise<OpenAiAnswer> {
    if (result.length <= LARGE_BYTES) return openAiAnswer(textOf(result));
    return ((await this.#askWhole("openAiAnswer", bytesOf(result), whose)) as { answer: OpenAiAnswer }).answer;
  }

  /** Finds the credentials in a body. The caller keeps its bytes. */
  async credentials(body: Uint8Array, opening: Opening, whose: string): Promise<Span[]> {
    if (body.byteLength <= LARGE_BYTES) return credentialBytes(body, opening);
    const answer = await this.#askWhole("credentials", new Uint8Array(body), whose, { opening });
    return (answer as Extract<Answer, { credentials: Span[] }>).credentials;
  }

  /** Finds the input in a body. The caller keeps its bytes. */
  async input(body: Uint8Array, whose: string): Promise<Span> {
    if (body.byteLength <= LARGE_BYTES) return inputBytes(body);
    return ((await this.#askWhole("input", new Uint8Array(body), whose)) as Extract<Answer, { input: Span }>).input;
  }

  /** Formats each chunk for the reader. */
  async shown(kind: ChunksQuestion["kind"], chunks: readonly StoredChunk[], whose: string): Promise<string[]> {
    const stored = chunks.map(({ text, sequence }) => ({ text, sequence }));
    const length = stored.reduce((sum, { text }) => sum + text.length, 0);
    if (length <= LARGE_BYTES) return shownChunks[kind](stored);
    const thread = length > HEAVY_BYTES ? this.#heavy : this.#light;
    return ((await thread.ask({ kind, stored }, [], whose)) as { shown: string[] }).shown;
  }

  async report(bytes: Uint8Array, whose: string): Promise<Report> {
    const answer = (await this.#askWhole("report", bytes, whose)) as Extract<Answer, { report: Report }>;
    return answer.whole && answer.report.kind === "end" ? { ...answer.report, result: answer.bytes } : answer.report;
  }

  /** Checks a body in short pieces. Each piece waits for the one before it. */
  scan(): LargeScan {
    const scan = this.#nextScan++;
    // One buffer travels to the thread and back, since each piece is also written to storage here. A new copy per piece would add up to the
    // whole body in the thread, which collects garbage late.
    let copy = new ArrayBuffer(0);
    const ask = async (kind: ScanQuestion["kind"], bytes?: Uint8Array<ArrayBuffer>) => {
      const question = { kind, scan, bytes };
      return (await this.#light.ask(question, bytes ? [bytes.buffer] : [], `scan ${scan}`)) as ScanAnswer;
    };
    const push = async (piece: Uint8Array) => {
      if (copy.byteLength < piece.length) copy = new ArrayBuffer(piece.length);
      const bytes = new Uint8Array(copy, 0, piece.length);
      bytes.set(piece);
      const answer = await ask("piece", bytes);
      // A long buffer, which only a long first piece needs, is not kept for the short ones.
      copy = piece.length > LARGE_BYTES ? new ArrayBuffer(0) : (answer.bytes!.buffer as ArrayBuffer);
      return answer.goesOn;
    };
    return {
      push,
      end: async () => (await ask("end")).scanned!,
      [Symbol.dispose]: () => floating(ask("forget"), () => {}),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#light.end(), this.#heavy.end()]);
  }

  /** The bytes move to the thread and back without being copied. */
  async #askWhole(
    kind: WholeQuestion["kind"],
    bytes: Uint8Array,
    whose: string,
    also: Pick<WholeQuestion, "part" | "opening" | "schema"> = {},
  ): Promise<WholeAnswer> {
    const own = bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
    const thread = own.byteLength > HEAVY_BYTES ? this.#heavy : this.#light;
    return (await thread.ask({ kind, bytes: own, ...also }, [own.buffer as ArrayBuffer], whose)) as WholeAnswer;
  }
}

const textOf = (payload: Payload) => (typeof payload === "string" ? payload : Buffer.from(payload).toString());

/** Copies the bytes: a buffer given to the thread is gone here, and others may read the same result. */
const bytesOf = (payload: Payload) =>
  typeof payload === "string" ? new TextEncoder().encode(payload) : new Uint8Array(payload);
