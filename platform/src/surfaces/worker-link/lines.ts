/** The lines of an exchange, `<job id> <attempt> <result object>`: limited in number, and parsed in slices or in a thread. */
import { type Report, readReport } from "../../jobs/report.ts";
import type { Reported } from "../../jobs/worker-desk.ts";
import { MIB } from "../../kernel/operation.ts";
import { problem } from "../../kernel/problem.ts";
import { Slices } from "../../kernel/slices.ts";
import { LARGE_BYTES } from "../invoke/large-json.ts";
import { type LongResultParts, longReport } from "./large-result.ts";

/** A batch contains many results. Each also has its own limit. */
export const BATCH_LIMIT = 32 * MIB;

/** Our own worker library sends at most a tenth of this. */
const MOST_LINES = 10_000;

/** This many lines are reported together, since deciding on them also takes time. */
const REPORTED_TOGETHER = 1000;

/** Parsing this many bytes takes a few milliseconds at most, whatever they are. Each line also has a fixed cost, however short it is. */
const SLICE = 64 * 1024;
const COST_OF_LINE = 512;

const NEW_LINE = 0x0a;
const SPACE = 0x20;

export interface LineParts extends LongResultParts {
  /** The endpoint that the lines belong to. Long lines of several endpoints are parsed in turns. */
  whose: string;
}

/** Yields groups of lines. Each is read when the one before is done. */
export async function* readLines(parts: LineParts, bytes: Buffer): AsyncGenerator<Reported[]> {
  refuseTooMany(bytes);
  const slices = new Slices(SLICE);
  let group: Reported[] = [];
  for (const line of linesOf(bytes)) {
    const { id, attempt, report } = readLine(parts, line);
    // Most reports are ready at once, and awaiting them would cost as much as parsing.
    group.push({ id, attempt, report: report instanceof Promise ? await report : report });
    const others = slices.did(line.length + COST_OF_LINE);
    if (others) await others;
    if (group.length < REPORTED_TOGETHER) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

/** Checked before anything is read, so that a refused batch has no effect at all. */
function refuseTooMany(bytes: Buffer): void {
  let count = 1;
  for (let at = bytes.indexOf(NEW_LINE); at !== -1; at = bytes.indexOf(NEW_LINE, at + 1))
    if (++count > MOST_LINES)
      throw problem("too-large", `an exchange has at most ${MOST_LINES} lines; send the rest in another one`);
}

function* linesOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; ) {
    const found = bytes.indexOf(NEW_LINE, start);
    const end = found === -1 ? bytes.length : found;
    if (end > start) yield bytes.subarray(start, end);
    start = end + 1;
  }
}

function readLine(parts: LineParts, line: Buffer) {
  const idEnd = endOfWord(line, 0);
  const attemptEnd = endOfWord(line, idEnd + 1);
  const result = line.subarray(attemptEnd + 1);
  return {
    id: line.toString("utf8", 0, idEnd),
    attempt: Number.parseInt(line.toString("latin1", idEnd + 1, attemptEnd), 10) || undefined,
    report: reportIn(parts, result),
  };
}

function endOfWord(line: Buffer, start: number): number {
  const end = line.indexOf(SPACE, start);
  return end === -1 ? line.length : end;
}

function reportIn(parts: LineParts, result: Buffer): Report | Promise<Report> {
  if (result.length > parts.outputLimit) return longReport(parts, [result], result);
  // The thread gets a copy, since the rest of the buffer is still needed here.
  return result.length > LARGE_BYTES
    ? parts.large.report(new Uint8Array(result), parts.whose)
    : readReport(result.toString());
}
