/** Operations of S3 clients on buckets: list the buckets, and list and delete their keys. */
import { timestamp } from "../../kernel/clock.ts";
import { etagOf, type Files } from "../../ports/files/files.ts";
import { pathOf } from "./address.ts";
import type { Bucket } from "./buckets.ts";
import { type Answer, numberIn, type S3Call, xmlAnswer } from "./call.ts";
import { pageOf } from "./listing.ts";
import { removeObject } from "./objects.ts";
import { refusalFrom, S3Refused } from "./refusals.ts";
import { childrenOf, shownKey, type Xml } from "./xml.ts";

const MOST_KEYS = 1000;

export async function listBuckets(call: S3Call): Promise<Answer> {
  const buckets = await call.parts.buckets.list(call.account);
  const shown = buckets.map(({ id, createdAt, region }) => {
    return { Name: id, CreationDate: timestamp(createdAt), BucketRegion: region };
  });
  return xmlAnswer("ListAllMyBucketsResult", { Owner: { ID: call.account }, Buckets: { Bucket: shown } });
}

export const headBucket = ({ region }: Bucket): Answer => ({ headers: { "x-amz-bucket-region": region } });

/** Clients create a bucket to make sure that it exists before they write to it. */
export async function createBucket(call: S3Call, id: string): Promise<never> {
  if (await call.parts.buckets.find(call.account, id))
    throw new S3Refused(
      "BucketAlreadyOwnedByYou",
      `The bucket '${id}' is there already: it is a volume of your account.`,
    );
  throw new S3Refused(
    "NotImplemented",
    `There is no bucket '${id}', and S3 cannot make one: a bucket is a network volume. Make it at /v2/network-volumes, and use its id.`,
  );
}

export const bucketLocation = ({ region }: Bucket): Answer => xmlAnswer("LocationConstraint", { "#text": region });

/** There is no versioning. Clients ask whether they must delete more than one version of a file. */
export const bucketVersioning = (_: Bucket): Answer => xmlAnswer("VersioningConfiguration", {});

/** Serves both versions of the listing. They differ in the parameters that say where a page begins. */
export async function listObjects(call: S3Call, bucket: Bucket, files: Files): Promise<Answer> {
  const isSecond = call.word("list-type") === "2";
  const encoding = call.word("encoding-type");
  const [prefix, delimiter] = [call.word("prefix") ?? "", call.word("delimiter") ?? ""];
  const most = numberIn(call, "max-keys", MOST_KEYS, [0, MOST_KEYS]);
  const token = call.word("continuation-token");
  const after = isSecond ? (token === undefined ? call.word("start-after") : tokenFrom(token)) : call.word("marker");
  const listing = { prefix, delimiter, after: after || undefined, most, isGone: () => call.isGone };
  const { contents, prefixes, next } = await pageOf(files, listing);
  const shown = (key: string) => shownKey(key, encoding);
  const page: Xml = {
    Name: bucket.id,
    Prefix: shown(prefix),
    ...(delimiter !== "" && { Delimiter: shown(delimiter) }),
    ...(encoding !== undefined && { EncodingType: encoding }),
    MaxKeys: most,
    IsTruncated: next !== undefined,
    Contents: contents.map(({ key, facts }) => ({
      ...{ Key: shown(key), LastModified: timestamp(facts.modifiedAt), ETag: etagOf(facts) },
      ...{ Size: facts.size, StorageClass: "STANDARD" },
    })),
    CommonPrefixes: prefixes.map((one) => ({ Prefix: shown(one) })),
  };
  if (!isSecond) {
    const where = { Marker: shown(call.word("marker") ?? ""), ...(next !== undefined && { NextMarker: shown(next) }) };
    return xmlAnswer("ListBucketResult", { ...where, ...page });
  }
  return xmlAnswer("ListBucketResult", {
    ...page,
    KeyCount: contents.length + prefixes.length,
    ...(token !== undefined && { ContinuationToken: token }),
    ...(next !== undefined && { NextContinuationToken: Buffer.from(next).toString("base64url") }),
  });
}

function tokenFrom(text: string): string {
  const key = Buffer.from(text, "base64url").toString();
  if (key === "" || Buffer.from(key).toString("base64url") !== text)
    throw new S3Refused("InvalidArgument", "The continuation token is none that a listing gave.");
  return key;
}

/** Deletes each key on its own: one failure does not stop the others. */
export async function deleteObjects(call: S3Call, files: Files): Promise<Answer> {
  const text = await call.text();
  const isQuiet = /<Quiet>\s*true\s*<\/Quiet>/.test(text);
  const objects = childrenOf(text, "Delete", "Object");
  if (objects.length === 0 || objects.length > MOST_KEYS)
    throw new S3Refused("MalformedXML", `A request deletes from one to ${MOST_KEYS} keys.`);
  const deleted: Xml[] = [];
  const failed: Xml[] = [];
  for (const { Key: key = "" } of objects) {
    try {
      await removeObject(files, pathOf(key));
      deleted.push({ Key: shownKey(key, undefined) });
    } catch (error) {
      const refusal = refusalFrom(error);
      if (!refusal) throw error;
      failed.push({ Key: shownKey(key, undefined), Code: refusal.code, Message: refusal.message });
    }
  }
  return xmlAnswer("DeleteResult", { ...(!isQuiet && { Deleted: deleted }), Error: failed });
}
