/** Processes that the bench starts: each reports when it is ready, each wait has a limit, and each is ended by its own pid. */
import { type ChildProcess, fork, type Serializable, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

const START_LIMIT_MS = 60_000;
const END_LIMIT_MS = 15_000;

export interface Child extends AsyncDisposable {
  pid: number;
  process: ChildProcess;
  /** Resolves with the next message of this kind. */
  message<T>(kind: string, limitMs: number): Promise<T>;
  send(message: Serializable): void;
  end(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a program of the bench in its own process with settings. It is ready when it says so. */
export async function startProgram(name: string, settings: Serializable, execArgv: string[] = []): Promise<Child> {
  const file = resolve(fileURLToPath(new URL(".", import.meta.url)), name);
  const child = fork(file, [JSON.stringify(settings)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    execArgv: ["--disable-warning=ExperimentalWarning", ...execArgv],
  });
  const started = childOf(child, name);
  await started.message("ready", START_LIMIT_MS);
  return started;
}

/** Starts any other program. It is ready when a line of its output matches. */
export async function startCommand(
  command: string,
  args: string[],
  { ready, ...options }: { ready: RegExp; cwd?: string; env?: NodeJS.ProcessEnv; uid?: number; gid?: number },
): Promise<Child & { line: RegExpExecArray }> {
  const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const line = await limited(
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = (text: string) => {
        said = (said + text).slice(-20_000);
        const found = ready.exec(said);
        if (found) resolve(found);
      };
      child.stdout.setEncoding("utf8").on("data", look);
      child.stderr.setEncoding("utf8").on("data", look);
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`${command} ended with ${code}: ${said.slice(-2000)}`)));
    }),
    START_LIMIT_MS,
    `${command} to be ready`,
  );
  return { ...childOf(child, command), line };
}

const alive = new Set<ChildProcess>();
// An interrupted bench leaves nothing running.
process.once("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

function childOf(child: ChildProcess, name: string): Child {
  alive.add(child);
  child.once("exit", () => alive.delete(child));
  const exited = once(child, "exit");
  const heard = new Map<string, unknown[]>();
  const waiting = new Map<string, (message: unknown) => void>();
  child.on("message", (message: { kind: string }) => {
    const waits = waiting.get(message.kind);
    waiting.delete(message.kind);
    if (waits) waits(message);
    else heard.set(message.kind, [...(heard.get(message.kind) ?? []), message]);
  });

  async function end(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    try {
      await limited(exited, END_LIMIT_MS, `${name} to end`);
    } catch {
      child.kill("SIGKILL");
      await exited;
    }
  }

  return {
    pid: child.pid!,
    process: child,
    message<T>(kind: string, limitMs: number): Promise<T> {
      const early = heard.get(kind)?.shift();
      if (early) return Promise.resolve(early as T);
      const next = new Promise<T>((resolve) => {
        waiting.set(kind, resolve as (message: unknown) => void);
      });
      const ended = exited.then(([code]) => {
        throw new Error(`${name} ended with ${code}`);
      });
      return limited(Promise.race([next, ended]), limitMs, `${name} to say '${kind}'`);
    },
    send: (message) => void child.send(message),
    end,
    [Symbol.asyncDispose]: () => end("SIGKILL"),
  };
}

export async function limited<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${ms / 1000} s for ${what}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

const FIRST_PORT = 20_000;
const PORTS = 12_000;

/** Finds a free port below those that Linux uses for outgoing connections. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    const isFree = await new Promise<boolean>((resolve) => {
      const probe = createServer();
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
