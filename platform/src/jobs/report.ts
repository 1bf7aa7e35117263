/** What a worker says of a job: read from the body of a job-done post, whatever shape its author gave it. */
import { MIB } from "../kernel/operation.ts";
import type { Payload } from "../ports/queue/job.ts";

export type Report =
  | { kind: "progress"; output: string }
  | {
      kind: "end";
      /** The result object as JSON text: `output`, `error`, both or neither. */
      result: Payload;
      /** The handler's error, when there is one. */
      error?: string;
      failed: boolean;
      /** The worker wants to be replaced after this job. */
      refresh: boolean;
    };

/** A result that cannot be taken ends the job as failed, with the reason, and with what came so that somebody can look at it. */
export function failure(reason: string, rawOutput: string): Report {
  const result = JSON.stringify({ error: reason, ...(rawOutput === "" ? {} : { rawOutput }) });
  return { kind: "end", result, error: reason, failed: true, refresh: false };
}

/** What is kept of a result that is too long. */
export const KEPT_OF_TOO_LONG = 64 * 1024;

export function tooLong(limit: number, beginning: string): Report {
  return failure(`the output exceeds ${limit / MIB} MB`, beginning.slice(0, KEPT_OF_TOO_LONG));
}

const SHOWN_OF_BROKEN = 200;

/** Never throws: a result that cannot be understood is a failed job, not a lost one. */
export function readReport(text: string): Report {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return failure(`the worker's result is not valid JSON; it begins: ${text.slice(0, SHOWN_OF_BROKEN)}`, text);
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return failure(`the worker's result is not a JSON object; it begins: ${text.slice(0, SHOWN_OF_BROKEN)}`, text);
  }
  return readObject(body as Record<string, unknown>, text);
}

function readObject(body: Record<string, unknown>, text: string): Report {
  const { output, error, status, stopPod } = body;
  if (status === "IN_PROGRESS") return { kind: "progress", output: JSON.stringify(output ?? null) };
  const failed = isError(error);
  const errorText = failed ? asText(error) : undefined;
  const onlyOutput = "output" in body && Object.keys(body).length === 1;
  return {
    kind: "end",
    // The common body is kept as it came: nothing is read and written anew that can be passed on.
    result: onlyOutput && output !== null ? text.trim() : JSON.stringify(resultOf(output, errorText)),
    ...(errorText === undefined ? {} : { error: errorText }),
    failed,
    refresh: stopPod === true,
  };
}

/** An error may be given as any value that is not empty; all of them mean that the job failed. */
function isError(error: unknown): boolean {
  return error !== undefined && error !== null && error !== false && error !== "" && error !== 0;
}

/** Clients read `error` as text: a string is passed through unchanged, anything else becomes its JSON text. */
const asText = (error: unknown) => (typeof error === "string" ? error : JSON.stringify(error));

function resultOf(output: unknown, error: string | undefined): object {
  return { ...(output === undefined || output === null ? {} : { output }), ...(error === undefined ? {} : { error }) };
}
