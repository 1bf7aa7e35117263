/** Operations of S3 clients on one object: read, store, copy, delete. */
import type { ByteRange } from "../../kernel/bytes.ts";
import { timestamp } from "../../kernel/clock.ts";
import type { Draft, FileFacts, FilePath, Files, OpenedFile } from "../../ports/files/files.ts";
import { etagOf, FileRefused } from "../../ports/files/files.ts";
import { forgetMetadata } from "../../ports/files/metadata.ts";
import { streamTo } from "../http/bytes.ts";
import { httpDate, namesTag, rangeIn, unmetIn } from "../http/conditions.ts";
import { writeHead } from "../http/head.ts";
import { addressOf, type ObjectPath, pathOf } from "./address.ts";
import { type Answer, type S3Call, xmlAnswer } from "./call.ts";
import { keepInTouch } from "./long-answer.ts";
import { keepMetadata, type Metadata, metadataHeaders, metadataIn, metadataOf } from "./metadata.ts";
import { S3Refused } from "./refusals.ts";

const noSuchKey = (key: string) => new S3Refused("NoSuchKey", "There is no file at this key.", { Key: key });

/** Sends the object, without its body for HEAD. */
export async function getObject(call: S3Call, files: Files): Promise<Answer | undefined> {
  const path = pathOf(call.address.key);
  if (path.isFolder) return getFolder(call, files, path);
  await using opened = await files.open(path.names);
  if (!opened) throw noSuchKey(call.address.key);
  const { facts } = opened;
  refuseUnmet(call, facts);
  const range = rangeOf(call, facts);
  const length = range ? range.end - range.start + 1 : facts.size;
  const headers = {
    ...headersOf(call, facts),
    ...metadataHeaders(await metadataOf(files, path.names, facts)),
    "Content-Length": String(length),
    ...(range && { "Content-Range": `bytes ${range.start}-${range.end}/${facts.size}` }),
  };
  const status = range ? 206 : 200;
  if (call.request.method === "HEAD") return { status, headers };
  await send(call, opened, { status, headers, range: range ?? { start: 0, end: facts.size - 1 } });
  return undefined;
}

/** A folder is an object without contents, so that clients find a folder again that they made. */
async function getFolder(call: S3Call, files: Files, { names }: ObjectPath): Promise<Answer> {
  const facts = await files.find(names);
  if (facts?.kind !== "folder") throw noSuchKey(call.address.key);
  refuseUnmet(call, facts);
  return { headers: { ...headersOf(call, facts), "Content-Type": "application/x-directory", "Content-Length": "0" } };
}

function headersOf(call: S3Call, facts: FileFacts): Record<string, string> {
  const type = headerAsked(call, "response-content-type");
  const disposition = headerAsked(call, "response-content-disposition");
  return {
    ETag: etagOf(facts),
    "Last-Modified": httpDate(facts.modifiedAt),
    "Accept-Ranges": "bytes",
    "Content-Type": type ?? "binary/octet-stream",
    ...(disposition !== undefined && { "Content-Disposition": disposition }),
    // Browsers show these files on the server's own host. What programs wrote must not run there.
    "Content-Security-Policy": "sandbox",
    "X-Content-Type-Options": "nosniff",
  };
}

/** The header value that the caller wants in the answer. */
function headerAsked(call: S3Call, name: string): string | undefined {
  const value = call.word(name);
  if (value !== undefined && !/^[\t\x20-\x7e\x80-\xff]{0,1024}$/.test(value))
    throw new S3Refused(
      "InvalidArgument",
      `'${name}' cannot be a header: it takes up to 1024 characters of ISO-8859-1, and no line breaks.`,
    );
  return value;
}

async function send(
  { reply }: S3Call,
  opened: OpenedFile,
  { status, headers, range }: { status: number; headers: Record<string, string>; range: ByteRange },
): Promise<void> {
  reply.code(status);
  writeHead(reply.raw, status, { ...reply.headers, ...headers });
  await streamTo(reply.raw, opened, range);
}

function refuseUnmet({ request }: S3Call, facts: FileFacts): void {
  const unmet = unmetIn(request.headers, taggedBy(facts));
  if (unmet === "failed")
    throw new S3Refused("PreconditionFailed", "The file is not the one that the condition names.");
  if (unmet === "unchanged") throw new S3Refused("NotModified", "The file has not changed.", { ETag: etagOf(facts) });
}

const taggedBy = (facts: FileFacts) => ({ etag: etagOf(facts), modifiedAt: facts.modifiedAt });

function rangeOf({ request }: S3Call, facts: FileFacts): ByteRange | undefined {
  const range = rangeIn(request.headers, facts.size, taggedBy(facts));
  if (range === "outside")
    throw new S3Refused("InvalidRange", `The file has ${facts.size} bytes, and the range is not within them.`, {
      ActualObjectSize: String(facts.size),
    });
  return range;
}

/** What a request demands of the file that it is about to replace or delete. */
export interface Demands {
  ifAbsent?: boolean;
  match?: string | undefined;
}

export function demandsOf(call: S3Call): Demands {
  const none = call.header("if-none-match")?.trim();
  if (none !== undefined && none !== "*")
    throw new S3Refused("NotImplemented", "'If-None-Match' takes only * where something is stored.");
  return { ifAbsent: none === "*", match: call.header("if-match") };
}

async function refuseOther(files: Files, path: FilePath, { match }: Demands): Promise<void> {
  if (match === undefined) return;
  const there = await files.find(path);
  if (!there || !namesTag(match, etagOf(there)))
    throw new S3Refused("PreconditionFailed", "The file is not the one that the condition names.");
}

