/** Runs the system's git with nothing of this machine's configuration: no hooks, no prompts, one protocol, and limits on time and size. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Clock } from "../../kernel/clock.ts";
import { clip } from "../../kernel/json.ts";

export interface GitAccess {
  /** The only protocol that git may use: that of the address which the operator wrote. */
  protocol: "https" | "ssh" | "file";
  /** A file with credentials: lines as git's own store has them, or a private key for SSH. */
  credentials?: string | undefined;
  /** Variables of this process that git may see, such as those of a proxy. */
  environment: Readonly<Record<string, string | undefined>>;
}

export interface GitRun {
  args: readonly string[];
  limitMs: number;
  input?: string;
}

const MOST_OUTPUT = 64 * 1024 * 1024;
const MOST_COMPLAINT = 4096;
/** In blocks of 512 bytes, as POSIX counts them: 256 MiB for any file that git writes, above all the pack of a fetch. */
const LARGEST_FILE_BLOCKS = 512 * 1024;

/** What git needs to find programs, certificates and a proxy. */
const PASSED = /^(PATH|SSL_CERT_FILE|SSL_CERT_DIR|https?_proxy|no_proxy|all_proxy)$/i;

const ALWAYS = [
  ...["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "fetch.fsckObjects=true"],
  ...["-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "submodule.recurse=false", "-c", "credential.helper="],
];

export class GitProgram implements AsyncDisposable {
  readonly #access: GitAccess;
  readonly #clock: Clock;
  readonly #running = new Set<ChildProcess>();
  #closed = false;

  constructor(access: GitAccess, clock: Clock) {
    this.#access = access;
    this.#clock = clock;
  }

  /** Returns what git wrote. Throws what it complained about, or why it could not go on. */
  async run({ args, limitMs, input }: GitRun): Promise<Buffer> {
    if (this.#closed) throw new Error("the server is shutting down");
    const child = spawn(
      "/bin/sh",
      ["-c", 'ulimit -f "$0" && exec git "$@"', String(LARGEST_FILE_BLOCKS), ...this.#all(args)],
      {
        detached: true,
        cwd: "/",
        env: this.#environment(),
        stdio: ["pipe", "pipe", "pipe"],
      },
    );
    this.#running.add(child);
    let isLate = false;
    const timer = this.#clock.after(limitMs, () => {
      isLate = true;
      end(child);
    });
    try {
      // A program that ends before it read everything closes its input.
      child.stdin.on("error", () => {});
      child.stdin.end(input ?? "");
      const [output, complaint, [code, signal]] = await Promise.all([
        collect(child.stdout, MOST_OUTPUT, () => end(child)),
        collect(child.stderr, MOST_COMPLAINT),
        once(child, "close") as Promise<[number | null, string | null]>,
      ]);
      if (code === 0) return output;
      throw new Error(isLate ? `git took longer than ${limitMs / 1000} s` : whyOf(code, signal, complaint.toString()));
    } finally {
      timer.cancel();
      this.#running.delete(child);
    }
  }

  /** Ends what runs, so that a shutdown waits for no network. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const child of this.#running) end(child);
  }

  #all(args: readonly string[]): string[] {
    const { credentials, protocol } = this.#access;
    const stored = credentials !== undefined && protocol === "https";
    return [...ALWAYS, ...(stored ? ["-c", `credential.helper=store --file=${quoted(credentials)}`] : []), ...args];
  }

  #environment(): NodeJS.ProcessEnv {
    const { credentials, protocol, environment } = this.#access;
    const key =
      credentials !== undefined && protocol === "ssh" ? ` -i ${quoted(credentials)} -o IdentitiesOnly=yes` : "";
    return {
      ...Object.fromEntries(Object.entries(environment).filter(([name]) => PASSED.test(name))),
      HOME: "/nonexistent",
      LC_ALL: "C",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_TERMINAL_PROMPT: "0",
      GIT_ASKPASS: "/bin/false",
      GIT_ALLOW_PROTOCOL: protocol,
      GIT_OPTIONAL_LOCKS: "0",
      GIT_SSH_COMMAND: `ssh -o BatchMode=yes -o StrictHostKeyChecking=yes${key}`,
    };
  }
}

/** The programs that git starts, such as ssh, are in its process group. */
function end({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}

async function collect(stream: NodeJS.ReadableStream, most: number, tooMuch?: () => void): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of stream) {
    const bytes = piece as Buffer;
    if (length < most) pieces.push(bytes.subarray(0, most - length));
    length += bytes.length;
    if (length > most) tooMuch?.();
  }
  return Buffer.concat(pieces);
}

const NOT_FOUND = 127;

function whyOf(code: number | null, signal: string | null, complaint: string): string {
  if (code === NOT_FOUND) return "git is not installed on this machine: install it, or name a folder";
  if (signal === "SIGXFSZ" || /file too large|File size limit/i.test(complaint))
    return "the repository is larger than 256 MiB";
  const said = complaint
    .split("\n")
    .map((line) => line.replace(/^(fatal|error|remote): /, "").trim())
    .filter((line) => line !== "");
  return `git failed: ${clip(said.slice(0, 3).join("; ") || `it ended with ${code ?? signal}`, 300)}`;
}

/** For words that a shell splits again. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
