/** Collects the bytes of a request body: into one buffer where its length is known, into a list of chunks otherwise. */
import { turn } from "../../kernel/clock.ts";
import { MIB } from "../../kernel/operation.ts";

const COPIED_AT_ONCE = 16 * MIB;

/** A body of known length. Each piece is copied to its place as it arrives, so the body is never in memory twice. */
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

  /** Yields to other work between the pieces: copying 97 MB takes 50 ms. */
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
