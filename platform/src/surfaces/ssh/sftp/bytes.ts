/** Bytes of a stream, taken when they are asked for: until then whoever sends them waits. */
import type { Readable } from "node:stream";

export class Bytes {
  readonly #stream: Readable;
  #wake: () => void = () => {};

  constructor(stream: Readable) {
    this.#stream = stream;
    // For as long as the stream is there: to whoever begins to listen it tells at once of what it told before, again and again.
    for (const event of ["readable", "end", "close", "error"]) stream.on(event, () => this.#wake());
  }

  /** So many; fewer at the end of the stream alone. */
  async take(length: number): Promise<Buffer> {
    return (await this.#read(length)) ?? Buffer.alloc(0);
  }

  /** Whatever has come; undefined at the end. */
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
