/** Load balancing: the echo program as a worker behind Millrace's proxy, and behind nginx with the fast options of its documentation. */
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Child, freePort, startCommand, startProgram } from "./child.ts";
import type { Running, Stack } from "./stack.ts";
import type { Target } from "./workload.ts";

/** A whole server in memory that is told where its worker is, because the path of a request is measured and not the start of a worker. */
const SERVER = "platform/tests/fixtures/balanced-server.ts";
/** As the launcher starts a server. */
const NODE_FLAGS = ["--min-semi-space-size=16", "--disable-warning=ExperimentalWarning"];
const here = fileURLToPath(new URL("../..", import.meta.url));
const EXPECTED = '"prompt"';
/** How many idle connections nginx keeps to the worker: as many as the generator has. */
const KEPT = 64;

export type BalancedName = "lb-millrace" | "lb-nginx" | "lb-direct";

export interface BalancedOptions {
  nodeOptions?: string | undefined;
  /** The checkout whose proxy is started. The default is this one. */
  root?: string | undefined;
}

export function balancedStack(name: BalancedName, options: BalancedOptions = {}): Stack {
  if (name === "lb-direct") return directStack();
  return name === "lb-nginx" ? nginxStack() : millraceStack(options);
}

/** The worker with nothing in front of it. */
function directStack(): Stack {
  return {
    name: "direct",
    notes: [],
    async start() {
      const port = await freePort();
      const worker = await startProgram("echo.ts", { port });
      const headers = { authorization: `Bearer ${"x".repeat(47)}` };
      return running({ port, path: "/echo", headers }, worker);
    },
  };
}

function millraceStack({ nodeOptions, root = here }: BalancedOptions): Stack {
  return {
    name: "Millrace's proxy",
    notes: ["Millrace's proxy: key checked, endpoint found, least busy of one worker chosen, both bodies streamed"],
    async start() {
      const workerPort = await freePort();
      const worker = await startProgram("echo.ts", { port: workerPort });
      const env = { PATH: process.env.PATH, NODE_OPTIONS: nodeOptions };
      const flags = [...NODE_FLAGS, join(root, SERVER), String(workerPort)];
      const ready = /^listening on http:\/\/127\.0\.0\.1:(\d+) for (\S+) with (\S+)$/m;
      const proxy = await startCommand(process.execPath, flags, { ready, env });
      const [, port, endpoint, key] = proxy.line;
      const headers = { authorization: `Bearer ${key}` };
      return running({ port: Number(port), path: `/v2/${endpoint}/echo`, headers }, proxy, worker);
    },
  };
}

function nginxStack(): Stack {
  // nginx prints its version to standard error.
  const version = execFileSync("sh", ["-c", "nginx -v 2>&1"]).toString().trim().replace("nginx version: ", "");
  return {
    name: "nginx",
    notes: [`${version}: one worker process, ${KEPT} connections kept to the worker, no access log, no key to check`],
    async start(folder) {
      const [port, workerPort] = [await freePort(), await freePort()];
      const worker = await startProgram("echo.ts", { port: workerPort });
      const file = join(folder, "nginx.conf");
      await writeFile(file, nginxConfig(folder, port, workerPort));
      const proxy = await startCommand("nginx", ["-p", folder, "-c", file], { ready: /start worker process/ });
      const headers = { authorization: `Bearer ${"x".repeat(47)}` };
      return running({ port, path: "/echo", headers }, proxy, worker);
    },
  };
}

const nginxConfig = (folder: string, port: number, workerPort: number) => `
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr notice;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path ${folder}/bodies;
  proxy_temp_path ${folder}/answers;
  upstream worker { server 127.0.0.1:${workerPort}; keepalive ${KEPT}; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    client_max_body_size 30m;
    location / {
      proxy_pass http://worker;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
    }
  }
}
`;

function running(target: Target, ...processes: Child[]): Running {
  const expected = { ...target, expects: EXPECTED };
  return {
    submit: expected,
    runsync: expected,
    pids: () => processes.map(({ pid }) => pid),
    startWorker: async () => {},
    counts: async () => ({ waiting: 0, completed: 0, failed: 0 }),
    async [Symbol.asyncDispose]() {
      for (const process of processes) await process.end();
    },
  };
}
