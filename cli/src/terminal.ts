/** Connects the terminal or pipes of a command to a program elsewhere. */
import { constants } from "node:os";
import { WebSocket } from "ws";
import type { Streams } from "./shell.ts";

/** While a connection has this many unsent bytes, it gets no more. */
const MOST_UNSENT = 1_048_576;
const HANDSHAKE_MS = 10_000;
/** A shell adds this to the number of the signal that ended a program. */
const BY_SIGNAL = 128;

export class Terminal {
  readonly #streams: Streams;
  readonly #isTty: boolean;

  constructor(streams: Streams, isTty?: boolean) {
    this.#streams = streams;
    this.#isTty = isTty ?? (streams.stdin.isTTY && streams.stdout.isTTY) === true;
  }

  /** The terminal that the command requests from the server. */
  wish(term: string | undefined): object {
    if (!this.#isTty) return { tty: false };
    const { columns: cols, rows } = this.#streams.stdout;
    return { tty: true, ...(cols && rows && { cols, rows }), ...(term && { term }) };
  }

  /** Resolves with the exit code of this command. */
  async run(url: string): Promise<number> {
    const { stdin, stdout } = this.#streams;
    const socket = new WebSocket(url, { perMessageDeflate: false, handshakeTimeout: HANDSHAKE_MS });
    const raw = this.#isTty && stdin.isTTY;
    try {
      const opened = new Promise<void>((resolve) => socket.once("open", resolve));
      const status = this.#heard(socket);
      await Promise.race([opened, status]);
      if (raw) stdin.setRawMode(true);
      this.#send(socket);
      return await status;
    } finally {
      if (raw) stdin.setRawMode(false);
      stdin.destroy();
      stdout.removeAllListeners("resize");
      socket.terminate();
    }
  }

  #send(socket: WebSocket): void {
    const { stdin, stdout } = this.#streams;
    const say = (message: object) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message), () => {});
    };
    stdin.on("data", (chunk: Buffer) => {
      if (socket.readyState !== WebSocket.OPEN) return;
      socket.send(chunk, () => stdin.resume());
      if (socket.bufferedAmount > MOST_UNSENT) stdin.pause();
    });
    stdin.on("end", () => say({ type: "end" }));
    stdin.on("error", () => say({ type: "end" }));
    if (this.#isTty) stdout.on("resize", () => say({ type: "resize", cols: stdout.columns, rows: stdout.rows }));
  }

  #heard(socket: WebSocket): Promise<number> {
    const { stdout, stderr } = this.#streams;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const write = (to: NodeJS.WriteStream, bytes: Buffer) => {
      if (to.write(bytes)) return;
      socket.pause();
      to.once("drain", () => socket.resume());
    };
    // The reader is gone, as with `head`.
    stdout.on("error", () => resolve(BY_SIGNAL + constants.signals.SIGPIPE));
    socket.on("message", (data, isBinary) => {
      if (isBinary) return write(stdout, data as Buffer);
      const message = JSON.parse(String(data));
      if (message.type === "stderr") write(stderr, Buffer.from(message.data, "base64"));
      else if (message.type === "error") reject(new Error(message.message));
      else if (message.type === "exit") {
        if (message.reason) stderr.write(`millrace: ${message.reason}\n`);
        resolve(statusOf(message));
      }
    });
    socket.on("unexpected-response", (_, response) => reject(new Error(`the server answered ${response.statusCode}`)));
    socket.on("error", (error) => reject(new Error(`the connection broke: ${error.message}`)));
    socket.on("close", () => reject(new Error("the connection broke, and what became of the program is not known")));
    return promise;
  }
}

function statusOf({ code, signal }: { code: number | null; signal: string | null }): number {
  return code ?? BY_SIGNAL + (constants.signals[signal as NodeJS.Signals] ?? constants.signals.SIGHUP);
}
