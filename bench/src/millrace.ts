/** Millrace as a person runs it: the launcher, a data folder, one endpoint, and workers in separate processes. */

import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Child, freePort, startCommand, startProgram } from "./child.ts";
import type { Database, Databases } from "./postgres.ts";
import type { Counts, Running, Stack } from "./stack.ts";

const thisCheckout = fileURLToPath(new URL("../..", import.meta.url));

/** How many jobs our worker runs at once. */
const CONCURRENCY = 128;
/** The number of workers on the public protocol, which take one job each. */
const SINGLE_WORKERS = 64;

export interface MillraceOptions {
  /** Another checkout than the bench's own. */
  root?: string | undefined;
  /** Uses PostgreSQL with a new database for each start. Without this, SQLite is used. */
  databases?: Databases;
  /** Uses this PostgreSQL database, which is kept. */
  database?: Database | undefined;
  /** Flags for the server's Node, such as `--cpu-prof`. */
  nodeOptions?: string;
  /** Runs the sources and not the code that the launcher builds from them, so that profiles name the sources. */
  fromSource?: boolean;
  /** Where the server starts workers and Pods. The default is nowhere, because the bench starts them itself. */
  compute?: "host" | "none" | "emulated";
  /** The socket of the container engine. */
  docker?: string;
  /** More settings. With an API key in them, that is the owner's. */
  env?: { MILLRACE_API_KEY?: string; MILLRACE_MASTER_KEY?: string };
}

export interface RunningMillrace extends Running {
  server: Child;
  /** Kills the server as a power failure would, and keeps its data. */
  kill(): Promise<void>;
}

export function millraceStack(options: MillraceOptions = {}): Stack {
  const on = options.databases ? "PostgreSQL" : "SQLite";
  return {
    name: `millrace on ${on}`,
    notes: [
      `Millrace on ${on}: every answer after its flush; ours = worker library with concurrency ${CONCURRENCY}; ` +
        `single = ${SINGLE_WORKERS} workers of the public protocol in one process, one job per take`,
    ],
    start: (folder) => startMillrace(folder, options),
  };
}

/**
 * Starts a server once and ends it. The first start of a checkout builds its code and, beside the server, the console. Both would be
 * counted as the server's time.
 */
export async function buildMillrace(folder: string, root = thisCheckout): Promise<void> {
  const data = await mkdtemp(join(folder, "build-"));
  const running = await startMillrace(data, { root });
  await running[Symbol.asyncDispose]();
  await rm(data, { recursive: true, force: true });
  // The launcher holds this lock while it builds the console.
  execFileSync("flock", [join(root, "node_modules/.cache/console-lock"), "true"]);
}

export async function startMillrace(folder: string, options: MillraceOptions = {}): Promise<RunningMillrace> {
  const root = options.root ?? thisCheckout;
  const launcher = join(root, "millrace");
  const own = await options.databases?.fresh();
  const database = own ?? options.database;
  const place = ["--data", folder];
  const port = await freePort();
  const { PATH, HOME } = process.env;
  const settings = { PATH, HOME, MILLRACE_DATABASE_URL: database?.url, ...options.env };
  const env = {
    ...settings,
    NODE_OPTIONS: options.nodeOptions,
    MILLRACE_FROM_SOURCE: options.fromSource ? "1" : undefined,
  };
  const flags = [
    "--port",
    String(port),
    "--rate-limits",
    "off",
    "--log-level",
    "warn",
    ...(options.compute === "emulated" ? ["--emulate"] : ["--compute", options.compute ?? "none"]),
    ...(options.docker ? ["--docker", options.docker] : []),
  ];
  const server = await startCommand(launcher, ["serve", ...place, ...flags], { ready: /^listening on (\S+)$/m, env });
  const key = options.env?.MILLRACE_API_KEY ?? (await readFile(join(folder, "api-key"), "utf8")).trim();
  const url = `http://127.0.0.1:${port}`;
  const headers = { authorization: `Bearer ${key}` };
  const endpoint = await findOrCreateEndpoint(url, headers);
  const workers: Child[] = [];
  const at = (path: string) => `/v2/${endpoint}${path}`;

  async function counts(): Promise<Counts> {
    const response = await fetch(url + at("/health"), { headers });
    if (!response.ok) throw new Error(`/health answered ${response.status}: ${await response.text()}`);
    const { jobs } = (await response.json()) as { jobs: Record<string, number> };
    return { waiting: jobs.inQueue! + jobs.inProgress!, completed: jobs.completed!, failed: jobs.failed! };
  }

  return {
    server,
    submit: { port, path: at("/run"), headers, expects: '"IN_QUEUE"' },
    runsync: { port, path: at("/runsync"), headers, expects: '"COMPLETED"' },
    pids: () => [server.pid, ...workers.map(({ pid }) => pid), ...(database?.pids ?? [])],
    counts,
    async startWorker(kind) {
      const printed = execFileSync(launcher, ["worker-env", endpoint, "--url", url, "--json", ...place], {
        env: settings,
      });
      const variables = JSON.parse(printed.toString()) as Record<string, string>;
      workers.push(
        kind === "ours"
          ? await startProgram(join(root, "bench/src/worker.ts"), { env: variables, concurrency: CONCURRENCY })
          : await startProgram("single-worker.ts", { env: variables, workers: SINGLE_WORKERS }),
      );
    },
    kill: () => server.end("SIGKILL"),
    async [Symbol.asyncDispose]() {
      for (const worker of workers) await worker.end("SIGKILL");
      await server.end();
      await own?.[Symbol.asyncDispose]();
    },
  };
}

async function findOrCreateEndpoint(url: string, headers: Record<string, string>): Promise<string> {
  const listed = await fetch(`${url}/v2/serverless`, { headers });
  const { endpoints } = (await listed.json()) as { endpoints: { id: string }[] };
  if (endpoints[0]) return endpoints[0].id;
  const created = await fetch(`${url}/v2/serverless`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ name: "bench", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] }),
  });
  if (created.status !== 201) throw new Error(`no endpoint was made: ${await created.text()}`);
  return ((await created.json()) as { id: string }).id;
}
