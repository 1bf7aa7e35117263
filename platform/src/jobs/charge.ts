/** What an ended job costs its caller, where the endpoint is shared at a price. */
import type { Charge, Fare, Job, Payload } from "../ports/queue/job.ts";
import type { Queue } from "../ports/queue/queue.ts";

const HOUR_MS = 3_600_000;
/** Longer results are not searched for the tokens that they used. */
const LONGEST_READ = 1024 * 1024;

export interface Tokens {
  inputTokens: number;
  outputTokens: number;
}

const NONE: Tokens = { inputTokens: 0, outputTokens: 0 };

/** A completed job pays for the request, the time and the tokens. */
export function chargeForResult(job: Job, result: Payload, now: number, streamed = NONE): Charge | undefined {
  const { fare } = job;
  if (!fare) return undefined;
  const used = countsTokens(fare) ? larger(tokensIn(result), streamed) : NONE;
  return chargeOf(ranFor(job, now), fare, now, { requests: 1, ...used });
}

/** Whether the tokens in the job's stream count: they have a price. */
export const paysForTokens = ({ fare }: Job) => fare !== undefined && countsTokens(fare);

/** Workers report the tokens of a stream in its last chunks. Fewer than these may follow. */
const LAST_CHUNKS = 20;

/** Returns the tokens that the worker reported at the end of the job's stream, whether or not its result repeats them. */
export async function tokensInStream(queue: Pick<Queue, "chunks">, job: Job, lastChunk: number): Promise<Tokens> {
  const after = { attempt: job.attempt, sequence: Math.max(0, lastChunk - LAST_CHUNKS) };
  const chunks = await queue.chunks(job.id, after, LAST_CHUNKS, LONGEST_READ);
  const own = chunks.filter(({ attempt }) => attempt === job.attempt);
  return own.reduce<Tokens>((most, { text }) => larger(most, tokensIn(text)), NONE);
}

/**
 * A job that its caller cancelled, or that used up its time, pays for the time that it ran. A failed job pays nothing. `streamed` is there
 * if its caller could read a part of the answer: otherwise whoever cancels before the last chunk would have the answer for nothing.
 */
export function chargeForTime(job: Job, now: number, streamed?: Tokens): Charge | undefined {
  const { fare } = job;
  if (!fare || job.state !== "IN_PROGRESS") return undefined;
  const used = streamed && countsTokens(fare) ? streamed : NONE;
  return chargeOf(ranFor(job, now), fare, now, { requests: streamed ? 1 : 0, ...used });
}

/** Whether the price of the job, if it ends early, depends on what it streamed. */
export const paysForAnswers = ({ fare, state }: Job) =>
  fare !== undefined && state === "IN_PROGRESS" && (fare.perRequest > 0 || countsTokens(fare));

/** What a request to a load-balanced worker costs: its time and, if the worker answered it, the request. */
export function chargeForRequest(fare: Fare, executionMs: number, isAnswered: boolean, now: number): Charge {
  return chargeOf(Math.max(0, Math.round(executionMs)), fare, now, { requests: isAnswered ? 1 : 0, ...NONE });
}

const ranFor = (job: Job, now: number) => Math.max(0, now - (job.startedAt ?? now));

function chargeOf(executionMs: number, fare: Fare, now: number, used: Tokens & { requests: number }): Charge {
  const amount =
    BigInt(used.requests) * BigInt(fare.perRequest) +
    shareOf(executionMs, fare.perSecond, 1000n) +
    shareOf(used.inputTokens, fare.perMillionInputTokens, 1_000_000n) +
    shareOf(used.outputTokens, fare.perMillionOutputTokens, 1_000_000n);
  return { hour: now - (now % HOUR_MS), ...used, executionMs, amount: Number(amount) };
}

/** Rounded to the nearest. */
const shareOf = (count: number, price: number, per: bigint) => (BigInt(count) * BigInt(price) + per / 2n) / per;

const countsTokens = (fare: Fare) => fare.perMillionInputTokens > 0 || fare.perMillionOutputTokens > 0;

/** Finds the `usage` that workers of language models report, in their own form or in that of OpenAI. The largest one counts. */
export function tokensIn(result: Payload): Tokens {
  if (result.length > LONGEST_READ) return NONE;
  const text = typeof result === "string" ? result : Buffer.from(result).toString();
  if (!text.includes("usage")) return NONE;
  try {
    return usageIn((JSON.parse(text) as { output?: unknown }).output, 0);
  } catch {
    return NONE;
  }
}

/** A stream's output is a list, whose items may be lists, or lines of server-sent events. */
const DEEPEST = 3;

function usageIn(output: unknown, depth: number): Tokens {
  if (typeof output === "string") return usageIn(eventIn(output), depth);
  if (Array.isArray(output) && depth < DEEPEST)
    return output.reduce<Tokens>((most, item) => larger(most, usageIn(item, depth + 1)), NONE);
  if (typeof output !== "object" || output === null) return NONE;
  const { usage } = output as { usage?: unknown };
  if (typeof usage !== "object" || usage === null) return NONE;
  const { input, output: out, prompt_tokens, completion_tokens } = usage as Record<string, unknown>;
  return { inputTokens: countOf(prompt_tokens ?? input), outputTokens: countOf(completion_tokens ?? out) };
}

/** Returns the last event of some lines that has usage. */
function eventIn(lines: string): unknown {
  const last = lines.split("\n").findLast((line) => line.startsWith("data:") && line.includes('"usage"'));
  try {
    return last && JSON.parse(last.slice("data:".length));
  } catch {
    return undefined;
  }
}

const larger = (a: Tokens, b: Tokens): Tokens => ({
  inputTokens: Math.max(a.inputTokens, b.inputTokens),
  outputTokens: Math.max(a.outputTokens, b.outputTokens),
});

/** Numbers that no model reaches are not believed. */
const MOST_TOKENS = 1_000_000_000;
const countOf = (value: unknown) =>
  typeof value === "number" && Number.isInteger(value) && value > 0 && value <= MOST_TOKENS ? value : 0;
