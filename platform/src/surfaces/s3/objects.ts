/** What S3 clients ask of one object: read it, put it there, copy it, delete it. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { timestamp } from "../../kernel/clock.ts";
import type { FileFacts, FilePath, Files, OpenedFile } from "../../ports/files/files.ts";
import { FileRefused } from "../../ports/files/files.ts";
import { writeHead } from "../http/head.ts";
import { addressOf, type ObjectPath, pathOf } from "./address.ts";
import { type Answer, type S3Call, xmlAnswer } from "./call.ts";
import { forgetMetadata, keepMetadata, type Metadata, metadataHeaders, metadataIn, metadataOf } from "./metadata.ts";
import { S3Refused } from "./refusals.ts";

/** Never a digest of the contents, which the dash says: programs change files without telling. */
export const etagOf = ({ tag }: FileFacts) => `"${tag}-1"`;

const noSuchKey = (key: string) => new S3Refused("NoSuchKey", "There is no file at this key.", { Key: key });

/** With its body, or without for HEAD. */
export async function getObject(call: S3Call, files: Files): Promise<Answer | undefined> {
  const path = pathOf(call.address.key);
  if (path.isFolder) return getFolder(call, files, path);
  await using opened = await files.open(path.names);
  if (!opened) throw noSuchKey(call.address.key);
  const { facts } = opened;
  refuseUnmet(call, facts);
  const range = rangeIn(call.header("range"), facts.size);
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

/** A folder is an object without contents, so that clients which make one find it again. */
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
    // What programs wrote is shown to browsers on the server's own host: it must not act there.
    "Content-Security-Policy": "sandbox",
    "X-Content-Type-Options": "nosniff",
  };
}

/** What the caller wants to read in a header of the answer. */
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
  {
    status,
    headers,
    range,
  }: { status: number; headers: Record<string, string>; range: { start: number; end: number } },
): Promise<void> {
  reply.code(status);
  writeHead(reply.raw, status, { ...reply.headers, ...headers });
  // A file that became shorter meanwhile ends too early, and Node breaks the connection off: no client takes it for whole.
  const body =
    range.end < range.start
      ? Readable.from([])
      : Readable.from(opened.read(range), { objectMode: false, highWaterMark: 0 });
  await pipeline(body, reply.raw);
}

/** RFC 9110's form: `Mon, 16 Nov 2026 09:30:00 GMT`. */
function httpDate(ms: number): string {
  const [, year, month, day, time] = /^(\d{4})-(\d{2})-(\d{2})T([\d:]{8})/.exec(timestamp(ms))!;
  const weekday = WEEKDAYS[(Math.floor(ms / 86_400_000) + 4) % 7];
  return `${weekday}, ${day} ${MONTHS[Number(month) - 1]} ${year} ${time} GMT`;
}

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** RFC 9110's order: a tag decides before a time does. */
function refuseUnmet(call: S3Call, facts: FileFacts): void {
  const match = call.header("if-match");
  const none = call.header("if-none-match");
  const isOlder = (name: string) =>
    timeIn(call.header(name)) !== undefined && Math.floor(facts.modifiedAt / 1000) <= timeIn(call.header(name))!;
  if (
    match !== undefined
      ? !names(match, facts)
      : call.header("if-unmodified-since") !== undefined && !isOlder("if-unmodified-since")
  )
    throw new S3Refused("PreconditionFailed", "The file is not the one that the condition names.");
  if (none !== undefined ? names(none, facts) : isOlder("if-modified-since"))
    throw new S3Refused("NotModified", "The file has not changed.", { ETag: etagOf(facts) });
}

