/** What a tool answers: JSON as text, bounded, or the reason why not. */
import { type Failure, Refusal } from "../failure.ts";

export interface Answered {
  [more: string]: unknown;
  content: { type: "text"; text: string }[];
  isError?: boolean;
}

/** An agent reads all of it, so a huge list would push out what it knows. */
const LONGEST = 60_000;
const CUT = "\n… The answer is longer. Ask for less: use a limit, a filter, or get one record by its id.";

export function answerOf(value: unknown): Answered {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? { done: true }, null, 1);
  return { content: [{ type: "text", text: text.length > LONGEST ? text.slice(0, LONGEST) + CUT : text }] };
}

export function refusalOf(failure: Failure): Answered {
  const code = failure instanceof Refusal && failure.code ? [`Reason code: ${failure.code}`] : [];
  return {
    isError: true,
    content: [{ type: "text", text: [failure.message, ...failure.errors, ...code].join("\n") }],
  };
}
