/** What clients say of a file beside its contents (`x-amz-meta-…`), kept among the hidden files until the contents change. */
import { hash } from "node:crypto";
import type { FileFacts, FilePath, Files } from "../../ports/files/files.ts";
import type { S3Call } from "./call.ts";
import { S3Refused } from "./refusals.ts";
import { smallText } from "./small-text.ts";

/** By the name behind `x-amz-meta-`; values as headers have them, a character for each byte. */
export type Metadata = ReadonlyMap<string, string>;

const PREFIX = "x-amz-meta-";
/** S3's own limit, of names and values together. */
const MOST_BYTES = 2048;
const FOLDER = "metadata";
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Each byte may take six characters to write, and the path twice that. */
const LONGEST_RECORD = 32 * 1024;

/** What a request says: in its headers, or in the query of a presigned URL, into which some clients move headers. */
export function metadataIn({ request, address }: S3Call): Metadata {
  const inQuery = [...address.query].map(([name, value]) => [name.toLowerCase(), latin(value)] as const);
  const inHeaders = Object.entries(request.headers).map(([name, value]) => [name, String(value ?? "")] as const);
  return metadataAmong([...inQuery, ...inHeaders]);
}

/** What names in small letters, each with a value as headers have them, say of a file. */
export function metadataAmong(words: readonly (readonly [name: string, value: string])[]): Metadata {
  const said = words.filter(([name]) => name.startsWith(PREFIX));
  const metadata = new Map(said.map(([name, value]) => [name.slice(PREFIX.length), value]));
  if (sizeOf(metadata) > MOST_BYTES)
    throw new S3Refused(
      "MetadataTooLarge",
      `The ${PREFIX} headers have ${sizeOf(metadata)} bytes; at most ${MOST_BYTES} are kept.`,
    );
  if (!isSayable(metadata))
    throw new S3Refused("InvalidArgument", `A ${PREFIX} name or value has characters that no header may have.`);
  return metadata;
}

/** Headers have a character for each byte. */
export const latin = (value: string) => Buffer.from(value).toString("latin1");

function sizeOf(metadata: Metadata): number {
  let size = 0;
  for (const [name, value] of metadata) size += name.length + value.length;
  return size;
}

const isSayable = (metadata: Metadata) =>
  [...metadata].every(([name, value]) => NAME.test(name) && VALUE.test(value)) && sizeOf(metadata) <= MOST_BYTES;

export const metadataHeaders = (metadata: Metadata): Record<string, string> =>
  Object.fromEntries([...metadata].map(([name, value]) => [`${PREFIX}${name}`, value]));

/** One for each path: a new file takes the place of what was said of the old one. */
const placeOf = (path: FilePath) => [FOLDER, hash("sha256", path.join("/"), "hex")];

/** After the file is there: whoever asks between the two reads a file without metadata. */
export async function keepMetadata(
  files: Files,
  path: FilePath,
  { tag }: FileFacts,
  metadata: Metadata,
): Promise<void> {
  if (metadata.size === 0) return;
  await using draft = await files.draft();
  await draft.write(Buffer.from(JSON.stringify({ tag, said: [...metadata] })));
  await draft.keep(placeOf(path), { hidden: true });
}

/** Of these contents and no others, which programs may have put there since. */
export async function metadataOf(files: Files, path: FilePath, { tag }: FileFacts): Promise<Metadata> {
  const text = await smallText(files, placeOf(path), LONGEST_RECORD);
  if (text === undefined) return new Map();
  try {
    const record = JSON.parse(text) as { tag?: unknown; said?: unknown };
    return (record.tag === tag && metadataFrom(record.said)) || new Map();
  } catch {
    return new Map();
  }
}

/** Undefined for what this server would not have written: programs write there too. */
export function metadataFrom(said: unknown): Metadata | undefined {
  if (!Array.isArray(said) || said.length > MOST_BYTES) return undefined;
  const isPair = (one: unknown) =>
    Array.isArray(one) && one.length === 2 && one.every((text) => typeof text === "string");
  if (!said.every(isPair)) return undefined;
  const metadata = new Map(said as [string, string][]);
  return isSayable(metadata) ? metadata : undefined;
}

export const forgetMetadata = (files: Files, path: FilePath): Promise<void> => files.hidden.remove(placeOf(path));
