/** One more program inside a Pod: its streams, its signals and its end. */
import { PassThrough, type Readable, Writable } from "node:stream";
import type { WebSocket } from "ws";
import type { Clock } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import {
  checkSize,
  type ExecSpec,
  type Execution,
  HANG_UP_MS,
  type TerminalSize,
  writeTo,
} from "../../ports/compute/execution.ts";
import type { Exit } from "../../ports/compute/exit.ts";
import { statusOf } from "../machine/exit-status.ts";
import { PodChannels } from "./pod-channels.ts";

const [STDIN, STDOUT, STDERR, ERROR, RESIZE] = [0, 1, 2, 3, 4] as const;
/** The character that a person types to end the input (Ctrl+D). */
const END_OF_INPUT = Buffer.from("\x04");
const LONGEST_NUMBER = 64;
/** containerd 1.6 was seen to lose the last input when its end came at once after it. */
const SETTLE_MS = 100;
/** Kubernetes says soon after a program was killed that it has ended. Nobody waits longer for that. */
const KILLED_MS = 5_000;

/** Kubernetes' report of how a program ended. */
interface ExecStatus {
  status?: string;
  message?: string;
  details?: { causes?: { reason?: string; message?: string }[] };
}

export interface PodExecutionParts {
  terminal: boolean;
  clock: Clock;
  /** Sends a signal to a process of the same Pod. */
  kill(pid: number, signal: NodeJS.Signals): Promise<void>;
  /** Receives the promise that the program is ended, once the caller has left. */
  hungUp(done: Promise<unknown>): void;
}

/** Writes its process number as the first line, goes to the folder, sets the variables, and becomes the program. */
const BECOME =
  'echo $$; [ -z "$1" ] || cd "$1" || exit 126; n=$2; shift 2; while [ "$n" -gt 0 ]; do export "$1"; shift; n=$((n-1)); done; exec "$@"';
/**
 * Keeps the output open until the program has ended. containerd ends a program's input when its output is closed, which a program does
 * that writes to a file instead. What this shell itself would say about a signal goes nowhere.
 */
const HOLD = 'exec 3>&2 2>/dev/null; /bin/sh -c "$0" sh "$@" 2>&3 3>&-; exit $?';

/**
 * Kubernetes starts programs with neither variables nor folder, sends no signals, and lets a program run on when its caller leaves. So a
 * shell does what is missing.
 */
export function wrapped({ cmd, env = {}, cwd = "", terminal }: ExecSpec): string[] {
  const given = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const words = [cwd, String(given.length), ...given, ...cmd];
  return ["/bin/sh", "-c", ...(terminal ? [BECOME, "sh"] : [HOLD, BECOME]), ...words];
}

export class PodExecution implements Execution {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exit: Promise<Exit>;
  readonly #parts: PodExecutionParts;
  readonly #channels: PodChannels;
  readonly #out = new PassThrough();
  readonly #errors = new PassThrough();
  readonly #pid = Promise.withResolvers<number | undefined>();
  #firstLine: Buffer | undefined = Buffer.alloc(0);
  #status: ExecStatus | undefined;
  #isOver = false;
  #isClosed = false;

  constructor(socket: WebSocket, parts: PodExecutionParts) {
    this.#parts = parts;
    for (const stream of [this.#out, this.#errors]) stream.on("error", () => {});
    this.stdout = this.#out;
    this.stderr = this.#errors;
    const closed = Promise.withResolvers<void>();
    this.#channels = new PodChannels(socket, (channel, piece) => this.#take(channel, piece), closed.resolve);
    this.stdin = this.#input();
    this.stdin.on("error", () => {});
    this.exit = closed.promise.then(() => this.#ended());
  }

  #take(channel: number, piece: Buffer): Promise<void> | undefined {
    if (channel === STDOUT) return this.#takeOut(piece);
    if (channel === STDERR) return writeTo(this.#errors, piece);
    if (channel === ERROR && piece.length > 0) {
      this.#status = JSON.parse(String(piece)) as ExecStatus;
      // The program has ended, and all that it wrote came before this. What it did not read may still be on the way there.
      this.#channels.terminate();
    }
    return undefined;
  }

  /** The first line is the process number. */
  #takeOut(piece: Buffer): Promise<void> | undefined {
    if (this.#firstLine === undefined) return writeTo(this.#out, piece);
    this.#firstLine = Buffer.concat([this.#firstLine, piece]);
    const end = this.#firstLine.indexOf(10);
    if (end < 0 && this.#firstLine.length < LONGEST_NUMBER) return undefined;
    const [line, rest] = [String(this.#firstLine.subarray(0, end)).trim(), this.#firstLine.subarray(end + 1)];
    this.#firstLine = undefined;
    this.#pid.resolve(/^\d+$/.test(line) ? Number(line) : undefined);
    return rest.length > 0 ? writeTo(this.#out, rest) : undefined;
  }

  #ended(): Exit {
    this.#isOver = true;
    this.#pid.resolve(undefined);
    const at = this.#parts.clock.now();
    const { status, message = "its connection to the Pod broke", details } = this.#status ?? {};
    const code = details?.causes?.find(({ reason }) => reason === "ExitCode")?.message;
    // The shell itself could not be started.
    const cannotRun =
      status === "Failure" && code === undefined && /executable file not found|no such file/.test(message);
    if (cannotRun) this.#errors.write(`this image has no /bin/sh, which programs beside its own need: ${message}\n`);
    for (const stream of [this.#out, this.#errors]) stream.end();
    if (status === "Success") return { code: 0, at };
    if (code !== undefined) return { ...statusOf(Number(code)), at };
    return cannotRun ? { code: 127, at, reason: message } : { code: null, signal: "SIGKILL", at, reason: message };
  }

  #input(): Writable {
    return new Writable({
      write: (chunk: Buffer, _, done) => this.#channels.send(STDIN, chunk, done),
      final: (done) => {
        if (this.#parts.terminal) this.#channels.send(STDIN, END_OF_INPUT, () => done());
        else this.#parts.clock.after(SETTLE_MS, () => this.#channels.end(STDIN, () => done()));
      },
    });
  }

  async resize(size: TerminalSize): Promise<void> {
    checkSize(size);
    if (!this.#parts.terminal || this.#isOver) return;
    const text = JSON.stringify({ Width: size.columns, Height: size.rows });
    await new Promise<void>((resolve) => this.#channels.send(RESIZE, Buffer.from(text), () => resolve()));
  }

  async signal(name: NodeJS.Signals): Promise<void> {
    const pid = await this.#pid.promise;
    if (pid !== undefined && !this.#isOver) await this.#parts.kill(pid, name);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // Nobody reads any more, and what is unread must not keep the end from being heard.
    for (const stream of [this.#out, this.#errors]) stream.destroy();
    this.stdin.destroy();
    if (!this.#isOver) this.#parts.hungUp(this.#hangUp());
  }

  async #hangUp(): Promise<void> {
    const { clock } = this.#parts;
    const timer = clock.after(HANG_UP_MS, () => floating(this.signal("SIGKILL"), () => this.#channels.terminate()));
    const end = clock.after(HANG_UP_MS + KILLED_MS, () => this.#channels.terminate());
    await this.signal("SIGHUP").catch(() => this.#channels.terminate());
    await this.exit;
    for (const one of [timer, end]) one.cancel();
  }
}
