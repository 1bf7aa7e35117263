/** One session of a connection: a shell, a command or a file transfer, with or without a terminal. */

import { Allowance } from "../../kernel/allowance.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Failed } from "../../kernel/failed.ts";
import { floating } from "../../kernel/floating.ts";
import { resourceId } from "../../kernel/ids.ts";
import { isProblem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import type { ExecSpec, Execution, TerminalSize } from "../../ports/compute/execution.ts";
import { Resizes } from "../resizes.ts";
import type { ServerChannel, Session } from "./library.ts";
import { type Line, REFUSED } from "./line.ts";
import { converse, feed } from "./program.ts";
import { Bytes } from "./sftp/bytes.ts";
import { FilesInPod } from "./sftp/files.ts";
import { serveFiles } from "./sftp/server.ts";
import { ShellGone, ShellInPod } from "./sftp/shell.ts";
import { TRANSFER, whoServes } from "./sftp/start.ts";

export interface SessionParts {
  session: Session;
  clock: Clock;
  random: Random;
  /** Variables that tell a program how it is reached. */
  env: Readonly<Record<string, string>>;
  /** Runs a program in the Pod. Throws the problem if it cannot. */
  begin: (spec: ExecSpec) => Promise<Execution>;
  /** Why nothing runs in the Pod any more, or undefined while it does. */
  whyEnded: () => Promise<string | undefined>;
  /** Opens the output on a channel. Undefined if the client's packets are too small to use. */
  lineOn: (channel: ServerChannel, onGone: () => void) => Line | undefined;
  /** Refusals on this connection that have not been shown yet. */
  notices: string[];
  /** Reports an unforeseen error. */
  failed: Failed;
}

const MOST_VARIABLES = 64;
const LONGEST_VARIABLES = 32_768;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;
const LARGEST_TERMINAL = 10_000;
const USUAL_TERMINAL: TerminalSize = { columns: 80, rows: 24 };
/** How many signals a client may send. More are refused. */
const SIGNALS = { perSecond: 20, atOnce: 40 };
const SIGNAL = /^[A-Z0-9]{2,10}$/;
const NOT_FOUND = [126, 127];

/** This is no login shell, since its profile would overwrite the image's own variables. */
const SHELL = ["sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash; exec sh"];
const COMMAND = ["sh", "-c", 'command -v bash >/dev/null 2>&1 && exec bash -c "$1"; exec sh -c "$1"', "sh"];

export class SshSession {
  readonly #parts: SessionParts;
  readonly #env = new Map<string, string>();
  #terminal: TerminalSize | undefined;
  #line: Line | undefined;
  #execution: Execution | undefined;
  readonly #resizes: Resizes;
  readonly #signals = new Allowance(SIGNALS);
  #isClosed = false;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#resizes = new Resizes(parts.clock, (size) => this.#execution?.resize(size));
    const { session, notices } = parts;
    const refuse = (words: string) => (_: unknown, reject?: () => void) => {
      reject?.();
      notices.push(words);
    };
    session.on("env", (accept, reject, { key, val }) => (this.#take(key, val) ? accept : reject)?.());
    session.on("pty", (accept, _, { term, cols, rows }) => {
      this.#terminal = sizeOf(cols, rows);
      if (term) this.#take("TERM", term);
      accept?.();
    });
    session.on("window-change", (accept, _, { cols, rows }) => {
      this.#resize(sizeOf(cols, rows));
      accept?.();
    });
    session.on("signal", (accept, reject, { name }) => (this.#signal(name) ? accept : reject)?.());
    session.on("auth-agent", refuse("agent forwarding (-A) is not offered here"));
    session.on("x11", refuse("X11 forwarding (-X, -Y) is not offered here"));
    // The channel is accepted at once. A client that sends its input and its end without waiting could not be accepted later.
    session.on("shell", (accept) => this.#serve(accept(), (line) => this.#run(line, SHELL)));
    session.on("exec", (accept, _, { command }) =>
      this.#serve(accept(), (line) => this.#run(line, [...COMMAND, command], command)),
    );
    session.on("subsystem", (accept, reject, { name }) => {
      if (name === "sftp") this.#serve(accept(), (line) => this.#transfer(line));
      else reject?.();
    });
    session.once("close", () => this.#hangUp());
  }

  /** Ends the session and says why. Resolves when the client has closed it. */
  close(words: string): Promise<void> {
    const line = this.#line;
    if (line) floating(line.say(words), () => {});
    line?.end(REFUSED);
    this.#hangUp();
    return line?.over ?? Promise.resolve();
  }

  #hangUp(): void {
    this.#isClosed = true;
    this.#execution?.close();
  }

  #take(name: string, value: string): boolean {
    const used = [...this.#env].reduce((sum, pair) => sum + pair.join("=").length, 0);
    if (!VARIABLE.test(name) || value.includes("\0")) return false;
    if (this.#env.size >= MOST_VARIABLES || used + name.length + value.length > LONGEST_VARIABLES) return false;
    this.#env.set(name, value);
    return true;
  }

  #resize(size: TerminalSize): void {
    if (!this.#terminal) return;
    this.#terminal = size;
    if (this.#execution) this.#resizes.set(size);
  }

  #signal(name: string): boolean {
    if (!this.#execution || !SIGNAL.test(name)) return false;
    if (this.#signals.spend(1, this.#parts.clock.monotonic()) > 0) return false;
    if (!this.#execution.signal) return false;
    floating(this.#execution.signal(`SIG${name}` as NodeJS.Signals), () => {});
    return true;
  }

  #serve(channel: ServerChannel | undefined, serve: (line: Line) => Promise<void>): void {
    const line = channel && this.#parts.lineOn(channel, () => this.#hangUp());
    if (!line) return;
    this.#line = line;
    for (const words of this.#parts.notices.splice(0)) floating(line.say(words), () => {});
    floating(serve(line), (error) => {
      this.#parts.failed(error, "serve SSH sessions");
      floating(line.say("an unexpected error occurred"), () => {});
      line.end(REFUSED);
      this.#hangUp();
    });
  }

  async #run(line: Line, cmd: string[], command?: string): Promise<void> {
    const terminal = this.#terminal;
    const env = { ...this.#parts.env, ...Object.fromEntries(this.#env) };
    const execution = await this.#begin(line, { cmd, env, ...(terminal && { terminal }) });
    if (!execution) return;
    if (terminal && this.#terminal !== terminal) this.#resize(this.#terminal!);
    const exit = await converse(line, execution);
    if (this.#isClosed) return;
    const why = exit.code === null ? await this.#parts.whyEnded() : undefined;
    const words = why ?? exit.reason;
    if (words !== undefined) await line.say(words);
    if (NOT_FOUND.includes(exit.code ?? 0)) return this.#endWithoutShell(line, exit.code!, command);
    line.end(why === undefined ? exit : REFUSED);
  }

  /** A missing command and a missing shell end with the same code. This finds out which one it is. */
  async #endWithoutShell(line: Line, code: number, command = ""): Promise<void> {
    const probe = await this.#begin(line, { cmd: ["sh", "-c", ":"] });
    if (!probe) return;
    const [exit] = await Promise.all([probe.exit, drained(probe)]);
    const isWithoutShell = NOT_FOUND.includes(exit.code ?? 0);
    if (isWithoutShell)
      await line.say("the image of this Pod has no shell (sh), without which nothing can be run in it");
    else if (/^scp\s/.test(command))
      await line.say("the image of this Pod has no scp; without -O, scp goes over SFTP and needs none");
    line.end(isWithoutShell ? REFUSED : { code });
  }

  async #transfer(line: Line): Promise<void> {
    const execution = await this.#begin(line, TRANSFER);
    if (!execution) return;
    const output = new Bytes(execution.stdout);
    const server = await whoServes(output);
    if (server === undefined) return this.#endWithoutShell(line, REFUSED.code!);
    if (server === "shell")
      await this.#serveFiles(line, new ShellInPod(execution, output, `mark-${resourceId(this.#parts.random)}`));
    else {
      feed(line, execution);
      await Promise.all([line.pass(execution.stdout), line.pass(execution.stderr, "stderr")]);
    }
    const why = await this.#parts.whyEnded();
    if (why !== undefined) await line.say(why);
    line.end(why === undefined ? { code: 0 } : REFUSED);
  }

  async #serveFiles(line: Line, shell: ShellInPod): Promise<void> {
    try {
      await serveFiles(line, new FilesInPod(shell, (spec) => this.#parts.begin(spec)));
    } catch (error) {
      if (!(error instanceof ShellGone)) throw error;
    } finally {
      shell.close();
    }
  }

  /** Runs a program. If that is impossible, the client is told why. */
  async #begin(line: Line, spec: ExecSpec): Promise<Execution | undefined> {
    try {
      const execution = await this.#parts.begin(spec);
      this.#execution = execution;
      if (!this.#isClosed) return execution;
      execution.close();
    } catch (error) {
      if (!isProblem(error)) throw error;
      await line.say(error.message);
      line.end(REFUSED);
    }
    return undefined;
  }
}

/** Clients that do not know the size of their terminal send 0. */
function sizeOf(columns: number, rows: number): TerminalSize {
  const within = (given: number, usual: number) => (given > 0 ? Math.min(given, LARGEST_TERMINAL) : usual);
  return { columns: within(columns, USUAL_TERMINAL.columns), rows: within(rows, USUAL_TERMINAL.rows) };
}

async function drained({ stdin, stdout, stderr }: Execution): Promise<void> {
  stdin.end();
  for (const stream of [stdout, stderr]) stream.on("error", () => {}).resume();
}
