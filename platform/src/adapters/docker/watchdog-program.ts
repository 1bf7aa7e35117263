/** The watchdog's process. It waits for the server's end, then for a new server, and ends the workers if none comes. */
import { readFile } from "node:fs/promises";
import { stay } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { label } from "./container.ts";
import type { Listed } from "./containers.ts";
import { EngineApi } from "./engine-api.ts";

const [address, installation, file, token, afterMs] = process.argv.slice(2) as [string, string, string, string, string];
const api = new EngineApi(address);

/** Seconds between asking a worker to end and killing it. */
const GRACE_S = 5;
const RETRY_MS = 2_000;
/**
 * After this many attempts the engine has been away for so long that its containers ended with it, or that ending them is the operator's
 * task.
 */
const ATTEMPTS = 1_800;

async function runningWorkers(): Promise<Listed[]> {
  const filters = {
    label: [`${label.installation}=${installation}`, `${label.kind}=worker`],
    status: ["running", "paused"],
  };
  return api.call<Listed[]>("GET", "/containers/json", { query: { filters } });
}

async function isReplaced(): Promise<boolean> {
  const newest = await readFile(file, "utf8").catch(() => token);
  return newest !== token;
}

async function end({ Id, State }: Listed): Promise<void> {
  if (State === "paused") await api.call("POST", `/containers/${Id}/unpause`);
  await api.call("POST", `/containers/${Id}/stop`, { query: { t: GRACE_S } });
}

async function endWorkers(): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS && !(await isReplaced()); attempt++) {
    const left = await runningWorkers().catch(() => undefined);
    if (left?.length === 0) return;
    await Promise.allSettled(left?.map(end) ?? []);
    await stay(RETRY_MS);
  }
}

async function watch(): Promise<void> {
  for await (const _ of process.stdin) {
    // The server never writes anything. The end of the input tells that it has ended.
  }
  const workers = await runningWorkers().catch(() => undefined);
  if (workers?.length === 0) return;
  await stay(Number(afterMs));
  await endWorkers();
}

floating(watch(), () => process.exit(1));
