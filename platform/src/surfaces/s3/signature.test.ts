/** Which signatures are accepted, in every form in which S3 clients sign. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { GetObjectCommand, ListBucketsCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { describe, expect, test } from "vitest";
import { type Sent, send, signed, signerOf } from "../../../tests/s3-requests.ts";
import { BUCKET, REGION, type S3World, setupS3 } from "../../../tests/s3-world.ts";

const Bucket = BUCKET;

test("a signed request is taken, and not when anything of it is changed", async () => {
  await using world = await setupS3();
  const good = await signed(world, {
    method: "PUT",
    path: `/s3/${Bucket}/file`,
    body: "hello",
    headers: { "content-length": "5" },
  });
  expect(await send(world, good)).toEqual([200, undefined]);
  expect(await send(world, { ...good, path: `/s3/${Bucket}/other` })).toEqual([403, "SignatureDoesNotMatch"]);
  expect(await send(world, { ...good, query: { uploads: "" } })).toEqual([403, "SignatureDoesNotMatch"]);
  expect(await send(world, { ...good, method: "DELETE" })).toEqual([403, "SignatureDoesNotMatch"]);
  expect(await send(world, { ...good, body: "jello" })).toEqual([400, "BadDigest"]);
  expect(await readFile(join(world.volume, "file"), "utf8")).toBe("hello");
});

test("who does not sign, signs with another key, or at another time, is told so", async () => {
  await using world = await setupS3();
  expect(await send(world, { path: "/s3/" })).toEqual([403, "AccessDenied"]);
  const bearer = { authorization: `Bearer ${world.key}` };
  expect(await send(world, { path: "/s3/", headers: bearer })).toEqual([400, "MissingSecurityHeader"]);
  const { accessKeyId } = world.credential;
  const wrong = world.client({ credentials: { accessKeyId, secretAccessKey: "x".repeat(40) } });
  await expect(wrong.send(new ListBucketsCommand({}))).rejects.toThrow("The signature does not fit the request");
  const unknown = world.client({ credentials: { accessKeyId: "MLRAAAAAAAAAAAAAAAAA", secretAccessKey: "x" } });
  await expect(unknown.send(new ListBucketsCommand({}))).rejects.toMatchObject({ name: "InvalidAccessKeyId" });
  const late = await signed(world, { path: "/s3/" });
  await world.clock.advance(15 * 60_000 + 2000);
  expect(await send(world, late)).toEqual([403, "RequestTimeTooSkewed"]);
});

test("a key that is deleted signs nothing any more", async () => {
  await using world = await setupS3();
  await world.s3.send(new ListBucketsCommand({}));
  const [{ id }] = (await world.call("GET", "/v2/account/s3-keys")).json.s3Keys;
  await world.call("DELETE", `/v2/account/s3-keys/${id}`);
  expect(await send(world, await signed(world, { path: "/s3/" }))).toEqual([403, "InvalidAccessKeyId"]);
});

test("a presigned URL opens one object for its time, whoever has it", async () => {
  await using world = await setupS3();
  await world.s3.send(new PutObjectCommand({ Bucket, Key: "a b", Body: "shared" }));
  const { host } = new URL(world.url);
  const path = `/s3/${Bucket}/a%20b`;
  const plain = {
    method: "GET",
    protocol: "http:",
    hostname: host,
    path,
    headers: { host, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" },
  };
  const presign = async (unhoistableHeaders?: Set<string>) =>
    (
      await signerOf(world).presign(plain, {
        expiresIn: 60,
        signingDate: world.clock.now() / 1000,
        ...(unhoistableHeaders && { unhoistableHeaders, unsignableHeaders: unhoistableHeaders }),
      })
    ).query as Record<string, string>;
  const query = await presign();
  expect(await send(world, { path, query })).toEqual([200, undefined]);
  // Some clients leave this parameter out of the query.
  expect(await send(world, { path, query: await presign(new Set(["x-amz-content-sha256"])) })).toEqual([
    200,
    undefined,
  ]);
  expect(await send(world, { path: `/s3/${Bucket}/ab`, query })).toEqual([403, "SignatureDoesNotMatch"]);
  expect(await send(world, { path, query: { ...query, "X-Amz-Expires": "600" } })).toEqual([
    403,
    "SignatureDoesNotMatch",
  ]);
  await world.clock.advance(60_000);
  expect(await send(world, { path, query })).toEqual([403, "AccessDenied"]);
});

describe("bodies in chunks", () => {
  test("a stream of unknown digest arrives with its checksum behind it", async () => {
    await using world = await setupS3();
    const Body = Readable.from([Buffer.alloc(70_000, "a"), Buffer.from("end")]);
    await world.s3.send(new PutObjectCommand({ Bucket, Key: "stream", Body, ContentLength: 70_003 }));
    const { Body: read } = await world.s3.send(new GetObjectCommand({ Bucket, Key: "stream" }));
    expect(await read!.transformToString()).toBe(`${"a".repeat(70_000)}end`);
  });

  /** Signs each chunk with the previous signature, as older clients do. */
  async function inSignedChunks(world: S3World, chunks: string[], tamper = (text: string) => text): Promise<Sent> {
    const payload = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
    const headers = {
      "x-amz-content-sha256": payload,
      "x-amz-decoded-content-length": String(chunks.join("").length),
      "content-encoding": "aws-chunked",
    };
    const path = `/s3/${Bucket}/chunks`;
    const sent = await signed(world, { method: "PUT", path, headers });
    const signer = signerOf(world);
    const time = sent.headers!["x-amz-date"]!;
    const scope = `${time.slice(0, 8)}/${REGION}/s3/aws4_request`;
    let before = /Signature=(\w+)/.exec(sent.headers!.authorization!)![1]!;
    let body = "";
    for (const chunk of [...chunks, ""]) {
      const digests = ["", chunk].map((text) => createHash("sha256").update(text).digest("hex"));
      const text = ["AWS4-HMAC-SHA256-PAYLOAD", time, scope, before, ...digests].join("\n");
      before = await signer.sign(text, { signingDate: world.clock.now() / 1000 });
      body += `${chunk.length.toString(16)};chunk-signature=${before}\r\n${chunk}\r\n`;
    }
    return { ...sent, headers: { ...sent.headers, "content-length": String(body.length) }, body: tamper(body) };
  }

  test("each chunk is signed, and one that was changed is refused with all of them", async () => {
    await using world = await setupS3();
    expect(await send(world, await inSignedChunks(world, ["hello ", "world"]))).toEqual([200, undefined]);
    expect(await readFile(join(world.volume, "chunks"), "utf8")).toBe("hello world");
    const changed = await inSignedChunks(world, ["hello ", "world"], (body) => body.replace("world", "w0rld"));
    expect(await send(world, changed)).toEqual([403, "SignatureDoesNotMatch"]);
    const cut = await inSignedChunks(world, ["hello "], (body) => body.replace(/\r\n0;.*/s, "\r\n".padEnd(88)));
    expect(await send(world, cut)).toEqual([400, "IncompleteBody"]);
    expect(await readFile(join(world.volume, "chunks"), "utf8")).toBe("hello world");
  });

  test("a body that is not the one of its checksum is refused, and nothing is left of it", async () => {
    await using world = await setupS3();
    const headers = { "x-amz-content-sha256": "UNSIGNED-PAYLOAD", "content-length": "5" };
    const wrongs: Record<string, string>[] = [
      { "content-md5": "AAAAAAAAAAAAAAAAAAAAAA==" },
      { "x-amz-checksum-crc32": "AAAAAA==" },
    ];
    for (const wrong of wrongs) {
      const sent = await signed(world, { method: "PUT", path: `/s3/${Bucket}/x`, headers: { ...headers, ...wrong } });
      expect(await send(world, { ...sent, body: "hello" })).toEqual([400, "BadDigest"]);
    }
    expect(await world.s3.send(new ListBucketsCommand({}))).toBeDefined();
    await expect(readFile(join(world.volume, "x"))).rejects.toThrow("ENOENT");
  });
});