const names = (condition: string, facts: FileFacts) =>
  condition.trim() === "*" ||
  condition
    .split(",")
    .some((tag) => tag.trim().replace(/^W\//, "").replaceAll('"', "") === etagOf(facts).replaceAll('"', ""));

/** In seconds; undefined for what is no time, which counts as not said. */
function timeIn(text: string | undefined): number | undefined {
  const [, day, month, year, time] = /^\w{3}, (\d{2}) (\w{3}) (\d{4}) ([\d:]{8}) GMT$/.exec(text ?? "") ?? [];
  const at = MONTHS.indexOf(month ?? "");
  if (at === -1) return undefined;
  const [hours = 0, minutes = 0, seconds = 0] = time!.split(":").map(Number);
  return Date.UTC(Number(year), at, Number(day), hours, minutes, seconds) / 1000;
}

/** One range; several, and what is none, are answered with the whole. */
function rangeIn(text: string | undefined, size: number): { start: number; end: number } | undefined {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(text ?? "") ?? [];
  if (first === undefined || last === undefined || (first === "" && last === "")) return undefined;
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (start > end || (first === "" && Number(last) === 0))
    throw new S3Refused("InvalidRange", `The file has ${size} bytes, and the range is not within them.`, {
      ActualObjectSize: String(size),
    });
  return { start, end };
}

export async function putObject(call: S3Call, files: Files): Promise<Answer> {
  const { key } = call.address;
  const { names: path, isFolder } = pathOf(key);
  const ifAbsent = call.header("if-none-match")?.trim() === "*";
  const match = call.header("if-match");
  if (match !== undefined && !isFolder) {
    const before = await files.find(path);
    if (!before || !names(match, before))
      throw new S3Refused("PreconditionFailed", "The file is not the one that the condition names.");
  }
  return { headers: { ETag: await storeObject(files, key, call.body(), metadataIn(call), { ifAbsent }) } };
}

/** A whole file in its place with what is said of it, or nothing; resolves with its ETag. */
export async function storeObject(
  files: Files,
  key: string,
  contents: AsyncIterable<Buffer>,
  metadata: Metadata,
  { ifAbsent = false } = {},
): Promise<string> {
  const { names: path, isFolder } = pathOf(key);
  if (isFolder) return storeFolder(files, path, contents);
  await using draft = await files.draft();
  for await (const chunk of contents) await draft.write(chunk);
  try {
    const facts = await draft.keep(path, { ifAbsent });
    await keepMetadata(files, path, facts, metadata);
    return etagOf(facts);
  } catch (error) {
    if (ifAbsent && error instanceof FileRefused && error.reason === "taken")
      throw new S3Refused("PreconditionFailed", "There is something at this key already.");
    throw error;
  }
}

async function storeFolder(files: Files, path: string[], contents: AsyncIterable<Buffer>): Promise<string> {
  for await (const chunk of contents)
    if (chunk.length > 0)
      throw new S3Refused("InvalidArgument", "A key that ends with a slash is a folder, which has no contents.");
  return etagOf(await files.makeFolder(path));
}

export async function removeObject(files: Files, path: FilePath): Promise<void> {
  await files.remove(path);
  await forgetMetadata(files, path);
}

/** Files have none; clients ask before they copy. */
export async function objectTags(call: S3Call, files: Files): Promise<Answer> {
  if (!(await files.find(pathOf(call.address.key).names))) throw noSuchKey(call.address.key);
  return xmlAnswer("Tagging", { TagSet: "" });
}

export async function deleteObject(call: S3Call, files: Files): Promise<Answer> {
  await removeObject(files, pathOf(call.address.key).names);
  return { status: 204 };
}

/** The file that `x-amz-copy-source` names, of any bucket of the account. */
export async function openSource(call: S3Call): Promise<Source> {
  const source = call.header("x-amz-copy-source") ?? "";
  const { bucket, key } = addressOf(`/s3/${source.replace(/^\//, "")}`, undefined, undefined);
  if (!bucket || key === "") throw new S3Refused("InvalidArgument", "'x-amz-copy-source' must be <bucket>/<key>.");
  const files = call.filesIn(await call.bucket(bucket, { anywhere: true }));
  const path = pathOf(key).names;
  const opened = await files.open(path);
  if (!opened) throw noSuchKey(key);
  const isItself = bucket === call.address.bucket && key === call.address.key;
  return { opened, isItself, metadata: () => metadataOf(files, path, opened.facts) };
}

interface Source {
  opened: OpenedFile;
  /** It is copied to where it is. */
  isItself: boolean;
  metadata(): Promise<Metadata>;
}

export async function copyObject(call: S3Call, files: Files): Promise<Answer> {
  const { names: path } = pathOf(call.address.key);
  const source = await openSource(call);
  await using opened = source.opened;
  const isReplaced = call.header("x-amz-metadata-directive")?.toUpperCase() === "REPLACE";
  const metadata = isReplaced ? metadataIn(call) : await source.metadata();
  // So clients change what is said of a file, however large it is.
  const facts = source.isItself ? opened.facts : await copied(call, files, path, opened);
  if (metadata.size === 0) await forgetMetadata(files, path);
  else await keepMetadata(files, path, facts, metadata);
  return xmlAnswer("CopyObjectResult", { ETag: etagOf(facts), LastModified: timestamp(facts.modifiedAt) });
}

async function copied(call: S3Call, files: Files, path: FilePath, opened: OpenedFile): Promise<FileFacts> {
  await using draft = await files.draft();
  for await (const chunk of opened.read()) {
    if (call.isGone) throw new S3Refused("RequestTimeout", "The client went away.");
    await draft.write(chunk);
  }
  return await draft.keep(path);
}
