/** Workers that the server starts as real processes: run, killed, recovered, ended. */
import { chmod, copyFile, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFailed, test } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { ownerKey, type Server, startServer, temporaryFolder } from "./process.ts";
import type { Answer } from "./world.ts";

const LOOK_MS = 50;
const TRIES = 600;
const WORKER = new URL("./fixtures/small-worker.mjs", import.meta.url);

interface Place extends AsyncDisposable {
  server: Server;
  /** Ends the server with a signal and starts the next one. */
  restart(signal: NodeJS.Signals): Promise<void>;
  call(method: string, path: string, body?: object): Promise<Answer>;
  endpoint(more?: object): Promise<string>;
  /** The job once it is as expected. */
  until(endpoint: string, job: string, fits: (record: Answer["json"]) => boolean): Promise<Answer["json"]>;
  /** Process ids of this test's workers. */
  workers(): Promise<number[]>;
}

async function place(): Promise<Place> {
  const folder = await temporaryFolder();
  const app = await temporaryFolder();
  // A name of its own, by which its processes are found.
  const program = `worker-${app.path.split("-").at(-1)}.mjs`;
  await copyFile(WORKER, join(app.path, program));
  // Programs run as users of their own.
  await chmod(app.path, 0o755);
  const start = (...args: string[]) => startServer(folder.path, { args, env: { MILLRACE_COMPUTE: "host" } });
  let server = await start();
  onTestFailed(() => console.log(server.log()));
  const key = await ownerKey(folder.path);
  const call: Place["call"] = (method, path, body) => server.call(method, path, { key, body });
  return {
    get server() {
      return server;
    },
    async restart(signal) {
      await server.end(signal);
      // Workers that still run know the server by its address.
      server = await start("--port", new URL(server.url).port);
    },
    call,
    async endpoint(more = {}) {
      const cpu = [{ id: "cpu3c", vcpuCount: 2 }];
      const body = { name: "real", image: `host:${app.path}`, cmd: ["node", program], cpu, ...more };
      const { status, json, text } = await call("POST", "/v2/serverless", body);
      if (status !== 201) throw new Error(text);
      return json.id;
    },
    async until(endpoint, job, fits) {
      for (let tries = 0; ; tries++) {
        const { json } = await call("GET", `/v2/${endpoint}/status/${job}`);
        if (fits(json)) return json;
        if (tries === TRIES) throw new Error(`the job is not as expected: ${JSON.stringify(json)}`);
        await stay(LOOK_MS);
      }
    },
    workers: () => processesWith(program),
    async [Symbol.asyncDispose]() {
      await server.end("SIGTERM");
      for (const pid of await processesWith(program)) process.kill(pid, "SIGKILL");
      await folder[Symbol.asyncDispose]();
      await app[Symbol.asyncDispose]();
    },
  };
}

/** Node processes with this program, and not the sandbox around them. */
async function processesWith(program: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map(async (pid) => ({
      pid,
      words: (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0"),
    })),
  );
  return lines.filter(({ words }) => words[1] === program).map(({ pid }) => Number(pid));
}

const submit = async (at: Place, endpoint: string, input: object = {}) =>
  (await at.call("POST", `/v2/${endpoint}/run`, { input })).json.id as string;

const isOver = ({ status }: { status: string }) => !["IN_QUEUE", "IN_PROGRESS"].includes(status);

test("a first job starts a worker that runs it, with its secret, and SIGTERM leaves no process", async () => {
  await using at = await place();
  await at.call("POST", "/v2/account/secrets", { name: "hub", value: "hf_value" });
  const endpoint = await at.endpoint({ env: { TOKEN: "{{ MILLRACE_SECRET_hub }}" } });
  const job = await submit(at, endpoint);
  const record = await at.until(endpoint, job, isOver);
  expect(record).toMatchObject({ status: "COMPLETED", output: { worker: record.workerId, token: "hf_value" } });
  expect(await at.workers()).toHaveLength(1);
  expect(await at.server.end("SIGTERM")).toBe(0);
  expect(await at.workers()).toEqual([]);
});

test("kill -9 of the server while jobs run: workers are recovered, and each job is committed once", async () => {
  await using at = await place();
  const endpoint = await at.endpoint({ workers: { min: 2, max: 2 } });
  const jobs = [await submit(at, endpoint, { ms: 4000 }), await submit(at, endpoint, { ms: 4000 })];
  const begun = await Promise.all(jobs.map((job) => at.until(endpoint, job, ({ status }) => status === "IN_PROGRESS")));
  const before = await at.workers();
  await at.restart("SIGKILL");
  const ended = await Promise.all(jobs.map((job) => at.until(endpoint, job, isOver)));
  expect(ended.map(({ status, workerId }) => [status, workerId])).toEqual(
    begun.map(({ workerId }) => ["COMPLETED", workerId]),
  );
  expect(await at.workers()).toEqual(before);
  const { jobs: counted } = (await at.call("GET", `/v2/${endpoint}/health`)).json;
  expect(counted).toMatchObject({ completed: 2, retried: 0 });
});

test("kill -9 of a worker in mid job: it runs again elsewhere, and the third death fails it with the reason", async () => {
  await using at = await place();
  const endpoint = await at.endpoint();
  const job = await submit(at, endpoint, { ms: 1500 });
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

test("a handler that exits at start: the job says so with its last lines within seconds, and starts back off", async () => {
  await using at = await place();
  const endpoint = await at.endpoint({ env: { EXIT_AT_START: "7" } });
  const job = await submit(at, endpoint);
  const { waitReason } = await at.until(endpoint, job, (record) => /^crash loop/.test(record.waitReason));
  expect(waitReason).toBe("crash loop: exit 7, last lines: no such model");
  const starts = () => at.server.log().split('"a worker failed"').length - 1;
  await stay(5000);
  expect(starts()).toBeLessThanOrEqual(4);
});
