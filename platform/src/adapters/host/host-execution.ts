/** One more program inside an instance on this machine, as its caller has to do with it. */
import type { ChildProcess } from "node:child_process";
import { Readable, type Writable } from "node:stream";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { checkSize, type Execution, type TerminalSize } from "../../ports/compute/execution.ts";
import type { Exit } from "../../ports/compute/exit.ts";
import { childrenOf, commandOf, readProcess, sendSignal } from "../machine/processes.ts";
import { exitFrom } from "./instance-folder.ts";

const LOOK_AGAIN_MS = 3;
/** After which a program that looks like the shell before it is taken for the program. */
const BEGIN_PATIENCE_MS = 2_000;

export interface ExecutionParts {
  clock: Clock;
  /** How many processes below the command of `exec.sh` the program is. */
  steps: number;
  /** The descriptor of `exec.sh` whose closing means that the caller is gone. */
  callerFd: number;
  terminal: boolean;
  /** What is in the command of the shell that becomes the program, and then no more. */
  become: string;
  /** Runs another program in the same place, and resolves when it has ended. */
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
    // A program that reads no more is no fault of who writes to it: its exit tells.
    for (const stream of [child.stdin!, child.stdout!, child.stderr!, this.#line]) stream.on("error", () => {});
    // `script` may complain there, of which nobody knows.
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

  /** Only the last of those that wait is carried out. */
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

  /** Where nobody listens on the other end of its streams any more, `exec.sh` hangs it up. */
  close(): void {
    this.#line.destroy();
    this.stdin.destroy();
    this.stdout.destroy();
    this.#child.stderr!.destroy();
  }

  /** The program, once it is there; undefined when it has ended. */
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

  /** Of the children of `exec.sh`, the first waits for the caller to go. */
  async #lowest(): Promise<number | undefined> {
    let [, at] = await childrenOf(this.#child.pid!);
    for (let step = 0; step < this.#parts.steps && at !== undefined; step++) [at] = await childrenOf(at);
    return at;
  }

  /** By the number of the device, which the kernel tells: what the program has open is its own affair. */
  async #terminalName(): Promise<string | undefined> {
    const program = await this.#program();
    const line = program === undefined ? undefined : await readProcess(program, "stat");
    const device = Number(line?.slice(line.lastIndexOf(")") + 2).split(" ")[4]);
    if (!(device > 0)) return undefined;
    return `/dev/pts/${(device & 0xff) | ((device >>> 12) & 0xff_ff00)}`;
  }
}
