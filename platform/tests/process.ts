/** Runs Millrace as a person does: the launcher, a data folder of its own, and the server's lines as they arrive. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Answer, type CallOptions, call } from "./world.ts";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const launcher = join(root, "millrace");

/**
 * A person's environment without settings of Millrace that the test did not give, except two: no Docker engine of this machine is used, and
 * a node that ends does not wait for a load balancer.
 */
function environment(given: Record<string, string> = {}): Record<string, string> {
  const { PATH = "" } = process.env;
  return { PATH, HOME: tmpdir(), MILLRACE_DOCKER: "off", MILLRACE_LEAVE_S: "0", ...given };
}

export interface Folder extends AsyncDisposable {
  path: string;
}

export async function temporaryFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), "millrace-test-"));
  return {
    path,
    async [Symbol.asyncDispose]() {
      await unmountBelow(path);
      await rm(path, { recursive: true, force: true });
    },
  };
}

/** A killed server leaves volumes mounted for the next one. */
async function unmountBelow(path: string): Promise<void> {
  const mounts = (await readFile("/proc/self/mountinfo", "utf8")).split("\n").map((line) => line.split(" ")[4] ?? "");
  const below = mounts.filter((mount) => mount.startsWith(`${path}/`)).reverse();
  for (const mount of below) await promisify(execFile)("umount", ["--lazy", mount]);
}

export interface StartOptions {
  args?: string[];
  env?: Record<string, string>;
  cwd?: string;
  command?: string;
  /** Called with the log so far whenever it grows, even before the server listens. */
  logged?: (log: string) => void;
}

export interface Server extends AsyncDisposable {
  url: string;
  process: ChildProcess;
  /** The lines on standard output so far. */
  lines: string[];
  /** The log so far. */
  log(): string;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Ends the server with a signal. Resolves with the exit code, or with the signal that killed it. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>;
}

/** Starts a server on a free port and waits for its line `listening on …`. */
export async function startServer(
  data: string,
  { args = [], env, cwd, command = launcher, logged }: StartOptions = {},
): Promise<Server> {
  const child = spawn(command, ["serve", "--data", data, "--port", "0", ...args], {
    // Most tests play the workers themselves. Tests about workers that the server starts override this.
    env: environment({ MILLRACE_COMPUTE: "none", ...env }),
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  const lines: string[] = [];
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
    logged?.(log);
  });
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).on("line", (line) => {
      lines.push(line);
      const url = /^listening on (\S+)$/.exec(line)?.[1];
      if (url) resolve(url);
    });
    child.once("exit", (code) => reject(new Error(`the server ended with ${code} before it listened: ${log}`)));
    child.once("error", reject);
  });

  async function end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals> {
    child.kill(signal);
    const [code, killedBy] = await exited;
    return code ?? killedBy!;
  }

  return {
    url,
    process: child,
    lines,
    log: () => log,
    call: (method, path, options = {}) => call(url, method, path, options),
    end,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await end("SIGKILL");
    },
  };
}

/** Where a command finds an installation: in this folder, or in `database` if given. */
export type InstallationPlace = string | { data: string; database: string | undefined };

/** Runs one command of the command line; its standard output is JSON. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails when it is not there
export async function millrace(place: InstallationPlace, ...args: string[]): Promise<any> {
  const { data, database } = typeof place === "string" ? { data: place, database: undefined } : place;
  const env: Record<string, string> = database ? { MILLRACE_DATABASE_URL: database } : {};
  const { code, stdout, stderr } = await run(launcher, [...args, "--data", data, "--json"], { env });
  if (code !== 0) throw new Error(`millrace ${args.join(" ")} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

export function run(
  command: string,
  args: string[],
  { env, cwd }: { env?: Record<string, string>; cwd?: string } = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(command, args, { env: environment(env), cwd }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error ? 1 : 0, stdout, stderr });
    });
  });
}

/** Reads the owner's key from the file that the first start made. */
export async function ownerKey(data: string): Promise<string> {
  return (await readFile(join(data, "api-key"), "utf8")).trim();
}

/** Names the files under a folder that contain a text in clear or in base64. */
export async function filesHolding(folder: string, text: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  if (files.length === 0) throw new Error(`${folder} holds no file to search`);
  const forms = [text, Buffer.from(text).toString("base64").replace(/=+$/, "")];
  const found = await Promise.all(
    files.map(async (file) => {
      const bytes = await readFile(file);
      return forms.some((form) => bytes.includes(form)) ? [file] : [];
    }),
  );
  return found.flat();
}
