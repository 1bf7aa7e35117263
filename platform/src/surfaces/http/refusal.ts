/** How a refusal leaves a surface: the surface chooses the status from its own table, and the form. */
import type { Meaning, Problem } from "../../kernel/problem.ts";
import type { Reply } from "./reply.ts";

/** A surface's status for each meaning. */
export type Statuses = Readonly<Record<Meaning, number>>;

export interface Refused {
  status: number;
  contentType: string;
  body: string;
}

/** The specifications fix the bodies of refusals, so the reason code goes into a header. */
export const REASON_HEADER = "X-Reason-Code";

export const reasonHeader = {
  description: "The code of the reason, for programs. docs/reasons.md has them all, with what to do about each.",
  schema: { type: "string" },
  example: "no-capacity",
} as const;

export function sendRefusal(reply: Reply, refusal: Problem, { status, contentType, body }: Refused): Reply {
  Object.assign(reply.headers, refusal.headers);
  reply.header(REASON_HEADER, refusal.reason);
  if (refusal.retryAfterS !== undefined) reply.header("Retry-After", String(refusal.retryAfterS));
  return reply.code(status).type(contentType).send(body);
}
