/** Uploads in parts: kept among the volume's hidden files until they are completed (completing.ts), aborted, or too old. */
import { parseTimestamp, timestamp } from "../../kernel/clock.ts";
import { resourceId } from "../../kernel/ids.ts";
import { etagOf, type FileFacts, type FilePath, type Files, type Listing } from "../../ports/files/files.ts";
import { pathOf } from "./address.ts";
import { type Answer, numberIn, type S3Call, xmlAnswer } from "./call.ts";
import { keepInTouch } from "./long-answer.ts";
import { type Metadata, metadataFrom, metadataIn } from "./metadata.ts";
import { openSource } from "./objects.ts";
import { S3Refused } from "./refusals.ts";
import { smallText } from "./small-text.ts";
import { shownKey, type Xml } from "./xml.ts";

export const UPLOADS = "uploads";
/** What was completed, for clients whose answer was lost. The sweep of uploads removes it after a day. */
export const COMPLETED = "completed";
const ABOUT = "about.json";
const MOST_PARTS = 10_000;
const MOST_SHOWN = 1000;
const DAY_MS = 86_400_000;
const KEPT_DAYS = 7;
const ID = /^[a-z0-9]{28}$/;
export const isUploadId = (text = ""): text is string => ID.test(text);

const LONGEST_ABOUT = 32 * 1024;
/** A sweep removes at most this many files, and leaves the rest to the next one. */
const MOST_SWEPT = 10_000;

interface About {
  key: string;
  startedAt: number;
  metadata: Metadata;
}

export async function createUpload(call: S3Call, files: Files): Promise<Answer> {
  const { random, clock } = call.parts;
  const { key, bucket } = call.address;
  if (pathOf(key).isFolder) throw new S3Refused("InvalidArgument", "A folder has no contents to upload.");
  await sweep(files, call.parts);
  const id = `${resourceId(random)}${resourceId(random)}`;
  await using draft = await files.draft();
  const metadata = metadataIn(call);
  await draft.write(Buffer.from(JSON.stringify({ key, startedAt: clock.now(), metadata: [...metadata] })));
  await draft.keep([UPLOADS, id, ABOUT], { hidden: true });
  return xmlAnswer("InitiateMultipartUploadResult", { Bucket: bucket, Key: shownKey(key, undefined), UploadId: id });
}

export async function uploadPart(call: S3Call, files: Files): Promise<Answer> {
  const number = partNumber(call.word("partNumber"));
  const id = await idOf(call, files);
  await using draft = await files.draft();
  const isCopy = call.header("x-amz-copy-source") !== undefined;
  if (isCopy) await copyInto(call, draft);
  else for await (const chunk of call.body()) await draft.write(chunk);
  // The upload may have been completed or aborted meanwhile. The part would then be left behind.
  await idOf(call, files);
  const facts = await draft.keep([UPLOADS, id, partName(number)], { hidden: true });
  if (!isCopy) return { headers: { ETag: etagOf(facts) } };
  return xmlAnswer("CopyPartResult", { ETag: etagOf(facts), LastModified: timestamp(facts.modifiedAt) });
}

async function copyInto(call: S3Call, draft: { write(chunk: Uint8Array): Promise<void> }): Promise<void> {
  using _touch = keepInTouch(call);
  await using source = (await openSource(call)).opened;
  const asked = call.header("x-amz-copy-source-range");
  const [, start, end] = /^bytes=(\d{1,16})-(\d{1,16})$/.exec(asked ?? "") ?? [];
  if (asked !== undefined && (start === undefined || Number(end) >= source.facts.size || Number(start) > Number(end)))
    throw new S3Refused(
      "InvalidRange",
      `'x-amz-copy-source-range' must be bytes=<first>-<last> within the ${source.facts.size} bytes of the file.`,
    );
  for await (const chunk of source.read(start === undefined ? undefined : { start: Number(start), end: Number(end) })) {
    if (call.isGone) throw new S3Refused("RequestTimeout", "The client went away.");
    await draft.write(chunk);
  }
}

export async function listParts(call: S3Call, files: Files): Promise<Answer> {
  const id = await idOf(call, files);
  const most = numberIn(call, "max-parts", MOST_SHOWN, [0, MOST_SHOWN]);
  const marker = numberIn(call, "part-number-marker", 0, [0, MOST_PARTS]);
  const parts = (await partsOf(files, id)).filter(({ number }) => number > marker);
  const shown = parts.slice(0, most);
  const isTruncated = parts.length > shown.length;
  return xmlAnswer("ListPartsResult", {
    ...{ Bucket: call.address.bucket, Key: shownKey(call.address.key, undefined), UploadId: id },
    ...{ PartNumberMarker: marker, MaxParts: most, IsTruncated: isTruncated, StorageClass: "STANDARD" },
    ...(isTruncated && { NextPartNumberMarker: shown.at(-1)?.number ?? marker }),
    Part: shown.map(({ number, facts }) => ({
      ...{ PartNumber: number, LastModified: timestamp(facts.modifiedAt), ETag: etagOf(facts), Size: facts.size },
    })),
  });
}

export async function abortUpload(call: S3Call, files: Files): Promise<Answer> {
  await removeUpload(files, await idOf(call, files));
  return { status: 204 };
}

