/** Encrypts a backup as an age file (age-encryption.org/v1), which `age` itself can open too. */
import { Readable } from "node:stream";
import type { ReadableStream as Web } from "node:stream/web";
import { Decrypter, Encrypter } from "age-encryption";
import { NoBackup } from "./archive.ts";

/** How a backup is closed: with a passphrase, or for the holders of keys. */
export type Seal = { passphrase: string } | { recipients: readonly string[] };
/** What may open it. */
export interface Openers {
  passphrase?: string | undefined;
  /** The text of files as `age-keygen` writes them. */
  identities?: readonly string[];
}

const FIRST_BYTES = "age-encryption.org/v1\n";
const PIECE_BYTES = 65_536;

export async function sealed(bytes: AsyncIterable<Uint8Array>, seal: Seal): Promise<AsyncIterable<Uint8Array>> {
  const encrypter = new Encrypter();
  if ("passphrase" in seal) encrypter.setPassphrase(seal.passphrase);
  else
    for (const recipient of seal.recipients) {
      try {
        encrypter.addRecipient(recipient);
      } catch (cause) {
        throw new Error(`'${recipient}' is no recipient such as age1…: 'age-keygen -y KEYFILE' prints one`, { cause });
      }
    }
  return encrypter.encrypt(webStream(bytes));
}

/** Opens the file if it is encrypted. Otherwise it is passed on as it is, unless a key was named: then anybody could have put it in place. */
export async function unsealed(
  bytes: AsyncIterable<Uint8Array>,
  { passphrase, identities = [] }: Openers,
): Promise<AsyncIterable<Uint8Array>> {
  const pieces = bytes[Symbol.asyncIterator]();
  const first = await beginning(pieces);
  const whole = continued(first, pieces);
  const hasKey = passphrase !== undefined || identities.length > 0;
  if (!first.toString("latin1").startsWith(FIRST_BYTES)) {
    if (!hasKey) return whole;
    throw new Error("it is not encrypted: leave out --passphrase-file and --identity if you know that it is yours");
  }
  const decrypter = new Decrypter();
  if (passphrase !== undefined) decrypter.addPassphrase(passphrase);
  for (const text of identities) for (const identity of secretKeys(text)) decrypter.addIdentity(identity);
  if (!hasKey) throw new Error("it is encrypted: name --passphrase-file, or --identity with the file of an age key");
  try {
    return verified(await decrypter.decrypt(webStream(whole)));
  } catch (cause) {
    const isOther = /no identity matched/.test((cause as Error).message);
    throw isOther
      ? new Error("it is encrypted, and not for this passphrase or key", { cause })
      : new NoBackup(`the beginning of its encryption is damaged (${(cause as Error).message})`, { cause });
  }
}

async function* verified(plain: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* plain;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== undefined) throw cause;
    throw new NoBackup("it is cut or changed: its encryption does not fit", { cause });
  }
}

function secretKeys(text: string): string[] {
  const keys = text.split("\n").filter((line) => /^AGE-SECRET-KEY-/i.test(line));
  if (keys.length === 0) throw new Error("the file of --identity holds no line AGE-SECRET-KEY-…");
  return keys.map((key) => key.trim());
}

/** At least as many bytes as tell an encrypted file, if there are so many. */
async function beginning(pieces: AsyncIterator<Uint8Array>): Promise<Buffer> {
  let first = Buffer.alloc(0);
  while (first.length < FIRST_BYTES.length) {
    const { done, value } = await pieces.next();
    if (done) break;
    first = Buffer.concat([first, value]);
  }
  return first;
}

async function* continued(first: Uint8Array, pieces: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* { [Symbol.asyncIterator]: () => pieces };
}

const webStream = (bytes: AsyncIterable<Uint8Array>) =>
  Readable.toWeb(Readable.from(bytes, { objectMode: false, highWaterMark: PIECE_BYTES })) as Web<Uint8Array> &
    ReadableStream<Uint8Array>;
