/** An upload by a form that its owner has signed for others to send: a presigned POST. */
import type { Files } from "../../ports/files/files.ts";
import { uriEncoded } from "./address.ts";
import { Checks } from "./body.ts";
import { type Answer, type S3Call, xmlAnswer } from "./call.ts";
import type { Form } from "./form.ts";
import { latin, metadataAmong } from "./metadata.ts";
import { storeObject } from "./objects.ts";
import { type Policy, policyFrom, refuseForbidden, refuseLength } from "./policy.ts";
import { S3Refused } from "./refusals.ts";
import { shownKey } from "./xml.ts";

/** Stands in a key for the name of the file. */
const FILE_NAME = `\${filename}`;

/** Called after the signature of the policy was verified. */
export async function postObject(call: S3Call, form: Form, files: Files): Promise<Answer> {
  const { fields } = form;
  const policy = policyFrom(fields.get("policy") ?? "");
  const key = (fields.get("key") ?? "").replaceAll(FILE_NAME, () => form.fileName);
  const bucket = call.address.bucket!;
  refuseForbidden(policy, new Map([...fields, ["bucket", bucket], ["key", key]]), call.parts.clock.now());
  if (key === "") throw new S3Refused("InvalidArgument", "The form has no 'key', which says where the file goes.");
  const metadata = metadataAmong([...fields].map(([name, value]) => [name, latin(value)]));
  const etag = await storeObject(files, key, contents(form, policy), metadata);
  return answerOf(fields, { bucket, key, etag, location: locationOf(call, key) });
}

async function* contents({ fields, file }: Form, policy: Policy): AsyncIterable<Buffer> {
  const checks = new Checks(Object.fromEntries(fields), "");
  let length = 0;
  for await (const chunk of file) {
    length += chunk.length;
    refuseLength(policy, length, false);
    checks.add(chunk);
    yield chunk;
  }
  refuseLength(policy, length, true);
  checks.end(new Map());
}

const locationOf = ({ address }: S3Call, key: string) =>
  [address.canonicalPath.replace(/\/$/, ""), ...key.split("/").map(uriEncoded)].join("/");

interface Stored {
  bucket: string;
  key: string;
  etag: string;
  location: string;
}

/** Answers as the form asks: with a redirect, or with one of three statuses. */
function answerOf(fields: Form["fields"], { bucket, key, etag, location }: Stored): Answer {
  const headers = { ETag: etag, Location: location };
  const next = redirection(fields.get("success_action_redirect") ?? fields.get("redirect"));
  if (next) {
    for (const [name, value] of Object.entries({ bucket, key, etag })) next.searchParams.append(name, value);
    return { status: 303, headers: { ...headers, Location: next.href } };
  }
  const status = fields.get("success_action_status");
  if (status === "200") return { headers };
  if (status !== "201") return { status: 204, headers };
  const shown = { Location: location, Bucket: bucket, Key: shownKey(key, undefined), ETag: etag };
  const { headers: type, body } = xmlAnswer("PostResponse", shown);
  return { status: 201, headers: { ...headers, ...type }, ...(body !== undefined && { body }) };
}

/** Undefined if the text is no web address, as if the field were absent. */
function redirection(text: string | undefined): URL | undefined {
  const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined;
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}
