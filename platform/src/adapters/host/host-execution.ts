/** One more program inside an instance on this machine: its streams, its terminal, its signals and its end. */
import type { ChildProcess } from "node:child_process";
import { Readable, type Writable } from "node:stream";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { checkSize, type Execution, type TerminalSize } from "../../ports/compute/execution.ts";
import type { Exit } from "../../ports/compute/exit.ts";
import { childrenOf, commandOf, readProcess, sendSignal } from "../machine/processes.ts";
import { exitFrom } from "./instance-folder.ts";

const LOOK_AGAIN_MS = 3;
/** After this time a process that still looks like the starting shell is taken for the program. */
const BEGIN_PATIENCE_MS = 2_000;

export interface ExecutionParts {
  clock: Clock;
  /** The program is this many processes below the command of `exec.sh`. */
  steps: number;
  /** `exec.sh` takes the closing of this descriptor as the caller's leaving. */
  callerFd: number;
  terminal: boolean;
  /** A text in the command of the starting shell. It is gone from the command once the shell has become the program. */
  become: string;
  /** Runs another program in the same place. Resolves when it has ended. */
  beside(cmd: readonly string[]): Promise<void>;
}

export class HostExecution implements Execution {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exit: Promise<Exit>;
  readonly #child: ChildProcess;
  readonly #parts: ExecutionParts;
  readonly #resizes = new OneAtATime();
  #wanted: TerminalSize | undefined;
  #hasEnded = false;

  constructor(child: ChildProcess, parts: ExecutionParts) {
    this.#child = child;
    this.#parts = parts;
    this.stdin = child.stdin!;
    this.stdout = child.stdout!;
    this.stderr = parts.terminal ? Readable.from([]) : child.stderr!;
    // A program that stops reading is no error of the writer. Its exit tells what happened.
    for (const stream of [child.stdin!, child.stdout!, child.stderr!, this.#line]) stream.on("error", () => {});
    // `script` may write its own complaints there, which the caller would not understand.
    if (parts.terminal) child.stderr!.resume();
    this.exit = new Promise((resolve) => child.once("exit", (code, signal) => resolve(this.#ended(code, signal))));
  }

  get #line(): Writable {
    return this.#child.stdio[this.#parts.callerFd] as Writable;
  }

  #ended(code: number | null, signal: NodeJS.Signals | null): Exit {
    this.#hasEnded = true;
    this.#line.destroy();
    const at = this.#parts.clock.now();
    return code === null ? { code: null, signal: signal!, at } : exitFrom(code, at);
  }

  /** Of several waiting sizes only the last is set. */
  async resize(size: TerminalSize): Promise<void> {
    checkSize(size);
    this.#wanted = size;
    await this.#resizes.run(async () => {
      const wanted = this.#wanted;
      this.#wanted = undefined;
      if (!wanted || !this.#parts.terminal) return;
      const terminal = await this.#terminalName();
      if (terminal === undefined) return;
      const { rows, columns } = wanted;
      await this.#parts.beside(["stty", "-F", terminal, "rows", String(rows), "columns", String(columns)]);
    });
  }

  async signal(name: NodeJS.Signals): Promise<void> {
    const program = await this.#program();
    if (program !== undefined) sendSignal(program, name);
  }

  /** Closes the program's streams and the caller's pipe, whereupon `exec.sh` hangs the program up. */
  close(): void {
    this.#line.destroy();
    this.stdin.destroy();
    this.stdout.destroy();
    this.#child.stderr!.destroy();
  }

  /** The program's process, once it is there; undefined when it has ended. */
  async #program(): Promise<number | undefined> {
    const { clock, become } = this.#parts;
    const untilMs = clock.monotonic() + BEGIN_PATIENCE_MS;
    for (; !this.#hasEnded; await sleep(clock, LOOK_AGAIN_MS)) {
      const found = await this.#lowest();
      if (found === undefined) continue;
      const isBegun = !(await commandOf(found)).includes(become);
      if (isBegun || clock.monotonic() > untilMs) return this.#hasEnded ? undefined : found;
    }
    return undefined;
  }

  /** The first child of `exec.sh` waits for the caller to go. The second runs the command. */
  async #lowest(): Promise<number | undefined> {
    let [, at] = await childrenOf(this.#child.pid!);
    for (let step = 0; step < this.#parts.steps && at !== undefined; step++) [at] = await childrenOf(at);
    return at;
  }

  /** Derived from the device number that the kernel reports, since the program may have any files open. */
  async #terminalName(): Promise<string | undefined> {
    const program = await this.#program();
    const line = program === undefined ? undefined : await readProcess(program, "stat");
    const device = Number(line?.slice(line.lastIndexOf(")") + 2).split(" ")[4]);
    if (!(device > 0)) return undefined;
    return `/dev/pts/${(device & 0xff) | ((device >>> 12) & 0xff_ff00)}`;
  }
}
