/** `millrace jobs cancel|retry|wait|output`: what is done with jobs of an endpoint, one by one or many at once. */
import { jobOperations } from "@millrace/platform/jobs/operations.ts";
import { requestPath } from "@millrace/platform/kernel/request-path.ts";
import { endpointOperations } from "@millrace/platform/resources/endpoints/operations.ts";
import { Command } from "commander";
import { ApiClient } from "./api.ts";
import { confirmed } from "./ask.ts";
import { Failure, wrongUse } from "./failure.ts";
import { endJob, followJob, type JobRecord } from "./follow-job.ts";
import { byIdOrName } from "./names.ts";
import { type TargetOptions, withTarget } from "./profiles.ts";
import { type Shell, writeLine } from "./shell.ts";

interface Options extends TargetOptions {
  json?: boolean;
  status?: string;
  yes?: boolean;
  timeout?: string;
}

/** So many requests are under way at once where many jobs are meant. */
const AT_ONCE = 8;
const PAGE = 1000;

const made = (name: string, about: string, example: string) =>
  withTarget(new Command(name).description(about))
    .argument("<endpoint>", "id or name of the endpoint")
    .option("--json", "print JSON")
    .addHelpText("after", `\nExample:\n  millrace jobs ${name} ${example}`);

export function jobCommands(shell: Shell): Command[] {
  return [
    many(shell, {
      ...{ name: "cancel", about: "cancel jobs by their ids, or all in a state", operation: jobOperations.cancelJob },
      example: "echo --status IN_QUEUE --yes",
    }),
    many(shell, {
      ...{
        name: "retry",
        about: "run failed jobs again, by their ids or all in a state",
        operation: jobOperations.retryJob,
      },
      example: "echo --status FAILED --yes",
    }),
    wait(shell),
    output(shell),
  ];
}

interface Many {
  name: "cancel" | "retry";
  about: string;
  example: string;
  operation: { method: "POST"; path: string };
}

function many(shell: Shell, { name, about, example, operation }: Many): Command {
  return made(name, about, example)
    .argument("[job...]", "ids of jobs")
    .option("--status <states>", "all jobs in these states, with commas between, in place of ids")
    .option("--yes", "do not ask before many are changed")
    .action(async (endpoint: string, given: string[], { status, yes, json, ...target }: Options) => {
      if ((given.length === 0) === (status === undefined)) throw wrongUse("name jobs by their ids, or by --status");
      const api = await ApiClient.open(target, shell.env);
      const said = await byIdOrName(api, endpointOperations.listEndpoints, endpoint, async (id) => {
        const jobs = status === undefined ? given : await jobsIn(api, id, status);
        if (status !== undefined && jobs.length > 0)
          await confirmed(shell, `this will ${name} ${jobs.length} jobs that are ${status}`, yes);
        return actOnAll(api, id, jobs, operation);
      });
      if (json) writeLine(shell.stdout, JSON.stringify({ requests: said.done, failed: said.failed }));
      else for (const job of said.done) writeLine(shell.stdout, `${job.id}  ${job.status}`);
      if (said.failed.length === 0) return;
      const errors = said.failed.map(({ id, error }) => `${id}: ${error.message}`);
      throw new Failure(
        `${errors.length} of ${said.done.length + errors.length} failed`,
        said.failed[0]!.error.exitCode,
        {
          errors,
        },
      );
    });
}

async function jobsIn(api: ApiClient, endpoint: string, status: string): Promise<string[]> {
  const ids: string[] = [];
  for (let hasMore = true; hasMore; ) {
    const query = { status, limit: PAGE, offset: ids.length };
    const answer = await api.call(jobOperations.listJobs, { params: { endpoint_id: endpoint }, query });
    const page = answer as { requests: { id: string }[]; hasMore: boolean };
    ids.push(...page.requests.map(({ id }) => id));
    hasMore = page.hasMore && page.requests.length > 0;
  }
  return ids;
}

async function actOnAll(api: ApiClient, endpoint: string, jobs: readonly string[], operation: Many["operation"]) {
  const done: { id: string; status: string }[] = [];
  const failed: { id: string; error: Failure }[] = [];
  const waiting = [...jobs];
  const act = async (id: string) => {
    try {
      const params = { endpoint_id: endpoint, job_id: id };
      done.push((await api.call(operation, { params })) as { id: string; status: string });
    } catch (error) {
      // A single id that is not there may be that of an endpoint's name, which is looked up.
      if (!(error instanceof Failure) || jobs.length === 1) throw error;
      failed.push({ id, error });
    }
  };
  const work = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) await act(id);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { done, failed };
}

function wait(shell: Shell): Command {
  return made("wait", "wait for a job's end, and say meanwhile why it waits", "echo JOB --timeout 60")
    .argument("<job>", "id of the job")
    .option("--timeout <seconds>", "give up then, with exit status 5")
    .action(async (endpoint: string, job: string, { json, timeout, ...target }: Options) => {
      const api = await ApiClient.open(target, shell.env);
      const record = await byIdOrName(api, endpointOperations.listEndpoints, endpoint, (id) =>
        followJob({ api, shell, endpoint: id, job, timeoutS: timeout }),
      );
      endJob(shell, record, { json });
    });
}

function output(shell: Shell): Command {
  return made("output", "print the whole output of a job, however long it is", "echo JOB")
    .argument("<job>", "id of the job")
    .action(async (endpoint: string, job: string, target: Options) => {
      const api = await ApiClient.open(target, shell.env);
      const { pipeline } = await import("node:stream/promises");
      const params = { job_id: job };
      await byIdOrName(api, endpointOperations.listEndpoints, endpoint, async (id) => {
        const record = (await api.call(jobOperations.getJob, { params: { ...params, endpoint_id: id } })) as JobRecord;
        const long = longOutput(record);
        if (!long) return writeLine(shell.stdout, JSON.stringify(record.output ?? null));
        const { body } = await api.send(
          requestPath(jobOperations.getJobOutput.path, { params: { ...params, endpoint_id: id } }),
        );
        await pipeline(body, shell.stdout, { end: false });
      });
    });
}

/** An output that is too long for its record is there as the address where it is. */
const longOutput = ({ output }: JobRecord) =>
  typeof output === "object" && output !== null && "url" in output && "bytes" in output;
