/** What a client of the OpenAI-compatible route sends, as the job that its worker gets. Runs in any thread. */
import type { Payload } from "../../ports/queue/job.ts";

export interface OpenAiInput {
  /** JSON, passed on as it came. */
  text: Payload;
  wantsStream: boolean;
}

export const wantsStream = (body: unknown) => (body as { stream?: unknown } | null)?.stream === true;

/** Put together around what was sent: reading and writing 20 MB anew held everybody up for seconds. */
export function openAiBody(route: string, sent: Payload | undefined): Payload {
  const opening = `{"input":{"openai_route":${JSON.stringify(route)}`;
  if (sent === undefined) return `${opening}}}`;
  if (typeof sent === "string") return `${opening},"openai_input":${sent}}}`;
  return Buffer.concat([Buffer.from(`${opening},"openai_input":`), sent, Buffer.from("}}")]);
}
