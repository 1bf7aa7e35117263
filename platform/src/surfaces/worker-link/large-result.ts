/** Takes a result that is too long for memory: it is checked and stored while it arrives. */

import { KEPT_OF_TOO_LONG, notJson, type Report, readScanned, tooLong } from "../../jobs/report.ts";
import { MIB } from "../../kernel/operation.ts";
import { isProblem, problem } from "../../kernel/problem.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import type { LargeJson } from "../invoke/large-json.ts";

export interface LargeResultParts {
  queue: Pick<Queue, "outputs">;
  large: LargeJson;
  /** The most bytes of any result. */
  largeLimit: number;
}

export interface LongResultParts extends LargeResultParts {
  /** The most bytes of a result that is read as a whole. */
  outputLimit: number;
}

/** A result over the limit is kept apart. If nothing can be kept apart, it fails its job. */
export function longReport(
  parts: LongResultParts,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  beginning: Buffer,
): Promise<Report> | Report {
  const { outputLimit, largeLimit } = parts;
  if (largeLimit > outputLimit) return takeLarge(parts, pieces);
  return tooLong(outputLimit, beginning.toString("utf8", 0, KEPT_OF_TOO_LONG));
}

/** Returns the report on the job. If it names an output, that is staged, and the route releases it after reporting. */
export async function takeLarge(
  { queue, large, largeLimit }: LargeResultParts,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<Report> {
  using scan = large.scan();
  let beginning = Buffer.alloc(0);
  let received = 0;
  let isBroken = false;

  async function* checked(): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      received += piece.length;
      if (beginning.length < KEPT_OF_TOO_LONG)
        beginning = Buffer.concat([beginning, piece.subarray(0, KEPT_OF_TOO_LONG - beginning.length)]);
      if (received > largeLimit) throw problem("too-large", `the output exceeds ${largeLimit / MIB} MB`);
      isBroken = !(await scan.push(piece));
      if (isBroken) throw problem("unreadable", "the result is not JSON");
      yield piece;
    }
  }

  let key: string;
  try {
    key = await queue.outputs.stage(checked());
  } catch (error) {
    if (isBroken) return notJson(beginning.toString());
    if (isProblem(error, "too-large")) return tooLong(largeLimit, beginning.toString());
    throw error;
  }
  const report = readScanned(await scan.end(), key, beginning.toString());
  if (report.kind !== "end" || !report.large) await queue.outputs.unstage(key);
  return report;
}
