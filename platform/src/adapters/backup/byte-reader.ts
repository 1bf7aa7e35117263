/** Reads a stream of bytes in pieces of a wanted length. A stream that ends early is refused. */

/** The file ends in the middle of something. */
export class EndedEarly extends Error {}

export class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** A line without its end, of at most `most` bytes. */
  async line(most: number): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf(10);
      if (end > most || (end < 0 && this.#rest.length > most)) throw new Error(`a line is longer than ${most} bytes`);
      if (end >= 0) return this.#cut(end + 1).toString("utf8", 0, end);
      if (!(await this.#more())) throw new EndedEarly("it ends in the middle of a line");
    }
  }

  /** The next bytes, in pieces as they come. The caller reads all of them before it reads anything else. */
  async *take(bytes: number): AsyncGenerator<Buffer> {
    for (let left = bytes; left > 0; ) {
      if (this.#rest.length === 0 && !(await this.#more())) throw new EndedEarly("it ends in the middle of a part");
      const piece = this.#cut(Math.min(left, this.#rest.length));
      left -= piece.length;
      yield piece;
    }
  }

  /** Everything that is left. */
  async *rest(): AsyncGenerator<Buffer> {
    do if (this.#rest.length > 0) yield this.#cut(this.#rest.length);
    while (await this.#more());
  }

  async isAtEnd(): Promise<boolean> {
    return this.#rest.length === 0 && !(await this.#more());
  }

  #cut(bytes: number): Buffer {
    const piece = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    return piece;
  }

  /** False at the end of the stream. */
  async #more(): Promise<boolean> {
    for (;;) {
      const { done, value } = await this.#source.next();
      if (done) return false;
      if (value.length === 0) continue;
      const piece = Buffer.from(value.buffer, value.byteOffset, value.length);
      this.#rest = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
      return true;
    }
  }
}
