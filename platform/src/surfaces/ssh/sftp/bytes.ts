/** Reads the bytes of a stream on demand, so that the sender waits until then. */
import type { Readable } from "node:stream";

export class Bytes {
  readonly #stream: Readable;
  #wake: () => void = () => {};

  constructor(stream: Readable) {
    this.#stream = stream;
    // Listens once, for the lifetime of the stream. A stream repeats its past events to every new listener.
    for (const event of ["readable", "end", "close", "error"]) stream.on(event, () => this.#wake());
  }

  /** Takes this many bytes; fewer only at the end of the stream. */
  async take(length: number): Promise<Buffer> {
    return (await this.#read(length)) ?? Buffer.alloc(0);
  }

  /** Takes whatever has arrived, or undefined at the end. */
  next(): Promise<Buffer | undefined> {
    return this.#read();
  }

  async #read(length?: number): Promise<Buffer | undefined> {
    for (;;) {
      const arrival = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const taken = this.#stream.read(length) as Buffer | null;
      if (taken) return taken;
      if (this.#stream.readableEnded || this.#stream.destroyed || this.#stream.errored) return undefined;
      await arrival;
    }
  }
}
