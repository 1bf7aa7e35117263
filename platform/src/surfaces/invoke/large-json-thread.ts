/** The thread that parses large bodies, one after another. */
import { parentPort } from "node:worker_threads";
import { chunksOf, outputChunks, outputIn } from "../../jobs/chunks.ts";
import { credentialBytes } from "../../jobs/credential.ts";
import { inputBytes } from "../../jobs/input.ts";
import { readReport, SCANNED } from "../../jobs/report.ts";
import { readRequest } from "../../jobs/request.ts";
import { realClock } from "../../kernel/clock.ts";
import { openCollector } from "../../kernel/collector.ts";
import { parseJson, parseKeptJson } from "../../kernel/json.ts";
import { JsonScan } from "../../kernel/json-scan.ts";
import { Problem } from "../../kernel/problem.ts";
import { assertValid } from "../../kernel/validate.ts";
import { readBatchBody } from "./batch-body.ts";
import type { ChunksQuestion, Question, ScanAnswer, ScanQuestion, WholeAnswer, WholeQuestion } from "./large-json.ts";
import { Leftovers } from "./leftovers.ts";
import { wantsStream } from "./openai-input.ts";
import { openAiAnswer, shownChunks } from "./shown-output.ts";

const port = parentPort!;
const leftovers = new Leftovers(realClock, openCollector());

port.on("message", (question: Question) => {
  if ("scan" in question) {
    const { bytes } = question;
    return port.postMessage({ ...scanOn(question), bytes }, bytes ? [bytes.buffer as ArrayBuffer] : []);
  }
  if ("stored" in question) return port.postMessage(showChunks(question));
  const answer = readers[question.kind](question);
  const { byteLength } = answer.bytes;
  port.postMessage(answer, [answer.bytes.buffer as ArrayBuffer]);
  leftovers.add(byteLength);
});

const readers: Record<WholeQuestion["kind"], (question: WholeQuestion) => WholeAnswer> = {
  request: readLargeRequest,
  requests: readLargeRequests,
  report: readLargeReport,
  chunks: ({ id, bytes }) => ({ id, bytes, chunks: chunksOf(textOf(bytes)) }),
  openAi: readLargeInput,
  body: readLargeBody,
  // The bytes are dropped here, since the caller keeps its own copy.
  output: ({ id, bytes, part }) => ({
    id,
    bytes: NOTHING(),
    ...outputChunks(outputIn(textOf(bytes)), part!.from, part!.most),
  }),
  credentials: ({ id, bytes, opening }) => ({ id, bytes: NOTHING(), credentials: credentialBytes(bytes, opening!) }),
  input: ({ id, bytes }) => ({ id, bytes: NOTHING(), input: inputBytes(bytes) }),
  openAiAnswer: ({ id, bytes }) => ({ id, bytes: NOTHING(), answer: openAiAnswer(textOf(bytes)) }),
};

const NOTHING = () => new Uint8Array(0);

function showChunks({ id, kind, stored }: ChunksQuestion) {
  return { id, shown: shownChunks[kind](stored) };
}

/** The bodies that are still arriving. */
const scans = new Map<number, JsonScan>();

function scanOn({ id, kind, scan: number, bytes }: ScanQuestion): ScanAnswer {
  const scan = scans.get(number) ?? new JsonScan(SCANNED);
  if (kind === "forget") scans.delete(number);
  else scans.set(number, scan);
  if (kind === "end") return { id, goesOn: false, scanned: scan.end() };
  return { id, goesOn: bytes ? scan.push(bytes) : false };
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** Removes a byte order mark. The server's parser skips it, but the worker's parser might not. */
const withoutMark = (sent: Uint8Array) =>
  BYTE_ORDER_MARK.every((byte, i) => sent[i] === byte) ? sent.subarray(3) : sent;

function readLargeRequest({ id, bytes: sent }: WholeQuestion): WholeAnswer {
  const bytes = withoutMark(sent);
  try {
    return { id, bytes, terms: readRequest(parseKeptJson(bytes).value) };
  } catch (error) {
    return refused(id, bytes, error);
  }
}

function readLargeRequests({ id, bytes }: WholeQuestion): WholeAnswer {
  try {
    return { id, bytes, requests: readBatchBody(bytes) };
  } catch (error) {
    return refused(id, bytes, error);
  }
}

const schemas = new Map<string, object>();

/** Returns the same object for the same schema, so that each schema is compiled once. */
function known(text: string): object {
  const schema = schemas.get(text) ?? (JSON.parse(text) as object);
  schemas.set(text, schema);
  return schema;
}

function readLargeBody({ id, bytes, schema }: WholeQuestion): WholeAnswer {
  try {
    return { id, bytes: NOTHING(), value: assertValid(known(schema!), parseJson(bytes)) };
  } catch (error) {
    return refused(id, NOTHING(), error);
  }
}

function refused(id: number, bytes: Uint8Array, error: unknown): WholeAnswer {
  const known = error instanceof Problem ? error : new Problem("unreadable", "the request body could not be read");
  return { id, bytes, refused: { code: known.code, detail: known.detail, errors: known.errors } };
}

const textOf = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();

function readLargeInput({ id, bytes: sent }: WholeQuestion): WholeAnswer {
  const bytes = withoutMark(sent);
  try {
    return { id, bytes, wantsStream: wantsStream(parseKeptJson(bytes).value) };
  } catch (error) {
    return refused(id, bytes, error);
  }
}

function readLargeReport({ id, bytes }: WholeQuestion): WholeAnswer {
  const text = textOf(bytes);
  const report = readReport(text);
  const whole = report.kind === "end" && report.result === text.trim();
  // If the bytes are already the result, its text is not sent back a second time.
  return { id, bytes, whole, report: whole ? { ...report, result: "" } : report };
}
