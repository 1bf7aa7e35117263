/** Where S3 is reached, and how clients of other languages write requests. Each case once failed with a real client. */
import { readdir } from "node:fs/promises";
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetBucketVersioningCommand,
  PutObjectCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { describe, expect, test } from "vitest";
import { type Sent, send, signed, signedByHand, signerOf } from "../../../tests/s3-requests.ts";
import { BUCKET, type S3World, setupS3 } from "../../../tests/s3-world.ts";

const Bucket = BUCKET;
const hostOf = ({ url }: S3World) => new URL(url).host;

describe("a request below /s3", () => {
  const path = `/${Bucket}/a%20b`;
  const below = (sent: Sent, host: string): Sent => ({
    ...sent,
    path: `/s3${sent.path}`,
    headers: { ...sent.headers, host },
  });

  test("may be signed as if the path were a part of the host, as s3cmd does", async () => {
    await using world = await setupS3();
    const host = hostOf(world);
    const put = { method: "PUT", path, body: "hello", headers: { "content-length": "5", host: `${host}/s3` } };
    const sent = below(await signedByHand(world, put), host);
    expect(await send(world, sent)).toEqual([200, undefined]);
    expect(await send(world, { ...sent, path: `/s3/${Bucket}/other` })).toEqual([403, "SignatureDoesNotMatch"]);
    expect(await readdir(world.volume)).toContain("a b");
    expect(
      await send(world, below(await signedByHand(world, { path: "/", headers: { host: `${host}/s3` } }), host)),
    ).toEqual([200, undefined]);
  });

  test("may be signed without it, as behind a proxy that puts it there", async () => {
    await using world = await setupS3();
    const sent = below(await signedByHand(world, { path: "/" }), hostOf(world));
    expect(await send(world, sent)).toEqual([200, undefined]);
  });
});

describe("at the root, for clients whose endpoints have no path", () => {
  test("a request is known by its signature", async () => {
    await using world = await setupS3();
    const atRoot = (sent: Sent) => signed(world, sent).then((one) => send(world, one));
    const put = { method: "PUT", path: `/${Bucket}/dir/file`, body: "hello", headers: { "content-length": "5" } };
    expect(await atRoot(put)).toEqual([200, undefined]);
    expect(await atRoot({ path: "/" })).toEqual([200, undefined]);
    expect(await atRoot({ path: `/${Bucket}`, query: { "list-type": "2" } })).toEqual([200, undefined]);
    expect(await atRoot({ path: "/nothing1234/x" })).toEqual([404, "NoSuchBucket"]);
  });

  test("so is a presigned URL", async () => {
    await using world = await setupS3();
    await world.s3.send(new PutObjectCommand({ Bucket, Key: "file", Body: "hello" }));
    const [host, path] = [hostOf(world), `/${Bucket}/file`];
    const plain = {
      method: "GET",
      protocol: "http:",
      hostname: host,
      path,
      headers: { host, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" },
    };
    const { query } = await signerOf(world).presign(plain, { expiresIn: 60, signingDate: world.clock.now() / 1000 });
    expect(await send(world, { path, query: query as Record<string, string> })).toEqual([200, undefined]);
  });

  test("nothing else is taken for S3", async () => {
    await using world = await setupS3();
    const status = async (path: string) => (await send(world, await signed(world, { path })))[1];
    expect(await status("/v2/pods")).toBeUndefined();
    expect(await status("/graphql")).toBeUndefined();
    expect((await send(world, { path: `/${Bucket}` }))[1]).toBeUndefined();
    const { headers } = await signed(world, { path: "/" });
    expect((await send(world, { path: "/", headers: { ...headers!, host: "abc.localhost" } }))[1]).toBeUndefined();
  });
});

describe("XML as other clients write it", () => {
  const posted = async (world: S3World, query: Record<string, string>, body: string, path = `/s3/${Bucket}`) =>
    send(
      world,
      await signed(world, {
        method: "POST",
        path,
        query,
        body,
        headers: { "content-length": `${Buffer.byteLength(body)}` },
      }),
    );

  test("an upload is completed with quotation marks in numbers, as Go writes them", async () => {
    await using world = await setupS3();
    const [Key, Body] = ["parts", "hello"];
    const { UploadId } = await world.s3.send(new CreateMultipartUploadCommand({ Bucket, Key }));
    const { ETag } = await world.s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body }));
    const part = `<Part><ETag>${ETag!.replaceAll('"', "&#34;")}</ETag><PartNumber>1</PartNumber></Part>`;
    const body = `<CompleteMultipartUpload>${part}</CompleteMultipartUpload>`;
    expect(await posted(world, { uploadId: UploadId! }, body, `/s3/${Bucket}/${Key}`)).toEqual([200, undefined]);
    const again = new CompleteMultipartUploadCommand({ Bucket, Key, UploadId });
    await expect(world.s3.send(again)).rejects.toMatchObject({ name: "MalformedXML" });
  });

  test("keys to delete are read to the letter, with what was escaped and the spaces around them", async () => {
    await using world = await setupS3();
    for (const Key of ["it's", "a&amp;b", "a&b", " x ", "x", "ä"])
      await world.s3.send(new PutObjectCommand({ Bucket, Key, Body: "" }));
    const keys = ["it&#39;s", "a&amp;amp;b", " x ", "&#xE4;"];
    const body = `<Delete>\n${keys.map((key) => `  <Object><Key>${key}</Key></Object>\n`).join("")}</Delete>`;
    expect(await posted(world, { delete: "" }, body)).toEqual([200, undefined]);
    expect((await readdir(world.volume)).toSorted()).toEqual([".millrace-s3", "a&b", "x"]);
    const nothing = "<Delete><Object><Key>&#0;x</Key></Object></Delete>";
    expect(await posted(world, { delete: "" }, nothing)).toEqual([400, "MalformedXML"]);
  });
});

test("a bucket has no versions, and says so instead of refusing", async () => {
  await using world = await setupS3();
  expect((await world.s3.send(new GetBucketVersioningCommand({ Bucket }))).Status).toBeUndefined();
});

test("Signature Version 2 is refused by its name", async () => {
  await using world = await setupS3();
  const said = async (path: string, headers: Record<string, string> = {}) =>
    (await fetch(`${world.url}${path}`, { headers })).text();
  expect(await said(`/s3/${Bucket}/a?AWSAccessKeyId=A&Expires=1&Signature=x`)).toContain("Sign it by Version 4");
  expect(await said(`/s3/${Bucket}/a`, { authorization: "AWS A:b" })).toContain("Sign it by Version 4");
});
