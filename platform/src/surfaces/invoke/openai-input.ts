/** Turns a request on the OpenAI-compatible route into the body of a job. Runs in any thread. */
import type { Payload } from "../../ports/queue/job.ts";

export interface OpenAiInput {
  /** The JSON text, passed on unchanged. */
  text: Payload;
  wantsStream: boolean;
}

export const wantsStream = (body: unknown) => (body as { stream?: unknown } | null)?.stream === true;

/** Wraps the sent text. Parsing 20 MB and serializing it again held up all other requests for seconds. */
export function openAiBody(route: string, sent: Payload | undefined): Payload {
  const opening = `{"input":{"openai_route":${JSON.stringify(route)}`;
  if (sent === undefined) return `${opening}}}`;
  if (typeof sent === "string") return `${opening},"openai_input":${sent}}}`;
  return Buffer.concat([Buffer.from(`${opening},"openai_input":`), sent, Buffer.from("}}")]);
}
