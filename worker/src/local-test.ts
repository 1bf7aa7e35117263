/** The local test: runs one job from a file or the command line without a server. */
import { existsSync, readFileSync } from "node:fs";
import type { Handler, Job } from "./handler.ts";
import { JobRun } from "./job-run.ts";
import type { Origin } from "./result.ts";

const FILE = "test_input.json";

export interface LocalTestParts {
  handler: Handler;
  /** The input from the command line. Without it the file is read. */
  given: string | undefined;
  print(line: string): void;
}

/** Prints chunks, progress and the result as JSON lines. Resolves to whether the job succeeded. */
export async function localTest({ handler, given, print }: LocalTestParts): Promise<boolean> {
  const job = jobFrom(given ?? fileText());
  const origin: Origin = { hostname: "local", worker: "local" };
  return new Promise((resolve) => {
    const run = new JobRun(job, {
      handler,
      origin,
      refresh: false,
      aggregate: true,
      stream: async (_job, _sequence, chunk) => print(chunk),
      progressed: (_run, text) => print(text),
      ended: (_run, result) => {
        const text = result?.text ?? "{}";
        print(text);
        resolve(!("error" in JSON.parse(text)));
      },
    });
    run.begin();
  });
}

function fileText(): string {
  if (existsSync(FILE)) return readFileSync(FILE, "utf8");
  throw new Error(
    `nothing says where the server is (MILLRACE_URL), and there is no job to test with: put {"input": {…}} into ${FILE} or after --test-input`,
  );
}

function jobFrom(text: string): Job {
  const parsed = JSON.parse(text) as Partial<Job>;
  if (typeof parsed?.input !== "object" || parsed.input === null)
    throw new Error('the test job must look like {"input": {…}}');
  return { id: "local-test", attempt: 1, ...parsed, input: parsed.input };
}
