/** Finds the tokens that workers reported in the streams of jobs which end now and pay for them. */
import type { Job } from "../ports/queue/job.ts";
import type { Queue } from "../ports/queue/queue.ts";
import { paysForAnswers, paysForTokens, type Tokens, tokensInStream } from "./charge.ts";
import { lastSequence } from "./last-chunk.ts";
import type { Report } from "./report.ts";
import type { Session } from "./sessions.ts";

type StreamedTokens = Map<Job, Tokens>;

/** `jobs` and `reports` belong together by their places. */
export async function streamedTokens(
  queue: Pick<Queue, "chunks">,
  { begun }: Pick<Session, "begun">,
  jobs: readonly (Job | undefined)[],
  reports: readonly { report: Report }[],
): Promise<StreamedTokens> {
  const found: StreamedTokens = new Map();
  for (const [i, job] of jobs.entries()) {
    if (!job || reports[i]!.report.kind !== "end" || !paysForTokens(job)) continue;
    const next = begun.get(job.id)?.nextChunk;
    const last = next === undefined ? await lastSequence(queue, job.id, job.attempt) : next - 1;
    if (last > 0) found.set(job, await tokensInStream(queue, job, last));
  }
  return found;
}

/** What a job that ends early has streamed; undefined if that is nothing, or makes no difference to its price. */
export async function streamedSoFar(queue: Pick<Queue, "chunks">, job: Job): Promise<Tokens | undefined> {
  if (!paysForAnswers(job)) return undefined;
  const last = await lastSequence(queue, job.id, job.attempt);
  return last > 0 ? tokensInStream(queue, job, last) : undefined;
}
