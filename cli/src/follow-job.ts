/** Follows a job to its end: says why it waits, prints what it streams, and turns how it ended into an exit status. */
import { jobOperations } from "@millrace/platform/jobs/operations.ts";
import { requestPath } from "@millrace/platform/kernel/request-path.ts";
import type { ApiClient } from "./api.ts";
import { EXIT, Failure, wrongUse } from "./failure.ts";
import { type Shell, writeLine } from "./shell.ts";

export interface JobRecord {
  id: string;
  status: string;
  waitReason?: string;
  error?: string;
  errorCode?: string;
  output?: unknown;
  workerId?: string;
}

export interface Followed {
  api: ApiClient;
  shell: Shell;
  endpoint: string;
  job: string;
  /** After so many seconds the wait is over. */
  timeoutS?: string | undefined;
}

/** A wait reason may change this often. The server holds the request so long, and answers at once when the job ends. */
const LOOK_MS = 2000;
/** The longest time that a server holds a request. */
const LONGEST_LOOK_MS = 30_000;

const isOver = ({ status }: JobRecord) => status !== "IN_QUEUE" && status !== "IN_PROGRESS";

export async function followJob(followed: Followed, stop?: AbortSignal): Promise<JobRecord> {
  const { api, shell, endpoint, job } = followed;
  const untilMs = deadlineOf(followed);
  const interrupted = shell.interrupted();
  const signal = stop ? AbortSignal.any([interrupted, stop]) : interrupted;
  const params = { endpoint_id: endpoint, job_id: job };
  let [said, isRunning] = ["", false];
  for (let wait = 1000; ; wait = isRunning ? LONGEST_LOOK_MS : LOOK_MS) {
    const left = Math.max(1000, Math.min(wait, untilMs - shell.clock.monotonic()));
    const ask = { params, query: { wait: Math.round(left) } };
    const record = (await api
      .call(jobOperations.waitForJob, ask, { signal, silenceMs: left + 60_000 })
      .catch((error) => {
        throw interrupted.aborted ? goesOn(endpoint, job) : error;
      })) as JobRecord;
    if (isOver(record)) return record;
    isRunning = record.status === "IN_PROGRESS";
    const now = standingOf(record);
    if (now !== said) writeLine(shell.stderr, now);
    said = now;
    if (shell.clock.monotonic() >= untilMs)
      throw new Failure(
        `the job has not ended in time: it is ${record.status} and continues. ${howToCancel(endpoint, job)}`,
        EXIT.waited,
      );
  }
}

function standingOf({ status, waitReason, workerId }: JobRecord): string {
  const why = waitReason ?? (workerId === undefined ? undefined : `worker ${workerId} runs it`);
  return why === undefined ? status : `${status}: ${why}`;
}

function deadlineOf({ timeoutS, shell }: Followed): number {
  if (timeoutS === undefined) return Infinity;
  const seconds = Number(timeoutS);
  if (!(seconds > 0)) throw wrongUse("--timeout takes seconds, such as 60");
  return shell.clock.monotonic() + seconds * 1000;
}

const howToCancel = (endpoint: string, job: string) => `Cancel it with: millrace jobs cancel ${endpoint} ${job}`;

const goesOn = (endpoint: string, job: string) =>
  new Failure(`the job continues. ${howToCancel(endpoint, job)}`, EXIT.interrupted);

/** Prints chunks as they come, while the reason is said for which the job waits. */
export async function streamJob(followed: Followed, json: boolean | undefined): Promise<JobRecord> {
  const { api, shell, endpoint, job } = followed;
  const over = new AbortController();
  let failure: unknown;
  const waiting = followJob(followed, over.signal).catch((error: unknown) => {
    if (!over.signal.aborted) failure = error;
    over.abort();
  });
  const ask = { params: { endpoint_id: endpoint, job_id: job }, query: { format: "events" } };
  const path = requestPath(jobOperations.streamJob.path, ask);
  try {
    for await (const { event, data } of api.events(path, { signal: over.signal })) {
      if (event === "end") return data as JobRecord;
      if (event === "reset") writeLine(shell.stderr, "the job starts again; ignore what it streamed before");
      else printChunk(shell, (data as { output?: unknown }).output, json);
    }
  } catch (error) {
    throw failure ?? error;
  } finally {
    over.abort();
    await waiting;
  }
  if (failure !== undefined) throw failure;
  // The server ended the stream before the job did, as it does when it shuts down.
  return followJob(followed);
}

function printChunk({ stdout }: Shell, output: unknown, json: boolean | undefined): void {
  if (json) writeLine(stdout, JSON.stringify({ output }));
  else if (typeof output === "string") stdout.write(output);
  else writeLine(stdout, JSON.stringify(output));
}

interface Ending {
  json?: boolean | undefined;
  /** Whether the output was printed as it came. */
  isStreamed?: boolean | undefined;
}

/** Prints what the job returned, or fails with its error. */
export function endJob(shell: Shell, record: JobRecord, { json, isStreamed }: Ending): void {
  const { status, error, errorCode, output } = record;
  if (json) writeLine(shell.stdout, JSON.stringify(record));
  else if (!isStreamed && output !== undefined)
    writeLine(
      shell.stdout,
      typeof output === "string" ? output : JSON.stringify(output, null, shell.stdout.isTTY ? 2 : 0),
    );
  if (status === "COMPLETED") return;
  const why = error === undefined ? "" : `: ${error}`;
  throw new Failure(`the job is ${status}${why}`, status === "TIMED_OUT" ? EXIT.waited : EXIT.failed, {
    errors: errorCode === undefined ? [] : [`code ${errorCode}; docs/reasons.md says what to do`],
  });
}
