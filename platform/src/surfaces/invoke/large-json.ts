/** Large JSON bodies are read in threads, accounts in turns: parsing 19 MB would stop the event loop for about 200 ms. */
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

/** Shorter bodies are read where they are: handing them over would cost more than it saves. */
export const LARGE_BYTES = 256 * 1024;
/** Those up to this length have a thread of their own, so that none of them waits for a longer one. */
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
  /** What a body is held to, as JSON. */
  schema?: string;
  /** Which chunks of an output are wanted. */
  part?: { from: number; most: number };
  /** What the credentials that are looked for begin with. */
  opening?: Opening;
};

/** Stored chunks, to be written as they are shown: as items of a stream, or as the events of an OpenAI client. */
export type ChunksQuestion = { id: number; kind: "items" | "openAiEvents"; stored: StoredChunk[] };

export interface StoredChunk {
  text: string;
  sequence: number;
}

/** Of a body that comes in pieces: the next piece, the end of it, or that nobody wants to know any more. */
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
  /** `whole`: the body itself is the result object. */
  | { report: Report; whole: boolean }
  | { refused: { code: Meaning; detail: string; errors?: string[] | undefined } }
);

/** Whether it can still be JSON, and at the end what it is. The bytes of a piece come back. */
export type ScanAnswer = { id: number; goesOn: boolean; scanned?: Scanned; bytes?: Uint8Array };

export type Answer = WholeAnswer | ScanAnswer | { id: number; shown: string[] };

/** A body that is checked while it comes in. */
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

  /** A body of the REST API, held to its schema: what comes back is no longer than that allows. */
  async body(bytes: Uint8Array, schema: object, whose: string): Promise<unknown> {
    const answer = await this.#askWhole("body", bytes, whose, { schema: JSON.stringify(schema) });
    if (!("refused" in answer)) return (answer as Extract<Answer, { value: unknown }>).value;
    const { code, detail, errors } = answer.refused;
    throw problem(code, detail, errors ? { errors } : {});
  }

  /** What one post of a streaming job becomes. */
  async chunks(bytes: Uint8Array, whose: string): Promise<string[]> {
    return ((await this.#askWhole("chunks", bytes, whose)) as Extract<Answer, { chunks: string[] }>).chunks;
  }

  /** A body that is passed on as it came. */
  async openAi(bytes: Uint8Array, whose: string): Promise<{ wantsStream: boolean; bytes: Uint8Array }> {
    const answer = await this.#askWhole("openAi", bytes, whose);
    if ("refused" in answer) throw problem(answer.refused.code, answer.refused.detail);
    return answer as Extract<Answer, { wantsStream: boolean }>;
  }

  /** The output of a stored result as chunks, and whether more follow. */
  async output(
    result: Payload,
    { whose, ...part }: { from: number; most: number; whose: string },
  ): Promise<{ texts: string[]; more: boolean }> {
    if (result.length <= LARGE_BYTES) return outputChunks(outputIn(textOf(result)), part.from, part.most);
    const answer = await this.#askWhole("output", bytesOf(result), whose, { part });
    return answer as Extract<Answer, { texts: string[] }>;
  }

  /** What a stored result says to an OpenAI client. */
  async openAiAnswer(result: Payload, whose: string): Promise<OpenAiAnswer> {
    if (result.length <= LARGE_BYTES) return openAiAnswer(textOf(result));
    return ((await this.#askWhole("openAiAnswer", bytesOf(result), whose)) as { answer: OpenAiAnswer }).answer;
  }

  /** Where credentials stand in a body, which stays where it is. */
  async credentials(body: Uint8Array, opening: Opening, whose: string): Promise<Span[]> {
    if (body.byteLength <= LARGE_BYTES) return credentialBytes(body, opening);
    const answer = await this.#askWhole("credentials", new Uint8Array(body), whose, { opening });
    return (answer as Extract<Answer, { credentials: Span[] }>).credentials;
  }

  /** Where the input stands in a body, which stays where it is. */
  async input(body: Uint8Array, whose: string): Promise<Span> {
    if (body.byteLength <= LARGE_BYTES) return inputBytes(body);
    return ((await this.#askWhole("input", new Uint8Array(body), whose)) as Extract<Answer, { input: Span }>).input;
  }

  /** Each chunk as it is shown. */
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

  /** Its pieces are short, and each waits for the one before. */
  scan(): LargeScan {
    const scan = this.#nextScan++;
    // One copy goes to and fro, since each piece is also written down here: copies that stayed with the thread would be as long as all that came,
    // and a thread that makes nothing else collects them late.
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
      // A long one, which only the first piece needs, is not kept for the short ones.
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

  /** The bytes travel to the thread and back without being copied. */
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

/** A copy: what is handed to the thread is gone here, and others may read the same result. */
const bytesOf = (payload: Payload) =>
  typeof payload === "string" ? new TextEncoder().encode(payload) : new Uint8Array(payload);
