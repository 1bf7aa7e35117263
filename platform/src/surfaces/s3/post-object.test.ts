/** Uploads by forms: only what a signed policy allows is stored. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { HeadObjectCommand } from "@aws-sdk/client-s3";
import { describe, expect, test } from "vitest";
import { signerOf } from "../../../tests/s3-requests.ts";
import { BUCKET, REGION, type S3World, setupS3 } from "../../../tests/s3-world.ts";
import { timestamp } from "../../kernel/clock.ts";

type Fields = Record<string, string>;
interface Making {
  fields?: Fields;
  conditions?: unknown[];
  expiresS?: number;
}

/** Makes the fields of a presigned POST: a policy that names each of them, and its signature. */
async function presigned(
  world: S3World,
  { fields = {}, conditions = [], expiresS = 60 }: Making = {},
): Promise<Fields> {
  const now = world.clock.now();
  const time = timestamp(now).replace(/[-:]|\.\d{3}/g, "");
  const all: Fields = {
    ...{ key: "form/file", "x-amz-algorithm": "AWS4-HMAC-SHA256", "x-amz-date": time },
    "x-amz-credential": `${world.credential.accessKeyId}/${time.slice(0, 8)}/${REGION}/s3/aws4_request`,
    ...fields,
  };
  const named = Object.entries(all).filter(([name]) => name !== "key" || !conditions.some(isOfKey));
  const document = {
    expiration: timestamp(now + expiresS * 1000),
    conditions: [{ bucket: BUCKET }, ...named.map(([name, value]) => ({ [name]: value })), ...conditions],
  };
  return signedBy(world, all, JSON.stringify(document));
}

const isOfKey = (condition: unknown) => Array.isArray(condition) && condition[1] === "$key";

async function signedBy(world: S3World, fields: Fields, document: string): Promise<Fields> {
  const policy = Buffer.from(document).toString("base64");
  const signature = await signerOf(world).sign(policy, { signingDate: world.clock.now() / 1000 });
  return { ...fields, policy, "x-amz-signature": signature };
}

async function post(
  world: S3World,
  fields: Fields,
  contents = "hello",
  { name = "a.txt", path = `/s3/${BUCKET}` } = {},
) {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.append(field, value);
  form.append("file", new Blob([contents]), name);
  const answer = await fetch(`${world.url}${path}`, { method: "POST", body: form, redirect: "manual" });
  const text = await answer.text();
  return { status: answer.status, code: /<Code>(.*?)<\/Code>/.exec(text)?.[1], text, headers: answer.headers };
}

const stored = (world: S3World, key: string) => readFile(join(world.volume, key), "utf8");

describe("a form", () => {
  test("puts a file where its policy says, whoever sends it", async () => {
    await using world = await setupS3();
    const { status, headers } = await post(world, await presigned(world, { fields: { "x-amz-meta-who": "ä" } }));
    expect([status, headers.get("location")]).toEqual([204, `/s3/${BUCKET}/form/file`]);
    expect(await stored(world, "form/file")).toBe("hello");
    const head = await world.s3.send(new HeadObjectCommand({ Bucket: BUCKET, Key: "form/file" }));
    expect([head.ETag, Buffer.from(head.Metadata!.who!, "latin1").toString()]).toEqual([headers.get("etag"), "ä"]);
  });

  test("is taken at the root too, from clients whose endpoints have no path", async () => {
    await using world = await setupS3();
    expect((await post(world, await presigned(world), "x", { path: `/${BUCKET}` })).status).toBe(204);
  });

  test("names the file by what the client calls it, without its folders", async () => {
    await using world = await setupS3();
    const making = { fields: { key: `in/\${filename}` }, conditions: [["starts-with", "$key", "in/"]] };
    await post(world, await presigned(world, making), "hello", { name: 'C:\\x\\ä "b".txt' });
    await post(world, await presigned(world, making), "hello", { name: "../../up" });
    expect(await readdir(join(world.volume, "in"))).toEqual(["up", 'ä "b".txt']);
  });

  test("is answered as it wishes", async () => {
    await using world = await setupS3();
    const answered = async (fields: Fields) => post(world, await presigned(world, { fields }));
    expect((await answered({ success_action_status: "200" })).status).toBe(200);
    const created = await answered({ success_action_status: "201" });
    expect(created.status).toBe(201);
    expect(created.text).toContain(`<Bucket>${BUCKET}</Bucket><Key>form/file</Key><ETag>`);
    const moved = await answered({ success_action_redirect: "https://example.com/done?a=1" });
    const next = new URL(moved.headers.get("location")!);
    expect([moved.status, next.origin, next.searchParams.get("key")]).toEqual([
      303,
      "https://example.com",
      "form/file",
    ]);
    expect((await answered({ success_action_redirect: "javascript:alert(1)" })).status).toBe(204);
  });

  test("has a file as large as its policy allows", async () => {
    await using world = await setupS3();
    const fields = await presigned(world, { conditions: [["content-length-range", 2, 4]] });
    expect((await post(world, fields, "x")).code).toBe("EntityTooSmall");
    expect((await post(world, fields, "xxxxx")).code).toBe("EntityTooLarge");
    expect(await readdir(world.volume)).not.toContain("form");
    expect((await post(world, fields, "xxxx")).status).toBe(204);
  });

  test("with a file of many pieces is stored as it was sent", async () => {
    await using world = await setupS3();
    const contents = "\r\n--almost a boundary\r\n-".repeat(40_000);
    expect((await post(world, await presigned(world), contents)).status).toBe(204);
    expect((await stored(world, "form/file")) === contents).toBe(true);
  });
});

