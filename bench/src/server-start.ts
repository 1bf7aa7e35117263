/** Row 15: how soon a server that starts on an empty folder answers, and how much memory it uses while idle. */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as stay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort, startCommand } from "./child.ts";
import { median } from "./figures.ts";
import { residentBytes } from "./process-tree.ts";
import { amount, type Line } from "./table.ts";

const launcher = fileURLToPath(new URL("../../millrace", import.meta.url));
const STARTS = 10;
/** By then the server has finished the work of its start. */
const IDLE_MS = 10_000;
const MB = 1024 * 1024;

export interface ServerStart {
  /** The time from the launcher's start to the first answer, for each run. */
  answeredMs: number[];
  idleBytes: number;
}

interface Options {
  folder: string;
  quick: boolean;
  say: (line: string) => void;
}

export async function measureServer({ folder, quick, say }: Options): Promise<ServerStart> {
  const answeredMs: number[] = [];
  let idleBytes = 0;
  const starts = quick ? 2 : STARTS;
  for (let start = 1; start <= starts; start++) {
    const data = await mkdtemp(join(folder, "new-server-"));
    try {
      const port = await freePort();
      const startedAt = performance.now();
      await using server = await startCommand(
        launcher,
        ["serve", "--data", data, "--port", String(port), "--log-level", "warn"],
        { ready: /^listening on \S+$/m, env: { PATH: process.env.PATH, HOME: process.env.HOME } },
      );
      const answer = await fetch(`http://127.0.0.1:${port}/v2/openapi.json`);
      answeredMs.push(performance.now() - startedAt);
      if (!answer.ok) throw new Error(`the first request was answered with ${answer.status}`);
      if (start === starts) {
        await stay(IDLE_MS);
        idleBytes = residentBytes([server.pid]);
      }
      await server.end();
    } finally {
      await rm(data, { recursive: true, force: true });
    }
  }
  say(`  a new server: first answer after ${answeredMs.map((ms) => Math.round(ms)).join(", ")} ms`);
  return { answeredMs, idleBytes };
}

export const serverLines = ({ answeredMs, idleBytes }: ServerStart): Line[] => [
  amount("15", "start on an empty folder to the first answer", median(answeredMs) / 1000, "s", 0.8, 0.5),
  amount("15", "memory of an idle server", idleBytes / MB, "MB", 150, 120),
];
