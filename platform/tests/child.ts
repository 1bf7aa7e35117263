/** Programs that tests start. None inherits a stream of the test, which would keep the runner alive after the test. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";

export type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** Its standard error is shown among the test's own lines. */
export function startChild(command: string, args: readonly string[], env?: NodeJS.ProcessEnv): Child {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"], ...(env && { env }) });
  child.stderr.setEncoding("utf8").on("data", (text: string) => console.error(text.trimEnd()));
  // The error is ignored: a program that has ended reads nothing more, and its end is noticed elsewhere.
  child.stdin.on("error", () => {});
  return child;
}

/** Starts a program in a network of its own. It begins once `connect` has given that network its links. */
export async function startInOwnNetwork(
  script: string,
  connect: (pid: number) => Promise<unknown>,
): Promise<Child & { pid: number }> {
  // The program announces itself from inside. Before that, it is still in the machine's own network.
  const wait = 'echo there; read go; ip link set lo up; exec "$0" -e "$1"';
  const child = startChild("unshare", ["--net", "sh", "-c", wait, process.execPath, script]);
  try {
    await firstWords(child);
    await connect(child.pid!);
    const ready = firstWords(child);
    child.stdin.end("\n");
    await ready;
    return child as Child & { pid: number };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

async function firstWords(child: Child): Promise<void> {
  const over = new AbortController();
  const ended = () => over.abort(new Error(`it ended with ${child.exitCode ?? child.signalCode}`));
  child.once("exit", ended);
  await once(child.stdout, "data", { signal: over.signal });
  child.off("exit", ended);
}
