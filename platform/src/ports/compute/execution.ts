/** One more program inside a running instance: what a caller asks for, and how the caller talks to it. */
import type { Readable, Writable } from "node:stream";
import { floating } from "../../kernel/floating.ts";
import type { Exit } from "./exit.ts";
import { ExecRefused } from "./refusal.ts";

export interface TerminalSize {
  columns: number;
  rows: number;
}

export interface ExecSpec {
  /** The first word names the program, which is looked up as a shell does. */
  cmd: readonly string[];
  /** Added to the variables of the instance's own program. They override variables with the same name. */
  env?: Readonly<Record<string, string>>;
  /** An absolute path. By default, the folder in which the instance's own program started. */
  cwd?: string;
  /** If present, the program gets a terminal of this size for input, output and errors. */
  terminal?: TerminalSize;
}

/**
 * A program beside the instance's own: it has the same sandbox and shares its limits, and it is frozen and ended with it. It lives as long
 * as its caller. When `close` is called or the server dies, it is hung up like a program whose terminal line broke, and `HANG_UP_MS` later
 * it is killed. Background processes that it detached stay, as after any terminal. The streams apply back-pressure: a program waits while
 * nobody reads its output, and a caller waits while the program does not read its input.
 */
export interface Execution {
  /** Ending it ends the program's input. On a terminal this acts like typing the end-of-file key. */
  readonly stdin: Writable;
  /** With a terminal, this carries everything that the program writes. */
  readonly stdout: Readable;
  /** Ends at once if there is a terminal. A caller must read both stdout and stderr, or the program may block. */
  readonly stderr: Readable;
  /**
   * Never rejects. The codes 126 and 127 mean that the program cannot be run or does not exist; a missing folder also gives one of them.
   * The program's output says which. The last output may still be unread.
   */
  readonly exit: Promise<Exit>;
  /** Tells the program that the size of its terminal changed. Does nothing without a terminal, or after the program has ended. */
  resize(size: TerminalSize): Promise<void>;
  /**
   * Sends a signal to the program, but not to the programs it started. Does nothing after the program has ended. Absent if the driver
   * cannot send signals.
   */
  signal?(name: NodeJS.Signals): Promise<void>;
  /** Says that the caller is leaving. Safe to repeat. */
  close(): void;
}

/** The ability to run more programs inside an instance. */
export interface Executing {
  /** Runs a program in a running instance. Throws ExecRefused. */
  run(id: string, spec: ExecSpec): Promise<Execution>;
}

/** How long a program may take to end after it was hung up. */
export const HANG_UP_MS = 2_000;

/** How many executions one instance may have at once. */
export const MOST_EXECUTIONS = 32;
const LONGEST_COMMAND = 131_072;
const LONGEST_ENVIRONMENT = 1_048_576;
const MOST_WORDS = 4_096;
const LARGEST_TERMINAL = 10_000;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Refuses what no driver can run. */
export function checkExec({ cmd, env = {}, cwd, terminal }: ExecSpec): void {
  const given = Object.entries(env);
  if (!cmd[0]) throw new ExecRefused("there is no command to run");
  if (cmd.length > MOST_WORDS || bytesOf(cmd) > LONGEST_COMMAND)
    throw new ExecRefused(`a command has at most ${MOST_WORDS} words and ${LONGEST_COMMAND} bytes`);
  if (given.length > MOST_WORDS || bytesOf(given.flat()) > LONGEST_ENVIRONMENT)
    throw new ExecRefused(`there can be at most ${MOST_WORDS} variables, of ${LONGEST_ENVIRONMENT} bytes together`);
  const odd = given.find(([name]) => !VARIABLE.test(name));
  if (odd) throw new ExecRefused(`the variable '${odd[0]}' cannot be given to a program`);
  if (cwd !== undefined && !cwd.startsWith("/")) throw new ExecRefused(`the folder '${cwd}' must be an absolute path`);
  if ([...cmd, ...given.flat(), cwd ?? ""].some((text) => text.includes("\0")))
    throw new ExecRefused("neither command nor variables nor folder can hold the character NUL");
  if (terminal) checkSize(terminal);
}

export function checkSize({ columns, rows }: TerminalSize): void {
  for (const size of [columns, rows])
    if (!Number.isInteger(size) || size < 1 || size > LARGEST_TERMINAL)
      throw new ExecRefused(`a terminal has 1 to ${LARGEST_TERMINAL} columns and rows, not ${columns} by ${rows}`);
}

const bytesOf = (texts: readonly string[]) => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);

/** Resolves when the reader has room again. If the stream is destroyed, the piece is dropped. */
export function writeTo(to: Writable, piece: string | Buffer): Promise<void> | undefined {
  if (to.destroyed || to.write(piece)) return undefined;
  return new Promise((resolve) => {
    const over = () => {
      to.off("drain", over).off("close", over);
      resolve();
    };
    to.on("drain", over).on("close", over);
  });
}

/** The executions of one driver. */
export class Executions {
  /** How many executions each instance has, including those that are starting. */
  readonly #counts = new Map<string, number>();
  readonly #running = new Map<Execution, string>();

  /** Starts an execution, unless the instance already has as many as allowed. */
  async run<T extends Execution>(id: string, begin: () => Promise<T>): Promise<T> {
    const count = this.#counts.get(id) ?? 0;
    if (count >= MOST_EXECUTIONS)
      throw new ExecRefused(`${MOST_EXECUTIONS} programs run in ${id} beside its own, and no more can`);
    this.#counts.set(id, count + 1);
    try {
      const execution = await begin();
      this.#running.set(execution, id);
      const ended = () => {
        this.#running.delete(execution);
        this.#leave(id);
      };
      floating(execution.exit.then(ended), ended);
      return execution;
    } catch (error) {
      this.#leave(id);
      throw error;
    }
  }

  #leave(id: string): void {
    const rest = this.#counts.get(id)! - 1;
    if (rest > 0) this.#counts.set(id, rest);
    else this.#counts.delete(id);
  }

  /** Closes the executions of one instance, or of all, because nobody can reach them any more. */
  close(id?: string): void {
    for (const [execution, of] of this.#running) if (id === undefined || of === id) execution.close();
  }
}
