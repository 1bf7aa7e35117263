/** A shell in a Pod that runs one command after another and reports the result of each. */
import { MIB } from "../../../kernel/operation.ts";
import type { Execution } from "../../../ports/compute/execution.ts";
import type { Bytes } from "./bytes.ts";

/** The output of a command, from both streams, and its exit code. */
export interface Done {
  code: number;
  output: string;
}

/** The most output of one command. If there is more, it is dropped and the command counts as failed. */
const MOST_OUTPUT = 4 * MIB;

/** The Pod or its shell is gone. */
export class ShellGone extends Error {}

export class ShellInPod {
  readonly #execution: Execution;
  readonly #output: Bytes;
  readonly #mark: string;
  #last: Promise<unknown> = Promise.resolve();
  /** Bytes that have arrived and belong to no finished command yet. */
  #rest = Buffer.alloc(0);

  /** `mark` follows the output of each command. It is random, so no file name contains it. */
  constructor(execution: Execution, output: Bytes, mark: string) {
    this.#execution = execution;
    this.#output = output;
    this.#mark = mark;
    execution.stderr.on("error", () => {}).resume();
    execution.stdin.on("error", () => {});
  }

  /** Runs a command whose words are `"$1"`, `"$2"` and so on. Throws ShellGone. */
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

/** Quotes any text as one word for the shell. */
const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
