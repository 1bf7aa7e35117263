/** Metadata of a file (`x-amz-meta-…`), kept among the hidden files until the file's contents change. */
import type { FileFacts, FilePath, Files } from "../../ports/files/files.ts";
import { metadataPlace } from "../../ports/files/metadata.ts";
import type { S3Call } from "./call.ts";
import { S3Refused } from "./refusals.ts";
import { smallText } from "./small-text.ts";

/** By the name after `x-amz-meta-`. Values are as in headers, one character per byte. */
export type Metadata = ReadonlyMap<string, string>;

const PREFIX = "x-amz-meta-";
/** S3's own limit, for names and values together. */
const MOST_BYTES = 2048;
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** In JSON, each byte may take six characters, and the path twice that. */
const LONGEST_RECORD = 32 * 1024;

/** The metadata of a request: in its headers, or in the query of a presigned URL, where some clients put headers. */
export function metadataIn({ request, address }: S3Call): Metadata {
  const inQuery = [...address.query].map(([name, value]) => [name.toLowerCase(), latin(value)] as const);
  const inHeaders = Object.entries(request.headers).map(([name, value]) => [name, String(value ?? "")] as const);
  return metadataAmong([...inQuery, ...inHeaders]);
}

/** Picks the metadata from pairs of lowercase names and values as headers have them. */
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

/** Headers have one character per byte. */
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

/** Called after the file is stored. A reader in between sees a file without metadata. */
export async function keepMetadata(
  files: Files,
  path: FilePath,
  { tag }: FileFacts,
  metadata: Metadata,
): Promise<void> {
  if (metadata.size === 0) return;
  await using draft = await files.draft();
  await draft.write(Buffer.from(JSON.stringify({ tag, said: [...metadata] })));
  await draft.keep(metadataPlace(path), { hidden: true });
}

/** Returns the metadata only if it belongs to these contents. A program may have replaced them since. */
export async function metadataOf(files: Files, path: FilePath, { tag }: FileFacts): Promise<Metadata> {
  const text = await smallText(files, metadataPlace(path), LONGEST_RECORD);
  if (text === undefined) return new Map();
  try {
    const record = JSON.parse(text) as { tag?: unknown; said?: unknown };
    return (record.tag === tag && metadataFrom(record.said)) || new Map();
  } catch {
    return new Map();
  }
}

/** Undefined if this server would not have written it: programs write there too. */
export function metadataFrom(said: unknown): Metadata | undefined {
  if (!Array.isArray(said) || said.length > MOST_BYTES) return undefined;
  const isPair = (one: unknown) =>
    Array.isArray(one) && one.length === 2 && one.every((text) => typeof text === "string");
  if (!said.every(isPair)) return undefined;
  const metadata = new Map(said as [string, string][]);
  return isSayable(metadata) ? metadata : undefined;
}