describe("refused is a form", () => {
  test("of which anything was changed, added or not signed", async () => {
    await using world = await setupS3();
    const fields = await presigned(world);
    const sent = async (changed: Fields) => {
      const { status, code } = await post(world, { ...fields, ...changed });
      return [status, code];
    };
    expect(await sent({ key: "other" })).toEqual([403, "AccessDenied"]);
    expect(await sent({ "x-amz-meta-a": "b" })).toEqual([403, "AccessDenied"]);
    expect(await sent({ success_action_redirect: "https://example.com" })).toEqual([403, "AccessDenied"]);
    expect(await sent({ policy: Buffer.from("{}").toString("base64") })).toEqual([403, "SignatureDoesNotMatch"]);
    expect(await sent({ "x-amz-signature": "0".repeat(64) })).toEqual([403, "SignatureDoesNotMatch"]);
    expect(await sent({ "x-ignore-me": "b" })).toEqual([204, undefined]);
    const { policy: _, ...unsigned } = fields;
    expect(await post(world, unsigned)).toMatchObject({ status: 403, code: "AccessDenied" });
  });

  test("for another bucket, or whose policy names none", async () => {
    await using world = await setupS3();
    const fields = await presigned(world);
    expect(await post(world, fields, "x", { path: "/s3/volother12" })).toMatchObject({
      status: 404,
      code: "NoSuchBucket",
    });
    const document = JSON.parse(Buffer.from(fields.policy!, "base64").toString());
    document.conditions.shift();
    const { policy: _, "x-amz-signature": __, ...rest } = fields;
    const anywhere = await post(world, await signedBy(world, rest, JSON.stringify(document)));
    expect([anywhere.code, anywhere.text]).toEqual([
      "AccessDenied",
      expect.stringContaining("no condition for &apos;bucket&apos;"),
    ]);
  });

  test("whose policy has expired, and whose key is deleted", async () => {
    await using world = await setupS3();
    const fields = await presigned(world, { expiresS: 3600 });
    await world.clock.advance(3599_000);
    expect((await post(world, fields)).status).toBe(204);
    await world.clock.advance(1000);
    expect((await post(world, fields)).text).toContain("it has expired");
    const later = await presigned(world);
    const [{ id }] = (await world.call("GET", "/v2/account/s3-keys")).json.s3Keys;
    await world.call("DELETE", `/v2/account/s3-keys/${id}`);
    expect((await post(world, later)).code).toBe("InvalidAccessKeyId");
  });

  test.each([
    ["not JSON"],
    ["[]"],
    ['{"expiration": "soon", "conditions": []}'],
    ['{"expiration": "2999-01-01T00:00:00Z"}'],
    ['{"expiration": "2999-01-01T00:00:00Z", "conditions": [["ends-with", "$key", "x"]]}'],
    ['{"expiration": "2999-01-01T00:00:00Z", "conditions": [["eq", "key", "x"]]}'],
    ['{"expiration": "2999-01-01T00:00:00Z", "conditions": [["content-length-range", 1]]}'],
    ['{"expiration": "2999-01-01T00:00:00Z", "conditions": [["content-length-range", "a", 2]]}'],
    ['{"expiration": "2999-01-01T00:00:00Z", "conditions": ["key"]}'],
  ])("with the policy %s", async (document) => {
    await using world = await setupS3();
    const { policy: _, "x-amz-signature": __, ...fields } = await presigned(world);
    expect((await post(world, await signedBy(world, fields, document))).code).toBe("InvalidPolicyDocument");
  });

  test("with too much before its file, a field twice, no file, or no end", async () => {
    await using world = await setupS3();
    const large = { ...(await presigned(world)), "x-ignore-a": "x".repeat(21_000) };
    expect((await post(world, large)).code).toBe("MaxPostPreDataLengthExceeded");
    const raw = async (body: string, type = "multipart/form-data; boundary=b") => {
      const answer = await fetch(`${world.url}/s3/${BUCKET}`, {
        method: "POST",
        body,
        headers: { "content-type": type },
      });
      return /<Code>(.*?)<\/Code>/.exec(await answer.text())?.[1];
    };
    const part = (name: string, value: string) =>
      `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    expect(await raw(`${part("key", "a")}${part("key", "b")}${part("file", "c")}--b--`)).toBe("MalformedPOSTRequest");
    expect(await raw(`${part("key", "a")}--b--\r\n`)).toBe("MalformedPOSTRequest");
    expect(await raw(part("key", "a"))).toBe("MalformedPOSTRequest");
    expect(await raw("", "multipart/form-data")).toBe("MalformedPOSTRequest");
    const signed = Object.entries(await presigned(world)).map(([name, value]) => part(name, value));
    expect(await raw(`${signed.join("")}${part("file", "cut o")}`)).toBe("MalformedPOSTRequest");
    expect(await readdir(world.volume)).not.toContain("form");
    expect(await raw(`${signed.join("")}${part("file", "whole")}${part("submit", "Go")}--b--\r\n`)).toBeUndefined();
    expect(await stored(world, "form/file")).toBe("whole");
  });
});
