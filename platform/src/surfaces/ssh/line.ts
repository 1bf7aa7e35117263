/** What goes out on one channel: in order, and no faster than its client reads. */
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { floating } from "../../kernel/floating.ts";
import { MIB } from "../../kernel/operation.ts";
import type { Exit } from "../../ports/compute/exit.ts";
import { forgetWritten, type ServerChannel } from "./library.ts";

/**
 * On the connection, waiting for its client. The library counts what the client said it would take, and not what it takes: one that says
 * much and reads nothing would fill the memory.
 */
const MOST_UNSENT = MIB;

/** What the protocol has names for. */
const SIGNALS = ["ABRT", "ALRM", "FPE", "HUP", "ILL", "INT", "KILL", "PIPE", "QUIT", "SEGV", "TERM", "USR1", "USR2"];

/** As of a command that could not be run at all. */
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
    // What breaks it closes it, which is heard of.
    for (const stream of [channel, channel.stderr]) stream.on("error", () => {});
    // Told of a closed channel whatever else of it still waits for somebody.
    channel.stderr.once("finish", () => this.gone());
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Its client is not there any more: what waits is given up. */
  gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#release();
    this.#over.resolve();
    this.#onGone();
  }

  /** Resolves when its client has closed it too, or is gone. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Resolves when it is sent, or nobody is there to send it to; never rejects. */
  write(piece: Buffer | string, stream: "stdout" | "stderr" = "stdout"): Promise<void> {
    this.#last = this.#last.then(() => this.#write(piece, stream));
    return this.#last;
  }

  /** What the platform says itself, apart from what a program says. */
  say(words: string): Promise<void> {
    return this.write(`millrace: ${words}\r\n`, "stderr");
  }

  /** All that a program writes, to its end. One that breaks off has ended. */
  async pass(from: Readable, stream: "stdout" | "stderr" = "stdout"): Promise<void> {
    try {
      // What has said all may still be talked to.
      for await (const piece of from.iterator({ destroyOnReturn: false })) await this.write(piece as Buffer, stream);
    } catch {
      // What became of it is told by its exit.
    }
  }

  /** Once all is sent: how the program ended, and the end of the channel. */
  end(exit: Pick<Exit, "code" | "signal" | "reason">): void {
    const end = () => {
      if (this.#isGone || this.#hasEnded) return;
      this.#hasEnded = true;
      this.#tell(exit);
      this.channel.end();
      // Nobody wants what still comes.
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

  /** What is waited for, unless its client goes away. */
  #until(wait: (go: () => void) => void): Promise<void> {
    if (this.#isGone) return Promise.resolve();
    return new Promise((resolve) => {
      this.#release = resolve;
      wait(() => resolve());
    });
  }
}
