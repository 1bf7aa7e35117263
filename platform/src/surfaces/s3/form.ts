/** Reads an upload form (`multipart/form-data`) as it arrives: small fields first, then the file, never whole in memory. */
import { S3Refused } from "./refusals.ts";

export interface Form {
  /** By lowercase name. */
  fields: ReadonlyMap<string, string>;
  /** The client's name of the file, without folders. Empty if it sent none. */
  fileName: string;
  /** Must be read once and to its end, since only the end shows that the form is complete. Anything after the file is skipped, as in S3. */
  file: AsyncIterable<Buffer>;
}

/** S3's own limit for everything but the file. */
const MOST_BYTES = 20 * 1024;
const MOST_FIELDS = 100;
const LINE = Buffer.from("\r\n");
const HEAD_END = Buffer.from("\r\n\r\n");

export const isForm = (contentType: string | undefined) => /^multipart\/form-data\b/i.test(contentType ?? "");

export async function formFrom(contentType: string | undefined, body: AsyncIterable<Buffer>): Promise<Form> {
  const pieces = new Pieces(body);
  const mark = Buffer.from(`\r\n--${boundaryIn(contentType)}`);
  const fields = new Map<string, string>();
  let left = MOST_BYTES;
  const small = async (end: Buffer) => {
    const text = await pieces.textUpTo(end, left);
    left -= Buffer.byteLength(text) + end.length;
    return text;
  };
  await small(mark);
  for (;;) {
    if ((await small(LINE)).startsWith("--")) throw malformed("it has no field 'file'");
    const { name, fileName } = partIn(await small(HEAD_END));
    if (name === "file") return { fields, fileName, file: fileIn(pieces, mark) };
    if (fields.has(name)) throw malformed(`it has the field '${name}' more than once`);
    if (fields.size === MOST_FIELDS) throw malformed(`it has more than ${MOST_FIELDS} fields`);
    fields.set(name, await small(mark));
  }
}

async function* fileIn(pieces: Pieces, mark: Buffer): AsyncIterable<Buffer> {
  yield* pieces.upTo(mark);
  while (!(await pieces.startsWith("--"))) for await (const _ of pieces.upTo(mark));
  await pieces.end();
}

function boundaryIn(contentType = ""): string {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw malformed("its Content-Type names no boundary of up to 70 characters");
  return boundary;
}

function partIn(head: string): { name: string; fileName: string } {
  const said = /^content-disposition:(.*)$/im.exec(head)?.[1] ?? "";
  const name = parameterIn(said, "name");
  if (!name) throw malformed("a part of it has no name");
  const path = parameterIn(said, "filename") ?? "";
  return {
    name: name.toLowerCase(),
    fileName: path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1),
  };
}

function parameterIn(header: string, name: string): string | undefined {
  const [, quoted, plain] = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;"]+))`, "i").exec(header) ?? [];
  // Browsers and curl escape a quotation mark in one of these two ways.
  return quoted?.replace(/\\(["\\])/g, "$1").replaceAll("%22", '"') ?? plain;
}

const malformed = (why: string) => new S3Refused("MalformedPOSTRequest", `The form cannot be read: ${why}.`);

/** Reads a body up to one mark after another. */
class Pieces {
  readonly #source: AsyncIterator<Buffer>;
  // The first mark of a form has no line break before it, so one is added.
  #rest = LINE;

  constructor(body: AsyncIterable<Buffer>) {
    this.#source = body[Symbol.asyncIterator]();
  }

  /** Yields everything before the mark, and consumes the mark too. */
  async *upTo(mark: Buffer): AsyncIterable<Buffer> {
    for (;;) {
      const at = this.#rest.indexOf(mark);
      const sure = at === -1 ? Math.max(0, this.#rest.length - mark.length + 1) : at;
      const piece = this.#rest.subarray(0, sure);
      this.#rest = this.#rest.subarray(at === -1 ? sure : at + mark.length);
      if (piece.length > 0) yield piece;
      if (at !== -1) return;
      await this.#more();
    }
  }

  async textUpTo(mark: Buffer, most: number): Promise<string> {
    const pieces: Buffer[] = [];
    let length = 0;
    for await (const piece of this.upTo(mark)) {
      length += piece.length;
      if (length > most)
        throw new S3Refused(
          "MaxPostPreDataLengthExceeded",
          `The form has more than ${MOST_BYTES} bytes before its file, which must be its last field.`,
        );
      pieces.push(piece);
    }
    return Buffer.concat(pieces).toString();
  }

  async startsWith(text: string): Promise<boolean> {
    while (this.#rest.length < text.length) await this.#more();
    return this.#rest.subarray(0, text.length).toString() === text;
  }

  /** Skips the rest. */
  async end(): Promise<void> {
    while (!(await this.#source.next()).done);
  }

  async #more(): Promise<void> {
    const { value, done } = await this.#source.next();
    if (done) throw malformed("it ends before its last boundary");
    this.#rest = Buffer.concat([this.#rest, value]);
  }
}
