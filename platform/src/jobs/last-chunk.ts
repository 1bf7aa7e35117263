/** Finds the last chunk of a job's stream. */
import { MIB } from "../kernel/operation.ts";
import type { Queue } from "../ports/queue/queue.ts";

const READ_AT_ONCE = 200;
const READ_BYTES = 4 * MIB;

/** Returns the number of an attempt's last chunk, or 0. A later attempt may have chunks already, which a reader gets too. */
export async function lastSequence(queue: Pick<Queue, "chunks">, id: string, attempt: number): Promise<number> {
  for (let sequence = 0; ; ) {
    const read = await queue.chunks(id, { attempt, sequence }, READ_AT_ONCE, READ_BYTES);
    const last = read.findLast((chunk) => chunk.attempt === attempt);
    if (!last) return sequence;
    sequence = last.sequence;
  }
}
