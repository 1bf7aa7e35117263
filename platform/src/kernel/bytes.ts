/** Bytes of any length that an operation takes or answers with as they are. They are never in memory as a whole. */

export interface IncomingBytes {
  /** As the client announced it. */
  readonly length: number;
  /** Yields exactly that many bytes, as fast as they are taken. Throws a problem if the client sends fewer, or stops sending. */
  read(): AsyncIterable<Uint8Array>;
}

export interface OutgoingBytes extends AsyncDisposable {
  readonly size: number;
  readonly modifiedAt: number;
  /** Another one whenever the bytes are others, with its quotation marks. */
  readonly etag: string;
  /** What else a client is told of them. */
  readonly headers: Readonly<Record<string, string>>;
  /** From `start` on, `end` included. */
  read(range: ByteRange): AsyncIterable<Uint8Array>;
}

/** Text of any length that is made while it is sent. */
export interface OutgoingText {
  readonly headers: Readonly<Record<string, string>>;
  /** What it throws before its first piece is still answered as a refusal. */
  read(): AsyncIterable<string>;
}

export interface ByteRange {
  start: number;
  end: number;
}
