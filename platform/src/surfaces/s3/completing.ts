/** Puts the parts of an upload together. That may take minutes, and a client that asks again gets the answer of the first time. */
import { createHash } from "node:crypto";
import { etagOf, type FileFacts, type Files } from "../../ports/files/files.ts";
import { pathOf } from "./address.ts";
import { type Answer, type S3Call, xmlAnswer } from "./call.ts";
import { keepInTouch } from "./long-answer.ts";
import { keepMetadata } from "./metadata.ts";
import { type Demands, demandsOf, keepWhere } from "./objects.ts";
import { S3Refused } from "./refusals.ts";
import { smallText } from "./small-text.ts";
import { COMPLETED, isUploadId, partName, partNumber, partsOf, removeUpload, UPLOADS, uploadOf } from "./uploads.ts";
import { childrenOf, shownKey } from "./xml.ts";

const LONGEST_NOTE = 1024;

/** What a client wants put together. */
interface Wish {
  asked: readonly Record<string, string>[];
  demands: Demands;
}

/** Completions by what they complete. Who asks for the same waits for the same. */
const underWay = new Map<string, Promise<string>>();

export async function completeUpload(call: S3Call, files: Files): Promise<Answer> {
  const { key, bucket } = call.address;
  const demands = demandsOf(call);
  const asked = childrenOf(await call.text(), "CompleteMultipartUpload", "Part");
  using _touch = keepInTouch(call);
  const ETag = await once(call, files, { asked, demands });
  const shown = { Bucket: bucket, Key: shownKey(key, undefined), ETag };
  return xmlAnswer("CompleteMultipartUploadResult", { Location: call.request.url.split("?", 1)[0], ...shown });
}

/** It goes on when the client is gone: it would only ask again, and never get to the end. Resolves with the file's ETag. */
async function once(call: S3Call, files: Files, wish: Wish): Promise<string> {
  const { bucket, key } = call.address;
  const digest = createHash("sha256")
    .update(JSON.stringify([key, wish]))
    .digest("base64url");
  const place = `${bucket} ${call.word("uploadId")} ${digest}`;
  const known = underWay.get(place);
  if (known) return known;
  const completing = complete(call, files, wish, digest);
  underWay.set(place, completing);
  try {
    return await completing;
  } finally {
    underWay.delete(place);
  }
}

async function complete(call: S3Call, files: Files, wish: Wish, digest: string): Promise<string> {
  const before = await completedBefore(call, files, digest);
  if (before !== undefined) return before;
  const { names } = pathOf(call.address.key);
  const { id, metadata } = await uploadOf(call, files);
  await using draft = await joined(files, id, wish.asked);
  const facts = await keepWhere(files, draft, names, wish.demands);
  await keepMetadata(files, names, facts, metadata);
  await using note = await files.draft();
  await note.write(Buffer.from(JSON.stringify({ digest, etag: etagOf(facts) })));
  await note.keep([COMPLETED, id], { hidden: true });
  await removeUpload(files, id);
  return etagOf(facts);
}

/** The ETag of what this upload has become, if just that was asked for before. */
async function completedBefore(call: S3Call, files: Files, digest: string): Promise<string | undefined> {
  const id = call.word("uploadId");
  if (!isUploadId(id)) return undefined;
  const text = await smallText(files, [COMPLETED, id], LONGEST_NOTE);
  const note = text === undefined ? undefined : noteIn(text);
  if (note?.digest !== digest) return undefined;
  // A crash may have left the parts.
  await removeUpload(files, id);
  return note.etag;
}

/** Programs can write there too. */
function noteIn(text: string): { digest: string; etag: string } | undefined {
  try {
    const { digest, etag } = JSON.parse(text) as Record<string, unknown>;
    return typeof digest === "string" && typeof etag === "string" ? { digest, etag } : undefined;
  } catch {
    return undefined;
  }
}

/** All parts stay until the file is on disk, so that a client can ask again after a crash. */
async function joined(files: Files, id: string, asked: Wish["asked"]) {
  const parts = new Map((await partsOf(files, id)).map((part) => [part.number, part.facts]));
  const numbers = asked.map((part) => partAsked(part, parts));
  if (numbers.length === 0) throw new S3Refused("MalformedXML", "An upload is completed from one part at least.");
  if (numbers.some((number, i) => i > 0 && number <= numbers[i - 1]!))
    throw new S3Refused("InvalidPartOrder", "The parts must come in the order of their numbers, each once.");
  await using undo = new AsyncDisposableStack();
  const draft = undo.use(await files.draft());
  for (const number of numbers) {
    await using part = await files.hidden.open([UPLOADS, id, partName(number)]);
    if (!part) throw new S3Refused("InvalidPart", `Part ${number} is not there.`);
    for await (const chunk of part.read()) await draft.write(chunk);
  }
  undo.move();
  return draft;
}

function partAsked(part: Record<string, string>, known: ReadonlyMap<number, FileFacts>): number {
  const number = partNumber(part.PartNumber);
  const facts = known.get(number);
  if (!facts || (part.ETag ?? "").replaceAll('"', "") !== etagOf(facts).replaceAll('"', ""))
    throw new S3Refused("InvalidPart", `Part ${number} is not there, or not as it was when its ETag was given.`);
  return number;
}
