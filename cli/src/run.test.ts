/** `millrace run` and `millrace jobs`: what is submitted, what is said while a job waits, and how its end becomes an exit status. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runLine, shellFor, startLine, written } from "../../platform/tests/cli-shell.ts";
import { type JobWorld, setupJobs, type TestWorker } from "../../platform/tests/job-world.ts";
import { temporaryFolder } from "../../platform/tests/process.ts";
import { EXIT } from "./failure.ts";
import { runCommand } from "./run.ts";

const envOf = ({ url, key }: JobWorld) => ({ MILLRACE_URL: url, MILLRACE_API_KEY: key });

/** A worker that answers every job until its work is over. */
async function answers(worker: TestWorker, body: (input: unknown) => unknown): Promise<void> {
  const job = await worker.take();
  if (job) await worker.done(job.id, body(job.input));
}

test("a job is submitted by the endpoint's name, and its output is printed", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const taken = answers(worker, (input) => ({ output: { got: input } }));
  const { out, err } = await runLine(envOf(world), `millrace run echo --input '{"prompt":"hi"}'`);
  await taken;
  expect(out).toBe('{"got":{"prompt":"hi"}}\n');
  expect(err).toMatch(/^job \S+\n$/);
});

test("a text is printed as it is, and --json prints the record", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  let taken = answers(worker, () => ({ output: "plain" }));
  expect((await runLine(envOf(world), "millrace run echo")).out).toBe("plain\n");
  await taken;
  taken = answers(worker, () => ({ output: "plain" }));
  const { out } = await runLine(envOf(world), "millrace run echo --sync --json");
  expect(JSON.parse(out)).toMatchObject({ status: "COMPLETED", output: "plain", workerId: worker.id });
  await taken;
});

test("the input comes from a file or standard input, and must be an object", async () => {
  await using world = await setupJobs();
  await using folder = await temporaryFolder();
  const file = join(folder.path, "input.json");
  await writeFile(file, '{"n":1}');
  const worker = await world.worker();
  const taken = answers(worker, (input) => ({ output: input }));
  expect((await runLine(envOf(world), `millrace run echo --input @${file}`)).out).toBe('{"n":1}\n');
  await taken;
  const { shell, stdin, out } = shellFor(envOf(world));
  stdin.end('{"n":2}');
  const again = answers(worker, (input) => ({ output: input }));
  await runCommand(shell).parseAsync(["node", "run", "echo", "--input", "-"]);
  await again;
  expect(out()).toBe('{"n":2}\n');
  const wrong = (input: string) => runLine(envOf(world), `millrace run echo --input ${input}`);
  await expect(wrong("[1]")).rejects.toMatchObject({ exitCode: EXIT.wrongUse });
  await expect(wrong("{")).rejects.toThrow("the input is not JSON");
  await expect(wrong("@/none")).rejects.toThrow("/none cannot be read (ENOENT)");
});

test("while a job waits, the reason is said; Ctrl-C leaves it there and says how to cancel it", async () => {
  await using world = await setupJobs();
  const { err, interrupt, ended } = startLine(envOf(world), "millrace run echo");
  await written(err, "job ");
  await written(err, "IN_QUEUE: ", () => world.clock.advance(1000));
  interrupt();
  const [, job] = /^job (\S+)/.exec(err())!;
  expect(await ended).toMatchObject({ exitCode: EXIT.interrupted, message: expect.stringContaining("jobs cancel") });
  expect((await world.status(job!)).status).toBe("IN_QUEUE");
});

test("a failed job is exit status 1 with its error, and one that timed out is 5", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const taken = answers(worker, () => ({ error: "no such model" }));
  await expect(runLine(envOf(world), "millrace run echo")).rejects.toMatchObject({
    ...{ exitCode: EXIT.failed, message: expect.stringContaining("the job is FAILED: no such model") },
  });
  await taken;
  const waiting = startLine(envOf(world), "millrace run echo --policy.ttl 10000");
  await written(waiting.err, "job ");
  await world.clock.advance(12_000);
  expect(await waiting.ended).toMatchObject({ exitCode: EXIT.waited });
});

test("--stream prints chunks as they come", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const { out, ended } = startLine(envOf(world), "millrace run echo --stream");
  const job = (await worker.take())!;
  await worker.chunk(job.id, "hel");
  await written(out, "hel");
  await worker.chunk(job.id, "lo");
  await worker.done(job.id, { output: ["hel", "lo"] });
  expect([await ended, out()]).toEqual([undefined, "hello"]);
});

test("jobs are listed by state, and many are cancelled or retried at once", async () => {
  await using world = await setupJobs();
  const env = envOf(world);
  const worker = await world.worker();
  const failed = await world.begun(worker);
  await worker.done(failed, { error: "x" });
  const [one, two] = [await world.submit(), await world.submit()];
  const listed = (line: string) => runLine(env, line).then(({ out }) => out.trim().split("\n"));
  expect(await listed("millrace jobs echo --status IN_QUEUE -q")).toEqual([two, one]);
  await expect(runLine(env, "millrace jobs cancel echo --status IN_QUEUE")).rejects.toThrow("add --yes to do it");
  expect(await listed("millrace jobs cancel echo --status IN_QUEUE --yes")).toHaveLength(2);
  expect((await world.status(one)).status).toBe("CANCELLED");
  await runLine(env, "millrace jobs retry echo --status FAILED,TIMED_OUT --yes");
  expect((await world.status(failed)).status).toBe("IN_QUEUE");
  await expect(runLine(env, `millrace jobs retry echo ${one} none`)).rejects.toThrow("2 of 2 failed");
  await expect(runLine(env, "millrace jobs cancel echo none")).rejects.toMatchObject({ exitCode: EXIT.notFound });
  await expect(runLine(env, "millrace jobs cancel echo")).rejects.toMatchObject({ exitCode: EXIT.wrongUse });
  const taken = answers(worker, () => ({ output: "done" }));
  expect((await runLine(env, `millrace jobs wait echo ${failed}`)).out).toBe("done\n");
  await taken;
  expect((await runLine(env, `millrace jobs output echo ${failed}`)).out).toBe('"done"\n');
});
