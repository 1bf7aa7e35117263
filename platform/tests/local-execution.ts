/** Runs programs on this machine as if they ran in a Pod. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { ExecSpec, Execution } from "../src/ports/compute/execution.ts";

/** Runs without a terminal. */
export async function executeHere({ cmd }: ExecSpec, cwd: string): Promise<Execution> {
  const child = spawn(cmd[0]!, cmd.slice(1), { cwd, stdio: "pipe" });
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => {});
  const exited = once(child, "exit") as Promise<[number | null, string | null]>;
  return {
    ...{ stdin: child.stdin, stdout: child.stdout, stderr: child.stderr },
    exit: exited.then(([code, signal]) => ({ code, at: 0, ...(signal && { signal }) })),
    async resize() {},
    async signal(name) {
      child.kill(name);
    },
    close: () => void child.kill("SIGHUP"),
  };
}
