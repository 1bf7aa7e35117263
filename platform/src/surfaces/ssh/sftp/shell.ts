/** A shell in a Pod that does one thing after the other, and tells what came of each. */
import { MIB } from "../../../kernel/operation.ts";
import type { Execution } from "../../../ports/compute/execution.ts";
import type { Bytes } from "./bytes.ts";

/** What a command wrote, of both streams, and how it ended. */
export interface Done {
  code: number;
  output: string;
}

/** Of the output of one command: beyond it nothing is kept, and the command has failed. */
const MOST_OUTPUT = 4 * MIB;

/** The Pod, or its shell, is gone. */
export class ShellGone extends Error {}

export class ShellInPod {
  readonly #execution: Execution;
  readonly #output: Bytes;
  readonly #mark: string;
  #last: Promise<unknown> = Promise.resolve();
  /** Arrived, and not yet part of what a command wrote. */
  #rest = Buffer.alloc(0);

  /** `mark` stands behind all that a command writes: no file has a name with it. */
  constructor(execution: Execution, output: Bytes, mark: string) {
    this.#execution = execution;
    this.#output = output;
    this.#mark = mark;
    execution.stderr.on("error", () => {}).resume();
    execution.stdin.on("error", () => {});
  }

  /** Runs a command with words that stand in it as `"$1"`, `"$2"`. Throws ShellGone. */
  do(command: string, ...words: string[]): Promise<Done> {
    const done = this.#last.then(() => this.#do(command, words));
    this.#last = done.catch(() => {});
    return done;
  }

  async #do(command: string, words: string[]): Promise<Done> {
    const { stdin } = this.#execution;
    if (stdin.destroyed) throw new ShellGone("the shell in the Pod has ended");
    stdin.write(
      `( set -- ${words.map(quoted).join(" ")}; ${command} ) </dev/null 2>&1; printf '\\n%s %s\\n' ${this.#mark} "$?"\n`,
    );
    return this.#read();
  }

  async #read(): Promise<Done> {
    const mark = Buffer.from(`\n${this.#mark} `);
    let isTooLong = false;
    for (;;) {
      const at = this.#rest.indexOf(mark);
      const end = at < 0 ? -1 : this.#rest.indexOf("\n", at + mark.length);
      if (end >= 0) {
        const output = isTooLong ? "there is more than can be told" : this.#rest.subarray(0, at).toString();
        const code = isTooLong ? 1 : Number(this.#rest.subarray(at + mark.length, end).toString());
        this.#rest = Buffer.from(this.#rest.subarray(end + 1));
        return { code, output };
      }
      if (this.#rest.length > MOST_OUTPUT) {
        isTooLong = true;
        this.#rest = Buffer.from(this.#rest.subarray(-mark.length));
      }
      const piece = await this.#output.next();
      if (!piece) throw new ShellGone("the shell in the Pod has ended");
      this.#rest = Buffer.concat([this.#rest, piece]);
    }
  }

  close(): void {
    this.#execution.close();
  }
}

/** As one word of a shell, whatever is in it. */
const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
