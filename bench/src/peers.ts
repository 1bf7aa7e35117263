/** The peers that Millrace is compared with, each behind Fastify with the fast options of its documentation. */
import { execFileSync } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Child, freePort, startCommand, startProgram } from "./child.ts";
import type { StackName } from "./figures.ts";
import type { Databases } from "./postgres.ts";
import type { Running, Stack } from "./stack.ts";

interface Surroundings {
  postgres(): Promise<Databases>;
}

const COUNT_LIMIT_MS = 10_000;

export async function peerStack(name: StackName, { postgres }: Surroundings): Promise<Stack> {
  switch (name) {
    case "bullmq-always":
      return bullmq("always");
    case "bullmq-pipelined":
      return bullmq("always", { pipelining: true });
    case "bullmq-everysec":
      return bullmq("everysec");
    case "pg-boss":
      return onPostgres(
        "pg-boss",
        "batches of 128, two local workers, burst when full, LISTEN/NOTIFY; no runsync",
        postgres,
      );
    case "graphile-worker":
      return onPostgres(
        "graphile-worker",
        "24 jobs at once, local queue of 500, completions batched; no runsync",
        postgres,
      );
    default:
      throw new Error(`${name} is no peer`);
  }
}

async function versionOf(name: string): Promise<string> {
  const text = await readFile(new URL(`../node_modules/${name}/package.json`, import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

async function bullmq(fsync: "always" | "everysec", { pipelining = false } = {}): Promise<Stack> {
  const redis = execFileSync("redis-server", ["--version"]).toString().split(" ")[2];
  return {
    name: `BullMQ, appendfsync ${fsync}${pipelining ? ", automatic pipelining" : ""}`,
    notes: [
      `BullMQ ${await versionOf("bullmq")} on Redis ${redis}, append-only file with appendfsync ${fsync}, ioredis ` +
        `${pipelining ? "with" : "without"} automatic pipelining, ` +
        "one worker process with concurrency 128; results are removed at once (runsync: all but 1000), " +
        "where Millrace keeps them",
    ],
    async start(folder) {
      const redisPort = await freePort();
      const data = join(folder, "redis");
      await mkdir(data, { recursive: true });
      const flags = ["--port", String(redisPort), "--bind", "127.0.0.1", "--dir", data, "--save", ""];
      const durable = ["--appendonly", "yes", "--appendfsync", fsync];
      const ready = /Ready to accept connections/;
      const database = await startCommand("redis-server", [...flags, ...durable], { ready });
      return running("peers/bullmq.ts", { redisPort, pipelining }, [database.pid], () => database.end());
    },
  };
}

async function onPostgres(
  name: "pg-boss" | "graphile-worker",
  how: string,
  postgres: () => Promise<Databases>,
): Promise<Stack> {
  const databases = await postgres();
  return {
    name,
    notes: [`${name} ${await versionOf(name)}: ${how}; jobs are removed or archived as it does by itself`],
    async start() {
      const database = await databases.fresh();
      return running(`peers/${name}.ts`, { url: database.url }, database.pids, () => database[Symbol.asyncDispose]());
    },
  };
}

async function running(
  program: string,
  settings: Record<string, string | number | boolean>,
  pids: number[],
  close: () => PromiseLike<void>,
): Promise<Running> {
  const port = await freePort();
  const server = await startProgram(program, { ...settings, role: "server", port });
  const workers: Child[] = [];
  const url = `http://127.0.0.1:${port}`;
  return {
    submit: { port, path: "/run", headers: {}, expects: '"IN_QUEUE"' },
    runsync: { port, path: "/runsync", headers: {}, expects: '"COMPLETED"' },
    pids: () => [server.pid, ...workers.map(({ pid }) => pid), ...pids],
    async startWorker() {
      workers.push(await startProgram(program, { ...settings, role: "worker" }));
    },
    async counts() {
      const { waiting } = (await (await fetch(`${url}/waiting`)).json()) as { waiting: number };
      let completed = 0;
      for (const worker of workers) {
        worker.send("count");
        completed += (await worker.message<{ completed: number }>("count", COUNT_LIMIT_MS)).completed;
      }
      return { waiting, completed, failed: 0 };
    },
    async [Symbol.asyncDispose]() {
      for (const worker of workers) await worker.end("SIGKILL");
      await server.end("SIGKILL");
      await close();
    },
  };
}