test("S3 has a host of its own too, where nothing else is", async () => {
  await using world = await setupS3({ domain: "millrace.test" });
  const { port } = new URL(world.url);
  for (const host of [`s3.localhost:${port}`, "s3.millrace.test"]) {
    const headers = { host };
    const put = await signed(world, {
      method: "PUT",
      path: `/${Bucket}/hosted`,
      body: "x",
      headers: { ...headers, "content-length": "1" },
    });
    expect(await send(world, put)).toEqual([200, undefined]);
    expect(await send(world, { path: "/v2/openapi.json", headers })).toEqual([403, "AccessDenied"]);
  }
});

test("a body that stalls is given up", async () => {
  await using world = await setupS3();
  const sent = await signed(world, {
    method: "PUT",
    path: `/s3/${Bucket}/slow`,
    headers: { "x-amz-content-sha256": "UNSIGNED-PAYLOAD", "content-length": "10" },
  });
  const { hostname, port } = new URL(world.url);
  const { promise, resolve } = Promise.withResolvers<number>();
  const slow = request({ hostname, port, method: "PUT", path: sent.path, headers: sent.headers! }, (response) => {
    response.resume();
    resolve(response.statusCode!);
  });
  slow.on("error", () => {});
  slow.write("half");
  await world.clock.armed(15_000);
  await world.clock.advance(15_000);
  expect(await promise).toBe(400);
  slow.destroy();
});
