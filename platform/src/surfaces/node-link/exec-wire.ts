/** The protocol of an execution between nodes: frames with a kind, a length and bytes, on one connection that has left HTTP. */
import type { Socket } from "node:net";
import { parseJsonText } from "../../kernel/json.ts";

const KINDS = [
  "begin",
  "began",
  "refused",
  "stdin",
  "stdout",
  "stderr",
  "end",
  "taken",
  "resize",
  "signal",
  "exit",
] as const;
export type Kind = (typeof KINDS)[number];
/** Tells about a program that has begun. A node of an earlier release sends nothing here, and can send signals. */
export type Began = { sendsSignals?: boolean };
export type Stream = "stdin" | "stdout" | "stderr";

const HEADER_BYTES = 5;
/** The request for a program may contain a long command and many variables. */
const LONGEST_FRAME = 4_194_304;
const LONGEST_PIECE = 32_768;
/**
 * How far a sender may be ahead of the reader of a stream. Each end reads everything at once, so that a signal never waits behind input
 * that the program does not take. This limits the bytes not taken yet.
 */
const WINDOW = 262_144;

/** One end of the connection. It reports frames in order; the socket reports its close. */
export class ExecWire {
  readonly #socket: Socket;
  readonly #sent: Record<Stream, { open: number; wake: () => void }> = {
    stdin: unsent(),
    stdout: unsent(),
    stderr: unsent(),
  };
  readonly #untaken: Record<Stream, number> = { stdin: 0, stdout: 0, stderr: 0 };

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.once("close", () => {
      for (const stream of Object.values(this.#sent)) stream.wake();
    });
  }

  /** Reads until the connection ends. Throws if bytes are no frame, or if a stream exceeds its window. */
  async read(hear: (kind: Kind, payload: Buffer) => void): Promise<void> {
    let rest: Buffer = Buffer.alloc(0);
    for await (const chunk of this.#socket as AsyncIterable<Buffer>) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      for (let length = lengthOf(rest); rest.length >= length; length = lengthOf(rest)) {
        this.#hear(KINDS[rest[0]!], rest.subarray(HEADER_BYTES, length), hear);
        rest = rest.subarray(length);
      }
    }
  }

  #hear(kind: Kind | undefined, payload: Buffer, hear: (kind: Kind, payload: Buffer) => void): void {
    if (kind === undefined) throw new Error("a frame of no kind");
    if (kind === "taken") {
      const { stream, bytes } = jsonIn(payload) as { stream: Stream; bytes: number };
      this.#sent[stream].open += bytes;
      this.#sent[stream].wake();
      return;
    }
    if (isStream(kind)) {
      this.#untaken[kind] += payload.length;
      if (this.#untaken[kind] > WINDOW) throw new Error(`more of ${kind} than was allowed`);
    }
    // The payload is copied, so that the buffer it arrived in can be freed.
    hear(kind, Buffer.from(payload));
  }

  send(kind: Kind, payload: object | Buffer = {}): void {
    const body = Buffer.isBuffer(payload) ? payload : Buffer.from(JSON.stringify(payload));
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt8(KINDS.indexOf(kind));
    header.writeUInt32BE(body.length, 1);
    if (this.#socket.writable) this.#socket.write(Buffer.concat([header, body]));
  }

  /** Sends bytes of a stream, and waits until the window allows it. */
  async sendOf(stream: Stream, chunk: Buffer): Promise<void> {
    const sent = this.#sent[stream];
    for (let rest = chunk; rest.length > 0 && this.#socket.writable; ) {
      const piece = rest.subarray(0, Math.min(LONGEST_PIECE, sent.open));
      if (piece.length === 0)
        await new Promise<void>((resolve) => {
          sent.wake = resolve;
        });
      else {
        sent.open -= piece.length;
        this.send(stream, piece);
        rest = rest.subarray(piece.length);
      }
    }
  }

  /** Tells the other end that the reader has taken this many bytes. */
  taken(stream: Stream, bytes: number): void {
    this.#untaken[stream] -= bytes;
    this.send("taken", { stream, bytes });
  }
}

const unsent = () => ({ open: WINDOW, wake: () => {} });

const isStream = (kind: Kind): kind is Stream => kind === "stdin" || kind === "stdout" || kind === "stderr";

/** The length of the next frame, or infinity if its header has not arrived yet. */
function lengthOf(bytes: Buffer): number {
  if (bytes.length < HEADER_BYTES) return Number.POSITIVE_INFINITY;
  const length = bytes.readUInt32BE(1);
  if (length > LONGEST_FRAME) throw new Error("a frame that is too long");
  return HEADER_BYTES + length;
}

export const jsonIn = (payload: Buffer): unknown => parseJsonText(payload.toString());