export async function putObject(call: S3Call, files: Files): Promise<Answer> {
  const { key } = call.address;
  const { names: path, isFolder } = pathOf(key);
  const demands = demandsOf(call);
  if (!isFolder) await refuseOther(files, path, demands);
  return { headers: { ETag: await storeObject(files, key, call.body(), metadataIn(call), demands) } };
}

/** Stores a whole file with its metadata, or nothing. Resolves with its ETag. */
export async function storeObject(
  files: Files,
  key: string,
  contents: AsyncIterable<Buffer>,
  metadata: Metadata,
  demands: Demands = {},
): Promise<string> {
  const { names: path, isFolder } = pathOf(key);
  if (isFolder) return etagOf(await storeFolder(files, path, contents));
  await using draft = await files.draft();
  for await (const chunk of contents) await draft.write(chunk);
  const facts = await keepWhere(files, draft, path, demands);
  await keepMetadata(files, path, facts, metadata);
  return etagOf(facts);
}

/** Puts a draft in its place if the demands hold now, because the file there may have changed while the draft was written. */
export async function keepWhere(files: Files, draft: Draft, path: FilePath, demands: Demands): Promise<FileFacts> {
  await refuseOther(files, path, demands);
  const { ifAbsent = false } = demands;
  try {
    return await draft.keep(path, { ifAbsent });
  } catch (error) {
    if (ifAbsent && error instanceof FileRefused && error.reason === "taken")
      throw new S3Refused("PreconditionFailed", "There is something at this key already.");
    throw error;
  }
}

async function storeFolder(files: Files, path: string[], contents: AsyncIterable<Buffer>): Promise<FileFacts> {
  for await (const chunk of contents)
    if (chunk.length > 0)
      throw new S3Refused("InvalidArgument", "A key that ends with a slash is a folder, which has no contents.");
  return files.makeFolder(path);
}

/** A key of a folder removes no file of that name, and a key of a file no folder. */
export async function removeObject(files: Files, { names, isFolder }: ObjectPath): Promise<void> {
  const there = await files.find(names);
  if (there && (there.kind === "folder") !== isFolder) return;
  await files.remove(names);
  if (!isFolder) await forgetMetadata(files, names);
}

/** Files have no tags, but clients ask before they copy. */
export async function objectTags(call: S3Call, files: Files): Promise<Answer> {
  if (!(await files.find(pathOf(call.address.key).names))) throw noSuchKey(call.address.key);
  return xmlAnswer("Tagging", { TagSet: "" });
}

export async function deleteObject(call: S3Call, files: Files): Promise<Answer> {
  const path = pathOf(call.address.key);
  await refuseOther(files, path.names, { match: call.header("if-match") });
  await removeObject(files, path);
  return { status: 204 };
}

/** Opens the file that `x-amz-copy-source` names, in any bucket of the account. */
export async function openSource(call: S3Call): Promise<Source> {
  const source = call.header("x-amz-copy-source") ?? "";
  const { bucket, key } = addressOf(`/s3/${source.replace(/^\//, "")}`, undefined, undefined);
  if (!bucket || key === "") throw new S3Refused("InvalidArgument", "'x-amz-copy-source' must be <bucket>/<key>.");
  const files = call.filesIn(await call.bucket(bucket, { anywhere: true }));
  const path = pathOf(key).names;
  const opened = await files.open(path);
  if (!opened) throw noSuchKey(key);
  if (unmetIn(sourceConditions(call), taggedBy(opened.facts)) !== undefined) {
    await opened[Symbol.asyncDispose]();
    throw new S3Refused("PreconditionFailed", "The file to copy is not the one that the condition names.");
  }
  const isItself = bucket === call.address.bucket && key === call.address.key;
  return { opened, isItself, metadata: () => metadataOf(files, path, opened.facts) };
}

const sourceConditions = (call: S3Call) => ({
  "if-match": call.header("x-amz-copy-source-if-match"),
  "if-none-match": call.header("x-amz-copy-source-if-none-match"),
  "if-modified-since": call.header("x-amz-copy-source-if-modified-since"),
  "if-unmodified-since": call.header("x-amz-copy-source-if-unmodified-since"),
});

interface Source {
  opened: OpenedFile;
  /** The source is also the target. */
  isItself: boolean;
  metadata(): Promise<Metadata>;
}

export async function copyObject(call: S3Call, files: Files): Promise<Answer> {
  const { names: path, isFolder } = pathOf(call.address.key);
  const demands = demandsOf(call);
  await refuseOther(files, path, demands);
  const source = await openSource(call);
  await using opened = source.opened;
  if (isFolder) return copyAnswer(await storeFolder(files, path, opened.read()));
  const isReplaced = call.header("x-amz-metadata-directive")?.toUpperCase() === "REPLACE";
  const metadata = isReplaced ? metadataIn(call) : await source.metadata();
  // Copying a file to itself changes only its metadata, however large it is.
  const facts = source.isItself ? opened.facts : await copied(call, files, { path, demands }, opened);
  if (metadata.size === 0) await forgetMetadata(files, path);
  else await keepMetadata(files, path, facts, metadata);
  return copyAnswer(facts);
}

const copyAnswer = (facts: FileFacts): Answer =>
  xmlAnswer("CopyObjectResult", { ETag: etagOf(facts), LastModified: timestamp(facts.modifiedAt) });

async function copied(
  call: S3Call,
  files: Files,
  { path, demands }: { path: FilePath; demands: Demands },
  opened: OpenedFile,
): Promise<FileFacts> {
  using _touch = keepInTouch(call);
  await using draft = await files.draft();
  for await (const chunk of opened.read()) {
    if (call.isGone) throw new S3Refused("RequestTimeout", "The client went away.");
    await draft.write(chunk);
  }
  return await keepWhere(files, draft, path, demands);
}
