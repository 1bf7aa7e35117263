/** Workers that the server starts as real processes: run, killed, recovered, ended. */
import { expect, test } from "vitest";
import { expectCalls } from "./calling.ts";
import { expectBackOff, isOver, place, submit, untilClaimsAreWritten } from "./worker-place.ts";

test.concurrent("a first job starts a worker that runs it, with its secret, and SIGTERM leaves no process", async ({
  onTestFailed,
}) => {
  await using at = await place({ onFailure: onTestFailed });
  await at.call("POST", "/v2/account/secrets", { name: "hub", value: "hf_value" });
  const endpoint = await at.endpoint({ env: { TOKEN: "{{ MILLRACE_SECRET_hub }}" } });
  const job = await submit(at, endpoint);
  const record = await at.until(endpoint, job, isOver);
  expect(record).toMatchObject({ status: "COMPLETED", output: { worker: record.workerId, token: "hf_value" } });
  expect(await at.workers()).toHaveLength(1);
  expect(await at.server.end("SIGTERM")).toBe(0);
  expect(await at.workers()).toEqual([]);
});

test.concurrent("kill -9 of the server while jobs run: workers are recovered, and each job is committed once", async ({
  onTestFailed,
}) => {
  await using at = await place({ onFailure: onTestFailed });
  const endpoint = await at.endpoint({ workers: { min: 2, max: 2 } });
  const jobs = [await submit(at, endpoint, { ms: 4000 }), await submit(at, endpoint, { ms: 4000 })];
  const begun = await Promise.all(jobs.map((job) => at.until(endpoint, job, ({ status }) => status === "IN_PROGRESS")));
  const before = await at.workers();
  await untilClaimsAreWritten(at, endpoint);
  await at.restart("SIGKILL");
  const ended = await Promise.all(jobs.map((job) => at.until(endpoint, job, isOver)));
  expect(ended.map(({ status, workerId }) => [status, workerId])).toEqual(
    begun.map(({ workerId }) => ["COMPLETED", workerId]),
  );
  expect(await at.workers()).toEqual(before);
  const { jobs: counted } = (await at.call("GET", `/v2/${endpoint}/health`)).json;
  expect(counted).toMatchObject({ completed: 2, retried: 0 });
});

test.concurrent("kill -9 of a worker in mid job: it runs again elsewhere, and the third death fails it with the reason", async ({
  onTestFailed,
}) => {
  await using at = await place({ onFailure: onTestFailed });
  const endpoint = await at.endpoint();
  const job = await submit(at, endpoint, { ms: 8000 });
  const first = await at.until(endpoint, job, ({ status }) => status === "IN_PROGRESS");
  for (const pid of await at.workers()) process.kill(pid, "SIGKILL");
  const ended = await at.until(endpoint, job, isOver);
  expect(ended).toMatchObject({ status: "COMPLETED", retries: 1 });
  expect(ended.workerId).not.toBe(first.workerId);
  const deadly = await submit(at, endpoint, { die: true });
  const failed = await at.until(endpoint, deadly, isOver);
  expect(failed).toMatchObject({
    status: "FAILED",
    error: expect.stringMatching(/SIGKILL.*given up after 3 attempts/),
  });
});

test.concurrent("a handler that exits at start: the job says so with its last lines within seconds, and starts back off", async ({
  onTestFailed,
}) => {
  await using at = await place({ onFailure: onTestFailed });
  const endpoint = await at.endpoint({ env: { EXIT_AT_START: "7" } });
  const job = await submit(at, endpoint);
  const { waitReason } = await at.until(endpoint, job, (record) => /^crash loop/.test(record.waitReason));
  expect(waitReason).toBe("crash loop: exit 7, last lines: no such model");
  await expectBackOff(at, endpoint);
});

test.concurrent("a worker calls another endpoint of its account, and nothing else, as long as it lives", async ({
  onTestFailed,
}) => {
  await using at = await place({ onFailure: onTestFailed });
  await expectCalls(at);
});
