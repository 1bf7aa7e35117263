/** A connection of several channels to a Pod, with back-pressure in both directions. */
import type { WebSocket } from "ws";
import { floating } from "../../kernel/floating.ts";

/** Pieces of this size keep one large write from filling the server's memory. */
const PIECE_BYTES = 32_768;
const CLOSE_CHANNEL = 255;

export class PodChannels {
  readonly #socket: WebSocket;
  /** How many readers have no room now. */
  #full = 0;

  /** Calls `heard` with each piece, and waits for the promise that it may return before it reads on. */
  constructor(
    socket: WebSocket,
    heard: (channel: number, piece: Buffer) => Promise<void> | undefined,
    closed: () => void,
  ) {
    this.#socket = socket;
    let busy: Promise<void> = Promise.resolve();
    socket.on("message", (data: Buffer) => {
      const waiting = heard(data[0]!, data.subarray(1));
      if (!waiting) return;
      this.#full += 1;
      socket.pause();
      busy = waiting.then(() => {
        this.#full -= 1;
        if (this.#full === 0 && socket.readyState === socket.OPEN) socket.resume();
      });
    });
    // What was heard before the end is delivered first.
    socket.on("close", () => floating(busy.then(closed), closed));
    socket.resume();
  }

  /** Calls back when the network has taken the last piece. */
  send(channel: number, bytes: Buffer, done: (error?: Error | null) => void): void {
    const piece = bytes.subarray(0, PIECE_BYTES);
    const rest = bytes.subarray(PIECE_BYTES);
    const sent = (error?: Error | null) => (error || rest.length === 0 ? done(error) : this.send(channel, rest, done));
    if (this.#socket.readyState !== this.#socket.OPEN) {
      done(new Error("the connection to the Pod is closed"));
      return;
    }
    this.#socket.send(Buffer.concat([Buffer.from([channel]), piece]), { binary: true }, sent);
  }

  /** Ends one channel and leaves the others open. Only newer protocols can. */
  end(channel: number, done: (error?: Error | null) => void): void {
    if (this.#socket.readyState !== this.#socket.OPEN) done();
    else this.#socket.send(Buffer.from([CLOSE_CHANNEL, channel]), { binary: true }, () => done());
  }

  /** Ends the connection without waiting for the other side. */
  terminate(): void {
    this.#socket.terminate();
  }
}
