/** An open file in a Pod. Sequential reads or writes go through one program; each jump starts another. */
import { text } from "node:stream/consumers";
import { type ExecSpec, type Execution, writeTo } from "../../../ports/compute/execution.ts";
import { Bytes } from "./bytes.ts";
import { Failure, failureFrom } from "./failure.ts";

export type Begin = (spec: ExecSpec) => Promise<Execution>;

/** `dd` moves the position from which `cat` goes on, since both share one open file. */
const READ = '{ [ "$2" = 0 ] || dd bs=1 "skip=$2" count=0 2>/dev/null; exec cat; } <"$1"';
const WRITE = '{ [ "$2" = 0 ] || dd bs=1 "seek=$2" count=0 conv=notrunc 2>/dev/null </dev/null; exec cat; } 1<>"$1"';
const APPEND = 'exec cat >>"$1"';

/** A program that works on the file, and its position. */
interface Pass {
  execution: Execution;
  at: number;
  errors: Promise<string>;
}

export class OpenFile {
  readonly path: string;
  readonly #begin: Begin;
  readonly #appends: boolean;
  #reading: (Pass & { output: Bytes }) | undefined;
  #writing: Pass | undefined;

  constructor(path: string, { begin, appends }: { begin: Begin; appends: boolean }) {
    this.path = path;
    this.#begin = begin;
    this.#appends = appends;
  }

  /** Returns fewer bytes than asked for only at the end of the file, and none beyond it. */
  async read(at: number, length: number): Promise<Buffer> {
    await this.settle();
    if (this.#reading?.at !== at) {
      this.#reading?.execution.close();
      const pass = await this.#pass(READ, at);
      this.#reading = { ...pass, output: new Bytes(pass.execution.stdout) };
      this.#reading.execution.stdin.end();
    }
    const { execution, output, errors } = this.#reading;
    const bytes = await output.take(length);
    this.#reading.at += bytes.length;
    if (bytes.length < length) await ended(execution, errors);
    return bytes;
  }

  /** Resolves when the program can take more, so a slow one is waited for. */
  async write(at: number, bytes: Buffer): Promise<void> {
    if (!this.#writing || (this.#writing.at !== at && !this.#appends)) {
      await this.settle();
      this.#writing = await this.#pass(this.#appends ? APPEND : WRITE, at);
      this.#writing.execution.stdout.on("error", () => {}).resume();
    }
    const { execution, errors } = this.#writing;
    await writeTo(execution.stdin, bytes);
    this.#writing.at = at + bytes.length;
    if (execution.stdin.destroyed) await ended(execution, errors, "it was not written to its end");
  }

  /** Resolves when everything written is in the file. */
  async settle(): Promise<void> {
    const writing = this.#writing;
    if (!writing) return;
    this.#writing = undefined;
    writing.execution.stdin.end();
    await ended(writing.execution, writing.errors);
  }

  async close(): Promise<void> {
    this.#reading?.execution.close();
    await this.settle();
  }

  /** Ends the programs, since no one waits for them any more. */
  abandon(): void {
    for (const pass of [this.#reading, this.#writing]) pass?.execution.close();
  }

  async #pass(script: string, at: number): Promise<Pass> {
    const cmd = ["sh", "-c", script, "sh", this.path, String(at)];
    const execution = await this.#begin({ cmd });
    execution.stdin.on("error", () => {});
    return { execution, at, errors: text(execution.stderr).catch(() => "") };
  }
}

/** Throws unless the program ended well: a program that was cut off has not delivered everything. */
async function ended({ exit }: Execution, errors: Promise<string>, otherwise = "it broke off"): Promise<void> {
  const { code, reason } = await exit;
  if (code === 0) return;
  const words = await errors;
  throw words.trim() === "" ? new Failure("failure", reason ?? otherwise) : failureFrom(words);
}
