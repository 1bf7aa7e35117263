/** One more program inside a container: its streams, its signals and its end. */
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { PassThrough, type Readable, Writable } from "node:stream";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { checkSize, type Execution, HANG_UP_MS, type TerminalSize, writeTo } from "../../ports/compute/execution.ts";
import type { Exit } from "../../ports/compute/exit.ts";
import { ExecRefused } from "../../ports/compute/refusal.ts";
import { statusOf } from "../machine/exit-status.ts";
import { type EngineApi, EngineRefused, isNotFound } from "./engine-api.ts";

/** The fields of the engine's description of an exec that the driver reads. */
interface Described {
  Running: boolean;
  ExitCode: number | null;
  /** The process number on the engine's machine; 0 before the program runs. */
  Pid: number;
}

export interface DockerExecutionParts {
  api: EngineApi;
  /** The engine's id for this execution. */
  exec: string;
  container: string;
  terminal: boolean;
  clock: Clock;
  /** Receives the promise that the program is ended, once the caller has left. */
  hungUp(done: Promise<unknown>): void;
}

/** The character that a person types to end the input (Ctrl+D). */
const END_OF_INPUT = "\x04";
const LOOK_AGAIN_MS = 10;
const LONGEST_LOOK_MS = 1_000;
const HEADER_BYTES = 8;
const STDERR = 2;

export class DockerExecution implements Execution {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exit: Promise<Exit>;
  readonly #socket: Socket;
  readonly #parts: DockerExecutionParts;
  #ended: Exit | undefined;
  #isClosed = false;

  constructor(socket: Socket, parts: DockerExecutionParts) {
    this.#socket = socket;
    this.#parts = parts;
    // A close follows every error, and then the engine is asked how the program ended.
    socket.on("error", () => {});
    this.stdin = inputOf(socket, parts.terminal);
    this.stdin.on("error", () => {});
    const [out, errors] = [new PassThrough(), new PassThrough()];
    for (const stream of [out, errors]) stream.on("error", () => {});
    this.stdout = out;
    this.stderr = errors;
    const read = (parts.terminal ? copy(socket, out) : tellApart(socket, out, errors)).catch(() => {});
    this.exit = read.then(() => {
      for (const stream of [out, errors]) stream.end();
      return this.#whenEnded();
    });
  }

  /** Called when the engine has closed the connection: the program has ended or is about to. */
  async #whenEnded(): Promise<Exit> {
    const { clock } = this.#parts;
    for (let waitMs = LOOK_AGAIN_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_LOOK_MS)) {
      const described = await this.#describe().catch((error: Error) => error);
      const at = clock.now();
      if (described === undefined) this.#ended = { code: null, signal: "SIGKILL", at, reason: "its container is gone" };
      else if (described instanceof Error) this.#ended = { code: null, at, reason: described.message };
      else if (!described.Running && described.ExitCode !== null) this.#ended = { ...statusOf(described.ExitCode), at };
      if (this.#ended) return this.#ended;
      await sleep(clock, waitMs);
    }
  }

  async #describe(): Promise<Described | undefined> {
    const { api, exec } = this.#parts;
    return api.call<Described>("GET", `/exec/${exec}/json`).catch((error) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  }

  async resize(size: TerminalSize): Promise<void> {
    checkSize(size);
    const { api, exec, terminal } = this.#parts;
    if (!terminal || (await this.#pid()) === undefined) return;
    const query = { h: size.rows, w: size.columns };
    await api.call("POST", `/exec/${exec}/resize`, { query }).catch(async (error) => {
      // The engine refuses to resize a program that has ended meanwhile.
      if (!(error instanceof EngineRefused) || (await this.#describe())?.Running) throw error;
    });
  }

  /**
   * Sends the signal by process number, which works where the engine runs on this machine and the server has the right. The engine itself
   * only sends signals to the first process of a container.
   */
  async signal(name: NodeJS.Signals): Promise<void> {
    const pid = await this.#pid();
    if (pid === undefined) return;
    const groups = await readFile(`/proc/${pid}/cgroup`, "utf8").catch(() => "");
    if (groups.includes(this.#parts.container)) return send(pid, name);
    if ((await this.#describe())?.Running)
      throw new ExecRefused("its engine runs on another machine, where no signal can be sent to it");
  }

  /** Undefined when the program has ended. */
  async #pid(): Promise<number | undefined> {
    for (let waitMs = LOOK_AGAIN_MS; !this.#ended; waitMs = Math.min(2 * waitMs, LONGEST_LOOK_MS)) {
      const described = await this.#describe();
      if (!described || (!described.Running && described.ExitCode !== null)) return undefined;
      if (described.Running && described.Pid > 0) return described.Pid;
      await sleep(this.#parts.clock, waitMs);
    }
    return undefined;
  }

  /** The engine would let the program run on, so this ends it. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (!this.#ended) this.#parts.hungUp(this.#hangUp());
    this.#socket.destroy();
  }

  async #hangUp(): Promise<void> {
    await this.signal("SIGHUP").catch(() => {});
    const timer = this.#parts.clock.after(HANG_UP_MS, () => floating(this.signal("SIGKILL"), () => {}));
    await this.exit;
    timer.cancel();
  }
}

/** A program that has ended meanwhile is no error. */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EPERM") throw new ExecRefused("this server may send its programs no signals: it is not root");
    if (code !== "ESRCH") throw error;
  }
}

/** A stream of its own, since ending the connection would also end a terminal's output. */
const inputOf = (socket: Socket, terminal: boolean) =>
  new Writable({
    write(chunk, _, done) {
      socket.write(chunk, done);
    },
    final(done) {
      if (terminal) socket.write(END_OF_INPUT, () => done());
      else socket.end(() => done());
    },
  });

async function copy(socket: Socket, to: Writable): Promise<void> {
  for await (const chunk of socket) await writeTo(to, chunk);
}

/** Separates the two streams. Each piece has a header with the stream's number and the piece's length. */
async function tellApart(socket: Socket, out: Writable, errors: Writable): Promise<void> {
  let header = Buffer.alloc(0);
  let left = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    for (let rest = chunk; rest.length > 0; ) {
      if (left === 0) {
        const missing = HEADER_BYTES - header.length;
        header = Buffer.concat([header, rest.subarray(0, missing)]);
        rest = rest.subarray(missing);
        if (header.length < HEADER_BYTES) break;
        left = header.readUInt32BE(4);
        if (left === 0) header = Buffer.alloc(0);
        continue;
      }
      const piece = rest.subarray(0, left);
      await writeTo(header[0] === STDERR ? errors : out, piece);
      left -= piece.length;
      rest = rest.subarray(piece.length);
      if (left === 0) header = Buffer.alloc(0);
    }
  }
}
