/** Reads what a worker reports about a job from the body of a job-done post, whatever shape the handler's author gave it. */
import type { JsonMember, Scanned } from "../kernel/json-scan.ts";
import { MIB } from "../kernel/operation.ts";
import { because, type Reason, type ReasonCode, saying } from "../kernel/reason.ts";
import type { LargeOutput, Payload } from "../ports/queue/job.ts";

export type Report =
  | { kind: "progress"; output: string }
  | {
      kind: "end";
      /** The result object as JSON text. It has `output`, `error`, both or neither. */
      result: Payload;
      /** Where the output is stored, if it is too long for the result. */
      large?: LargeOutput;
      /** The handler's error, if there is one. */
      error?: string;
      /** Why the service calls the job failed, if the handler did not say so itself. */
      code?: ReasonCode;
      failed: boolean;
      /** The worker wants to be replaced after this job. */
      refresh: boolean;
    };

/**
 * A result that cannot be accepted fails the job. The result gives the reason and contains what arrived, so that somebody can look at it.
 */
function failure({ text: error, code }: Reason, rawOutput: string): Report {
  const result = JSON.stringify({ error, ...(rawOutput === "" ? {} : { rawOutput }) });
  return { kind: "end", result, error, code, failed: true, refresh: false };
}

/** How much of a too long result is kept. */
export const KEPT_OF_TOO_LONG = 64 * 1024;

export function tooLong(limit: number, beginning: string): Report {
  return failure(because("result-too-long", { limitMb: limit / MIB }), beginning.slice(0, KEPT_OF_TOO_LONG));
}

const SHOWN_OF_BROKEN = 200;

/** Never throws: a result that cannot be understood fails the job and does not lose it. */
export function readReport(text: string): Report {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return notJson(text);
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) return noObject(text);
  try {
    return readObject(body as Record<string, unknown>, text);
  } catch {
    // Deeply nested JSON can be parsed but not serialized again, because serializing recurses.
    return failure(because("result-unreadable", { fault: "is nested too deeply" }), text.slice(0, KEPT_OF_TOO_LONG));
  }
}

export const notJson = (text: string) =>
  failure(because("result-unreadable", { fault: "is not valid JSON" }, text.slice(0, SHOWN_OF_BROKEN)), text);

const noObject = (text: string) =>
  failure(because("result-unreadable", { fault: "is not a JSON object" }, text.slice(0, SHOWN_OF_BROKEN)), text);

/** The members to find in a result that is never read as a whole: the place of its output, and the beginning of all others. */
export const SCANNED = {
  members: ["output", "error", "status", "stopPod"],
  kept: ["error", "status", "stopPod"],
  most: 64 * 1024,
};

/** Does the same for a result that was scanned while it arrived and is staged under this key. */
export function readScanned(scanned: Scanned, key: string, beginning: string): Report {
  if ("fault" in scanned) return notJson(beginning);
  if (!scanned.isObject) return noObject(beginning);
  const { members } = scanned;
  const output = members.get("output");
  const [start, end] = output?.span ?? [0, 0];
  // `null` means no output, and no real output is that short here.
  const large = end - start > "null".length ? { key, start, bytes: end - start } : undefined;
  const short = readObject(
    {
      error: beginningOf(members.get("error")),
      status: beginningOf(members.get("status")),
      stopPod: beginningOf(members.get("stopPod")),
    },
    "",
  );
  if (short.kind === "progress")
    return failure(saying("result-unreadable", "progress must be shorter than a result"), beginning);
  return { ...short, ...(large ? { large } : {}) };
}

/** A value longer than its kept beginning is returned as text. Only an error is ever shown, so that is enough. */
function beginningOf(member: JsonMember | undefined): unknown {
  if (!member?.beginning) return undefined;
  const text = Buffer.from(member.beginning).toString();
  const isWhole = member.beginning.length === member.span[1] - member.span[0];
  if (isWhole) return JSON.parse(text);
  // A truncated escape sequence at the end is dropped.
  return text.startsWith('"') ? JSON.parse(`${text.replace(HALF_AN_ESCAPE, "$1")}"`) : text;
}

const HALF_AN_ESCAPE = /((?:^|[^\\])(?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$/;

function readObject(body: Record<string, unknown>, text: string): Report {
  const { output, error, status, stopPod } = body;
  if (status === "IN_PROGRESS") return { kind: "progress", output: JSON.stringify(output ?? null) };
  const failed = isError(error);
  const errorText = failed ? asText(error) : undefined;
  const onlyOutput = "output" in body && Object.keys(body).length === 1;
  return {
    kind: "end",
    // The common body, which has only an output, is stored byte for byte and not serialized again.
    result: onlyOutput && output !== null ? text.trim() : JSON.stringify(resultOf(output, errorText)),
    ...(errorText === undefined ? {} : { error: errorText }),
    failed,
    refresh: stopPod === true,
  };
}

/** An error may be any value that is not empty, and every such value means that the job failed. */
function isError(error: unknown): boolean {
  return error !== undefined && error !== null && error !== false && error !== "" && error !== 0;
}

/** Clients read `error` as text: a string is passed through unchanged, anything else becomes its JSON text. */
const asText = (error: unknown) => (typeof error === "string" ? error : JSON.stringify(error));

function resultOf(output: unknown, error: string | undefined): object {
  return { ...(output === undefined || output === null ? {} : { output }), ...(error === undefined ? {} : { error }) };
}
