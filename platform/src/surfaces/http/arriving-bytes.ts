/** The bytes of a body while they come in: put where they belong where its length is known, else gathered. */
import { turn } from "../../kernel/clock.ts";
import { MIB } from "../../kernel/operation.ts";

const COPIED_AT_ONCE = 16 * MIB;

/** As long as announced: each piece goes to its place as it comes, and none is in memory for a second time. */
export class FilledBody {
  readonly #bytes: Buffer;
  length = 0;

  constructor(announced: number) {
    this.#bytes = Buffer.allocUnsafeSlow(announced);
  }

  add(chunk: Buffer): void {
    chunk.copy(this.#bytes, this.length);
    this.length += chunk.length;
  }

  came(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  whole(): Buffer {
    return this.#bytes;
  }
}

export class GatheredBody {
  readonly #chunks: Buffer[] = [];
  length = 0;

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.length += chunk.length;
  }

  came(): Buffer {
    return Buffer.concat(this.#chunks, this.length);
  }

  whole(): Buffer | Promise<Buffer> {
    if (this.#chunks.length === 1) return this.#chunks[0]!;
    return this.length > COPIED_AT_ONCE ? this.#joined() : this.came();
  }

  /** Others go on in between: to copy 97 MB takes 50 ms. */
  async #joined(): Promise<Buffer> {
    const whole = Buffer.allocUnsafeSlow(this.length);
    let at = 0;
    let copied = 0;
    for (const chunk of this.#chunks) {
      chunk.copy(whole, at);
      at += chunk.length;
      copied += chunk.length;
      if (copied < COPIED_AT_ONCE) continue;
      copied = 0;
      await turn();
    }
    return whole;
  }
}
