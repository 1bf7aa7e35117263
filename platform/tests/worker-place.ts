/** A server that starts real workers: processes of this machine, or containers of an image. */
import { chmod, copyFile, cp, readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFailed } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { ownerKey, type Server, startServer, temporaryFolder } from "./process.ts";
import type { Answer } from "./world.ts";

export const LOOK_MS = 50;
/** Two minutes: only a hang takes that long, even on a machine where a container takes half a minute to start. */
export const TRIES = 2400;
const WORKER = new URL("./fixtures/small-worker.mjs", import.meta.url);
/** Sends exactly what the public Python worker package sends. */
const PUBLIC_WORKER = new URL("./fixtures/public-worker", import.meta.url);

export interface ServerPlace extends AsyncDisposable {
  server: Server;
  /** The server's data folder. */
  data: string;
  /** The owner's key. */
  key: string;
  /** Ends the server with a signal and starts the next one. */
  restart(signal: NodeJS.Signals): Promise<void>;
  call(method: string, path: string, body?: object): Promise<Answer>;
  /** Creates an endpoint. `flags` are those of its worker. */
  endpoint(more?: object, ...flags: string[]): Promise<string>;
  /** Resolves with the job once it is as expected. */
  until(endpoint: string, job: string, fits: (record: Answer["json"]) => boolean): Promise<Answer["json"]>;
}

export interface Place extends ServerPlace {
  /** The process ids of this test's workers. */
  workers(): Promise<number[]>;
}

export interface ServerPlaceOptions {
  /** The program that its endpoints run. */
  program: { cmd: string[] } & Record<string, unknown>;
  env?: Record<string, string>;
  /** Flags of the server. */
  args?: string[];
  /** The hook of the test itself, if tests run at the same time. */
  onFailure: (show: () => void) => void;
}

export async function serverPlace({
  program,
  env,
  args: given = [],
  onFailure,
}: ServerPlaceOptions): Promise<ServerPlace> {
  const folder = await temporaryFolder();
  const start = (...args: string[]) =>
    startServer(folder.path, { args: [...given, ...args], env: { MILLRACE_COMPUTE: "host", ...env } });
  let server = await start();
  onFailure(() => console.log(server.log()));
  const key = await ownerKey(folder.path);
  const call: Place["call"] = (method, path, body) => server.call(method, path, { key, body });
  return {
    get server() {
      return server;
    },
    async restart(signal) {
      await server.end(signal);
      // Running workers know the server by its address, so the port stays the same.
      server = await start("--port", new URL(server.url).port);
    },
    data: folder.path,
    key,
    call,
    async endpoint(more = {}, ...flags) {
      const cpu = [{ id: "cpu3c", vcpuCount: 2 }];
      const body = { name: "real", ...program, cmd: [...program.cmd, ...flags], cpu, ...more };
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
    async [Symbol.asyncDispose]() {
      await server.end("SIGTERM");
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** A place whose workers are processes of this machine. */
export async function place({
  worker = "small",
  onFailure = onTestFailed,
}: {
  worker?: "small" | "public";
  onFailure?: ServerPlaceOptions["onFailure"];
} = {}): Promise<Place> {
  const app = await temporaryFolder();
  // The program has a unique name, so that its processes can be found.
  const program = `worker-${app.path.split("-").at(-1)}.mjs`;
  if (worker === "small") await copyFile(WORKER, join(app.path, program));
  else await copyPublicWorker(app.path, program);
  // Each program runs as a user of its own, and must be able to read this folder.
  await chmod(app.path, 0o755);
  const at = await serverPlace({
    program: { image: `host:${app.path}`, cmd: ["node", program] },
    onFailure,
  });
  const endServer = at[Symbol.asyncDispose];
  return Object.assign(at, {
    workers: () => processesWith(program),
    async [Symbol.asyncDispose]() {
      await endServer();
      for (const pid of await processesWith(program)) process.kill(pid, "SIGKILL");
      await app[Symbol.asyncDispose]();
    },
  });
}

async function copyPublicWorker(folder: string, program: string): Promise<void> {
  await cp(PUBLIC_WORKER, folder, { recursive: true });
  await rename(join(folder, "worker.mjs"), join(folder, program));
}

/** Finds the Node processes with this program, without the sandbox around them. */
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

export const submit = async (at: ServerPlace, endpoint: string, input: object = {}) =>
  (await at.call("POST", `/v2/${endpoint}/run`, { input })).json.id as string;

export const isOver = ({ status }: { status: string }) => !["IN_QUEUE", "IN_PROGRESS"].includes(status);

/** Claims are written late (decision 0007), but listing the jobs writes them. Then the server knows after a kill who has which job. */
export const untilClaimsAreWritten = (at: ServerPlace, endpoint: string) => at.call("GET", `/v2/${endpoint}/requests`);

/** By the server's log, workers of this endpoint that fail at their start are started again after 1 s, and then after 2 s. */
export async function expectBackOff(at: ServerPlace, endpoint: string): Promise<void> {
  const failures = () =>
    at.server
      .log()
      .split("\n")
      .filter((line) => line.includes('"a worker failed"') && line.includes(endpoint))
      .map((line) => Date.parse(JSON.parse(line).time));
  while (failures().length < 3) await stay(LOOK_MS);
  const [first, second, third] = failures() as [number, number, number];
  // A line may be written a moment after its failure.
  expect(second - first).toBeGreaterThan(900);
  expect(third - second).toBeGreaterThan(1900);
}
