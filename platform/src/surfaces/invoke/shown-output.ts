/** Formats outputs for their readers. Short ones are parsed directly, long ones in a thread. */
import { withMetrics } from "../../jobs/chunks.ts";

interface StoredChunk {
  text: string;
  sequence: number;
}

export type OpenAiAnswer = { text: string } | { status: number; message: string };

/** Workers of this route yield, so the only item of the output is the answer. */
export function openAiAnswer(result: string): OpenAiAnswer {
  const { output } = JSON.parse(result) as { output?: unknown };
  const answer = Array.isArray(output) && output.length === 1 ? output[0] : output;
  const inner = (answer as { error?: unknown } | undefined | null)?.error;
  return inner ? { status: statusOf(inner), message: messageOf(inner) } : { text: JSON.stringify(answer ?? null) };
}

export const shownChunks = {
  items: (stored: readonly StoredChunk[]) =>
    stored.map(({ text, sequence }) => JSON.stringify(withMetrics(text, sequence))),
  openAiEvents: (stored: readonly StoredChunk[]) =>
    stored.map(({ text }) => eventText((JSON.parse(text) as { output?: unknown }).output)),
};

/** Newer workers yield finished event text, and older ones yield objects or lists of objects. */
function eventText(output: unknown): string {
  if (typeof output === "string") return output;
  const items = Array.isArray(output) ? output : [output];
  return items.map((item) => (typeof item === "string" ? item : `data: ${JSON.stringify(item)}\n\n`)).join("");
}

function statusOf(error: unknown): number {
  const { code } = error as { code?: unknown };
  return typeof code === "number" && code >= 400 && code < 600 ? code : 500;
}

function messageOf(error: unknown): string {
  const { message } = error as { message?: unknown };
  return typeof message === "string" ? message : JSON.stringify(error);
}
