/** A result that is too long to be held in memory: checked, and put where it is kept, while it comes in. */

import { KEPT_OF_TOO_LONG, notJson, type Report, readScanned, tooLong } from "../../jobs/report.ts";
import { MIB } from "../../kernel/operation.ts";
import { isProblem, problem } from "../../kernel/problem.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import type { LargeJson } from "../invoke/large-json.ts";

export interface LargeResultParts {
  queue: Pick<Queue, "outputs">;
  large: LargeJson;
  /** Bytes that a result may have at all. */
  largeLimit: number;
}

export interface LongResultParts extends LargeResultParts {
  /** Bytes of a result that is read as a whole. */
  outputLimit: number;
}

/** One that is over the limit is kept apart, or fails its job where nothing is. */
export function longReport(
  parts: LongResultParts,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  beginning: Buffer,
): Promise<Report> | Report {
  const { outputLimit, largeLimit } = parts;
  if (largeLimit > outputLimit) return takeLarge(parts, pieces);
  return tooLong(outputLimit, beginning.toString("utf8", 0, KEPT_OF_TOO_LONG));
}

/** What is said of the job. Where the report names an output, it is staged, and the route that makes the report known lets go of it then. */
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
