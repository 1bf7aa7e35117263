/** The output of one channel: sent in order, and no faster than its client reads. */
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { floating } from "../../kernel/floating.ts";
import { MIB } from "../../kernel/operation.ts";
import type { Exit } from "../../ports/compute/exit.ts";
import { forgetWritten, type ServerChannel } from "./library.ts";

/**
 * The most bytes on the connection that wait for the client. The library counts what the client announced to take, not what it takes. A
 * client that announces much and reads nothing would fill the memory.
 */
const MOST_UNSENT = MIB;

/** The signals that the protocol has names for. */
const SIGNALS = ["ABRT", "ALRM", "FPE", "HUP", "ILL", "INT", "KILL", "PIPE", "QUIT", "SEGV", "TERM", "USR1", "USR2"];

/** The code of a command that could not be run at all. */
export const REFUSED: Pick<Exit, "code"> = { code: 255 };

export class Line {
  readonly channel: ServerChannel;
  readonly #socket: Socket;
  #last: Promise<void> = Promise.resolve();
  #release: () => void = () => {};
  #isGone = false;
  #hasEnded = false;

  readonly #onGone: () => void;
  readonly #over = Promise.withResolvers<void>();

  constructor(channel: ServerChannel, socket: Socket, onGone: () => void) {
    this.channel = channel;
    this.#socket = socket;
    this.#onGone = onGone;
    // The error is ignored: it also closes the channel, and that is noticed.
    for (const stream of [channel, channel.stderr]) stream.on("error", () => {});
    // The library finishes this stream when the channel closes, whatever else still waits.
    channel.stderr.once("finish", () => this.gone());
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** The client is gone, so pending writes are given up. */
  gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#release();
    this.#over.resolve();
    this.#onGone();
  }

  /** Resolves when the client has closed the channel too, or is gone. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Resolves when the piece is sent, or when the client is gone. Never rejects. */
  write(piece: Buffer | string, stream: "stdout" | "stderr" = "stdout"): Promise<void> {
    this.#last = this.#last.then(() => this.#write(piece, stream));
    return this.#last;
  }

  /** Sends a message of the platform, on the error stream and marked as such. */
  say(words: string): Promise<void> {
    return this.write(`millrace: ${words}\r\n`, "stderr");
  }

  /** Sends everything that a program writes. A stream that breaks off counts as ended. */
  async pass(from: Readable, stream: "stdout" | "stderr" = "stdout"): Promise<void> {
    try {
      // A program that has closed its output may still take input.
      for await (const piece of from.iterator({ destroyOnReturn: false })) await this.write(piece as Buffer, stream);
    } catch {
      // The exit tells what happened to the program.
    }
  }

  /** After everything is sent, reports how the program ended, and ends the channel. */
  end(exit: Pick<Exit, "code" | "signal" | "reason">): void {
    const end = () => {
      if (this.#isGone || this.#hasEnded) return;
      this.#hasEnded = true;
      this.#tell(exit);
      this.channel.end();
      // Input that still arrives is dropped.
      this.channel.resume();
    };
    floating(this.#last.then(end), () => this.gone());
  }

  #tell({ code, signal, reason = "" }: Pick<Exit, "code" | "signal" | "reason">): void {
    const name = signal?.replace(/^SIG/, "");
    if (code === null && name !== undefined && SIGNALS.includes(name)) this.channel.exit(name, false, reason);
    else this.channel.exit(code ?? REFUSED.code!);
  }

  async #write(piece: Buffer | string, stream: "stdout" | "stderr"): Promise<void> {
    if (this.#socket.writableLength > MOST_UNSENT) await this.#until((go) => this.#socket.once("drain", go));
    if (this.#isGone || this.#hasEnded) return;
    const to = stream === "stdout" ? this.channel : this.channel.stderr;
    await this.#until((go) => to.write(piece, go));
    forgetWritten(this.channel);
  }

  /** Waits, unless the client goes away. */
  #until(wait: (go: () => void) => void): Promise<void> {
    if (this.#isGone) return Promise.resolve();
    return new Promise((resolve) => {
      this.#release = resolve;
      wait(() => resolve());
    });
  }
}
