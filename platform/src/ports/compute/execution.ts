/** One more program inside an instance that runs: what is asked for, and how its caller has to do with it. */
import type { Readable, Writable } from "node:stream";
import { floating } from "../../kernel/floating.ts";
import type { Exit } from "./exit.ts";
import { ExecRefused } from "./refusal.ts";

export interface TerminalSize {
  columns: number;
  rows: number;
}

export interface ExecSpec {
  /** Looked for as a shell does; the first word names the program. */
  cmd: readonly string[];
  /** Beside the variables of the instance's own program; of two with the same name this one counts. */
  env?: Readonly<Record<string, string>>;
  /** Absolute; by default where the instance's own program began. */
  cwd?: string;
  /** With one the program has a terminal of this size, which is its input, its output and where it tells of errors. */
  terminal?: TerminalSize;
}

/**
 * A program beside the instance's own: as confined as that one, counted in the same limits, frozen and ended with it. It is there for its
 * caller: when `close` is called, or the server dies, it is hung up as by a terminal whose line broke, and ended by force `HANG_UP_MS` later.
 * What it has itself started and let go of stays, as after any terminal.
 *
 * Streams wait for who reads them: a program whose output nobody takes waits too, and so does who writes faster than it reads.
 */
export interface Execution {
  /** Its end is the end of the program's input; on a terminal, as if somebody typed the key for that. */
  readonly stdin: Writable;
  /** With a terminal all that the program writes. */
  readonly stdout: Readable;
  /** Ends at once with a terminal. Who reads the one reads the other too, or the program may come to wait. */
  readonly stderr: Readable;
  /**
   * Never rejects. 126 and 127 are the codes of a program that is not there or cannot be run, also for want of its folder; what it wrote
   * says which. What was written last may still be unread.
   */
  readonly exit: Promise<Exit>;
  /** Tells the program that its terminal has another size. Nothing without a terminal, and once it has ended. */
  resize(size: TerminalSize): Promise<void>;
  /** Sends the program, and none of those that it started, a signal. Nothing once it has ended. Absent where the driver cannot. */
  signal?(name: NodeJS.Signals): Promise<void>;
  /** The caller goes away. Safe to repeat. */
  close(): void;
}

/** The ability to run more programs inside an instance. */
export interface Executing {
  /** In an instance that runs. Throws ExecRefused. */
  run(id: string, spec: ExecSpec): Promise<Execution>;
}

/** How long a program that was hung up may take to end. */
export const HANG_UP_MS = 2_000;

/** At once, in one instance. */
export const MOST_EXECUTIONS = 32;
const LONGEST_COMMAND = 131_072;
const LONGEST_ENVIRONMENT = 1_048_576;
const MOST_WORDS = 4_096;
const LARGEST_TERMINAL = 10_000;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Refuses what no driver runs. */
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

/** Waits for who reads. What nobody reads any more is dropped. */
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
  /** How many an instance has, those included that are about to be. */
  readonly #counts = new Map<string, number>();
  readonly #running = new Map<Execution, string>();

  /** Begins one, unless as many as may be run in that instance already. */
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

  /** Of one instance, or of all: nobody could talk to them any more. */
  close(id?: string): void {
    for (const [execution, of] of this.#running) if (id === undefined || of === id) execution.close();
  }
}
