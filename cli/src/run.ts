/** `millrace run`: submits a job to an endpoint, says why it waits, and prints what it streams and returns. */
import { jobOperations } from "@millrace/platform/jobs/operations.ts";
import { endpointOperations } from "@millrace/platform/resources/endpoints/operations.ts";
import { Command } from "commander";
import { ApiClient } from "./api.ts";
import { textFrom } from "./ask.ts";
import { wrongUse } from "./failure.ts";
import { addFlags, bodyFrom, flagsOf, type Schema } from "./flags.ts";
import { endJob, followJob, type JobRecord, streamJob } from "./follow-job.ts";
import { byIdOrName } from "./names.ts";
import { type TargetOptions, withTarget } from "./profiles.ts";
import { type Shell, writeLine } from "./shell.ts";

interface Options extends TargetOptions {
  input?: string;
  sync?: boolean;
  stream?: boolean;
  detach?: boolean;
  json?: boolean;
  timeout?: string;
}

const {
  input: _input,
  s3Config: _s3Config,
  ...terms
} = (jobOperations.runJob.body.content["application/json"]!.schema as Schema).properties!;
const flags = flagsOf({ properties: terms });

export function runCommand(shell: Shell): Command {
  const command = withTarget(
    new Command("run")
      .description("submit a job to an endpoint, and print what it returns")
      .argument("<endpoint>", "id or name of the endpoint")
      .option("--input <json>", "the input, a JSON object; @file reads a file, '-' standard input", "{}")
      .option("--stream", "print what the job streams as it comes")
      .option("--sync", "submit and wait in one request (/runsync)")
      .option("-d, --detach", "print the job's id and do not wait")
      .option("--timeout <seconds>", "stop waiting after this time, with exit status 5; the job continues")
      .option("--json", "print the job's record as JSON; chunks of a stream as lines of JSON"),
  );
  addFlags(command, flags);
  return command
    .addHelpText("after", `\nExample:\n  millrace run echo --input '{"prompt": "hello"}'`)
    .action(async (endpoint: string, options: Options) => {
      if ([options.sync, options.stream, options.detach].filter(Boolean).length > 1)
        throw wrongUse("--sync, --stream and --detach exclude each other");
      const input = await inputFrom(options.input!, shell);
      const body = bodyFrom(flags, options as unknown as Record<string, unknown>, { input });
      const api = await ApiClient.open(options, shell.env);
      const operation = options.sync ? jobOperations.runJobAndWait : jobOperations.runJob;
      const [id, submitted] = await byIdOrName(api, endpointOperations.listEndpoints, endpoint, async (id) => {
        const answer = await api.call(operation, { params: { endpoint_id: id }, body }, { silenceMs: 360_000 });
        return [id, answer as JobRecord] as const;
      });
      if (options.detach) return writeLine(shell.stdout, options.json ? JSON.stringify(submitted) : submitted.id);
      await end(shell, api, id, submitted, options);
    });
}

async function end(
  shell: Shell,
  api: ApiClient,
  endpoint: string,
  submitted: JobRecord,
  options: Options,
): Promise<void> {
  const { id: job, status } = submitted;
  const followed = { api, shell, endpoint, job, timeoutS: options.timeout };
  if (status !== "IN_QUEUE" && status !== "IN_PROGRESS") return endJob(shell, submitted, options);
  writeLine(shell.stderr, `job ${job}`);
  const record = options.stream ? await streamJob(followed, options.json) : await followJob(followed);
  endJob(shell, record, { json: options.json, isStreamed: options.stream });
}

async function inputFrom(given: string, { stdin }: Shell): Promise<unknown> {
  const text = given === "-" || given.startsWith("@") ? await textFrom(given.replace(/^@/, ""), stdin) : given;
  const input = parsed(text);
  if (typeof input !== "object" || input === null || Array.isArray(input))
    throw wrongUse(`the input must be a JSON object, such as '{"prompt": "hello"}'`);
  return input;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw wrongUse(`the input is not JSON: ${(error as Error).message}`);
  }
}
