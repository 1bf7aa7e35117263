/** A process that runs a worker and a Pod in containers, for tests that kill it. */
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import { startChild } from "./child.ts";

export interface HolderOptions {
  installation: string;
  /** The folder for the file of its watchdog. */
  folder: string;
  /** How long its watchdog waits for another server. */
  afterMs: number;
}

const PROGRAM = fileURLToPath(new URL("fixtures/instance-holder.ts", import.meta.url));

/** What the process is given. */
export interface HolderTask extends HolderOptions {
  socket: string;
  worker: string;
  pod: string;
}

/** Resolves when both run. */
export async function startHolder(options: HolderOptions) {
  const { installation } = options;
  const [worker, pod] = [`worker-${installation}`, `pod-${installation}`];
  const task: HolderTask = { ...options, socket: inject("dockerSocket"), worker, pod };
  const holder = startChild(process.execPath, [PROGRAM, JSON.stringify(task)]);
  await once(holder.stdout, "data");
  return {
    worker,
    pod,
    kill: () => holder.kill("SIGKILL"),
    async [Symbol.asyncDispose]() {
      holder.kill("SIGKILL");
    },
  };
}
