/** How an execution travels between nodes: frames of a kind, a length and bytes, on one connection that has left HTTP. */
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
/** What is told of a program that has begun; a node of an earlier release says nothing, and sends signals. */
export type Began = { sendsSignals?: boolean };
export type Stream = "stdin" | "stdout" | "stderr";

const HEADER_BYTES = 5;
/** What is asked for may come with a long command and many variables. */
const LONGEST_FRAME = 4_194_304;
const LONGEST_PIECE = 32_768;
/**
 * How far a stream may be ahead of who reads it. Each end reads all that comes at once, so that a signal never waits behind input that the
 * program does not take; what is not taken yet is bounded by this.
 */
const WINDOW = 262_144;

/** One end of it. What it hears is told in order; its close is told by the socket. */
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

  /** Reads until the connection ends. Throws at what is no frame, or more of a stream than was allowed. */
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
    // Of its own, since the rest of what came with it is let go of.
    hear(kind, Buffer.from(payload));
  }

  send(kind: Kind, payload: object | Buffer = {}): void {
    const body = Buffer.isBuffer(payload) ? payload : Buffer.from(JSON.stringify(payload));
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt8(KINDS.indexOf(kind));
    header.writeUInt32BE(body.length, 1);
    if (this.#socket.writable) this.#socket.write(Buffer.concat([header, body]));
  }

  /** Waits until as much of it may be sent. */
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

  /** Who reads a stream has taken so much of it. */
  taken(stream: Stream, bytes: number): void {
    this.#untaken[stream] -= bytes;
    this.send("taken", { stream, bytes });
  }
}

const unsent = () => ({ open: WINDOW, wake: () => {} });

const isStream = (kind: Kind): kind is Stream => kind === "stdin" || kind === "stdout" || kind === "stderr";

/** Of the frame that begins there; more than there is when that cannot be said yet. */
function lengthOf(bytes: Buffer): number {
  if (bytes.length < HEADER_BYTES) return Number.POSITIVE_INFINITY;
  const length = bytes.readUInt32BE(1);
  if (length > LONGEST_FRAME) throw new Error("a frame that is too long");
  return HEADER_BYTES + length;
}

export const jsonIn = (payload: Buffer): unknown => parseJsonText(payload.toString());