export async function listUploads(call: S3Call, files: Files): Promise<Answer> {
  await sweep(files, call.parts);
  const most = numberIn(call, "max-uploads", MOST_SHOWN, [1, MOST_SHOWN]);
  const prefix = call.word("prefix") ?? "";
  const ids = (await files.hidden.list([UPLOADS], { after: marked(call), most: most + 1 })) ?? [];
  const uploads: Xml[] = [];
  for (const { name: id } of ids.slice(0, most)) {
    const about = isUploadId(id) ? await aboutOf(files, id) : undefined;
    if (about?.key.startsWith(prefix))
      uploads.push({
        Key: shownKey(about.key, call.word("encoding-type")),
        UploadId: id,
        Initiated: timestamp(about.startedAt),
      });
  }
  const isTruncated = ids.length > most;
  return xmlAnswer("ListMultipartUploadsResult", {
    ...{ Bucket: call.address.bucket, Prefix: shownKey(prefix, undefined), MaxUploads: most, IsTruncated: isTruncated },
    ...(isTruncated && { NextKeyMarker: "", NextUploadIdMarker: ids[most - 1]!.name }),
    Upload: uploads,
  });
}

/** Uploads are listed by their ids, so that a page of a few does not have to read many. */
function marked(call: S3Call): string | undefined {
  const id = call.word("upload-id-marker");
  return id ? `${id}/` : undefined;
}

/** Finds the upload that the request names, if it belongs to its key. */
async function idOf(call: S3Call, files: Files): Promise<string> {
  return (await uploadOf(call, files)).id;
}

export async function uploadOf(call: S3Call, files: Files): Promise<About & { id: string }> {
  const id = call.word("uploadId") ?? "";
  const about = isUploadId(id) ? await aboutOf(files, id) : undefined;
  if (about?.key !== call.address.key)
    throw new S3Refused(
      "NoSuchUpload",
      "There is no such upload of this key: it was completed, given up, or is too old.",
    );
  return { id, ...about };
}

/** Programs can write there too, so anything that this server would not have written is no upload. */
async function aboutOf(files: Files, id: string): Promise<About | undefined> {
  const text = await smallText(files, [UPLOADS, id, ABOUT], LONGEST_ABOUT);
  try {
    const { key, startedAt, metadata: said = [] } = JSON.parse(text ?? "") as Record<keyof About, unknown>;
    const metadata = metadataFrom(said);
    return isKey(key) && isTime(startedAt) && metadata ? { key, startedAt, metadata } : undefined;
  } catch {
    return undefined;
  }
}

const isKey = (value: unknown): value is string =>
  typeof value === "string" && value.isWellFormed() && !pathOf(value).isFolder;

const LATEST = parseTimestamp("9999-12-31T23:59:59Z")!;
const isTime = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= LATEST;

export async function partsOf(files: Files, id: string): Promise<{ number: number; facts: FileFacts }[]> {
  const names = (await files.hidden.list([UPLOADS, id], { most: MOST_PARTS + 1 })) ?? [];
  const parts = [];
  for (const { name } of names.filter((entry) => /^\d{5}$/.test(entry.name))) {
    const facts = await files.hidden.find([UPLOADS, id, name]);
    if (facts?.kind === "file") parts.push({ number: Number(name), facts });
  }
  return parts;
}

export const partName = (number: number) => String(number).padStart(5, "0");

export function partNumber(text: string | undefined): number {
  const number = /^\d{1,5}$/.test(text ?? "") ? Number(text) : 0;
  if (number < 1 || number > MOST_PARTS)
    throw new S3Refused("InvalidArgument", `A part's number is one from 1 to ${MOST_PARTS}.`);
  return number;
}

/** Removes the record of the upload first. Resolves with the number of files removed. */
export async function removeUpload(files: Files, id: string): Promise<number> {
  await files.hidden.remove([UPLOADS, id, ABOUT]);
  const names = (await files.hidden.list([UPLOADS, id], { most: MOST_PARTS + 1 })) ?? [];
  for (const { name } of names) await files.hidden.remove([UPLOADS, id, name]);
  await files.hidden.remove([UPLOADS, id]);
  return names.length + 1;
}

/** Removes what clients and crashes left behind. */
async function sweep(files: Files, { clock, random, uploadDays = KEPT_DAYS }: S3Call["parts"]): Promise<void> {
  const { hidden } = files;
  const now = clock.now();
  await sweepFiles(hidden, [], { most: MOST_SHOWN }, now - DAY_MS);
  // From another place each time, so that all get their turn where many are kept.
  await sweepFiles(hidden, [COMPLETED], { after: resourceId(random), most: MOST_SHOWN }, now - DAY_MS);
  let left = MOST_SWEPT;
  for (const { name: id } of (await hidden.list([UPLOADS], { most: MOST_SHOWN })) ?? []) {
    const facts = await hidden.find([UPLOADS, id]);
    if (facts && facts.modifiedAt < now - uploadDays * DAY_MS) left -= await removeUpload(files, id);
    if (left <= 0) return;
  }
}

async function sweepFiles(hidden: Files["hidden"], folder: FilePath, ask: Listing, before: number): Promise<void> {
  for (const { name, kind } of (await hidden.list(folder, ask)) ?? []) {
    const facts = kind === "file" ? await hidden.find([...folder, name]) : undefined;
    if (facts && facts.modifiedAt < before) await hidden.remove([...folder, name]);
  }
}
