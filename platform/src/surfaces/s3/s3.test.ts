/** An S3 client from npm works with the files of a volume. */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketLocationCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListMultipartUploadsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { describe, expect, test } from "vitest";
import { AWAY, BUCKET, REGION, type S3World, setupS3 } from "../../../tests/s3-world.ts";

const Bucket = BUCKET;
const put = (s3: S3Client, Key: string, Body: string | Buffer = Key) =>
  s3.send(new PutObjectCommand({ Bucket, Key, Body }));
const get = async (s3: S3Client, Key: string, more: object = {}) =>
  (await s3.send(new GetObjectCommand({ Bucket, Key, ...more }))).Body!.transformToString();
/** Returns the code and the status of a refusal. */
const refusal = async (sent: Promise<unknown>) => {
  try {
    await sent;
  } catch (error) {
    const { name, $metadata } = error as { name: string; $metadata: { httpStatusCode: number } };
    return [name, $metadata.httpStatusCode];
  }
  return undefined;
};
const keysOf = ({
  Contents = [],
  CommonPrefixes = [],
}: {
  Contents?: { Key?: string }[];
  CommonPrefixes?: { Prefix?: string }[];
}) => [...Contents.map(({ Key }) => Key), ...CommonPrefixes.map(({ Prefix }) => `${Prefix} …`)].toSorted();

describe("buckets", () => {
  test("are those of the account, each in the region that is its data center", async () => {
    await using world = await setupS3();
    const { Buckets } = await world.s3.send(new ListBucketsCommand({}));
    expect(Buckets?.map(({ Name }) => Name)).toEqual([BUCKET, AWAY]);
    expect((await world.s3.send(new HeadBucketCommand({ Bucket }))).BucketRegion).toBe(REGION);
    expect((await world.s3.send(new GetBucketLocationCommand({ Bucket }))).LocationConstraint).toBe(REGION);
    const elsewhere = world.client({ region: "US-KS-2" });
    expect(await refusal(elsewhere.send(new ListObjectsV2Command({ Bucket })))).toEqual([
      "AuthorizationHeaderMalformed",
      400,
    ]);
    expect(await refusal(world.s3.send(new HeadBucketCommand({ Bucket: "nothing123" })))).toEqual(["NotFound", 404]);
    const away = world.s3.send(new ListObjectsV2Command({ Bucket: AWAY }));
    await expect(away).rejects.toThrow("The volume is on machine m2 of node n2: ask there.");
  });

  test("of another account are not there", async () => {
    await using world = await setupS3();
    const key = await world.strangersKey();
    const theirs = (await world.call("POST", "/v2/account/s3-keys", { key, body: {} })).json;
    const stranger = world.client({ credentials: theirs });
    expect((await stranger.send(new ListBucketsCommand({}))).Buckets ?? []).toEqual([]);
    expect(await refusal(put(stranger, "x"))).toEqual(["NoSuchBucket", 404]);
  });
});

describe("objects", () => {
  test("are files for programs, and files of programs are objects", async () => {
    await using world = await setupS3();
    const { ETag } = await put(world.s3, "a/b/hello wörld+&.txt", "hello");
    const file = join(world.volume, "a/b/hello wörld+&.txt");
    expect(await readFile(file, "utf8")).toBe("hello");
    expect([(await stat(file)).mode & 0o777, (await stat(join(world.volume, "a"))).mode & 0o777]).toEqual([
      0o666, 0o777,
    ]);
    await writeFile(join(world.volume, "a", "mine"), "from a program");
    expect(await get(world.s3, "a/mine")).toBe("from a program");
    const head = await world.s3.send(new HeadObjectCommand({ Bucket, Key: "a/b/hello wörld+&.txt" }));
    expect([head.ContentLength, head.ETag]).toEqual([5, ETag]);
    expect(head.LastModified!.getTime()).toBeGreaterThan(Date.now() - 60_000);
  });

  test("are read in ranges, and on conditions", async () => {
    await using world = await setupS3();
    const { ETag } = await put(world.s3, "digits", "0123456789");
    const ranged = await world.s3.send(new GetObjectCommand({ Bucket, Key: "digits", Range: "bytes=2-4" }));
    expect([ranged.ContentRange, await ranged.Body!.transformToString()]).toEqual(["bytes 2-4/10", "234"]);
    expect(await get(world.s3, "digits", { Range: "bytes=-3" })).toBe("789");
    expect(await get(world.s3, "digits", { Range: "bytes=8-" })).toBe("89");
    expect(await refusal(get(world.s3, "digits", { Range: "bytes=10-" }))).toEqual(["InvalidRange", 416]);
    expect(await get(world.s3, "digits", { IfMatch: ETag })).toBe("0123456789");
    expect(await refusal(get(world.s3, "digits", { IfMatch: '"other"' }))).toEqual(["PreconditionFailed", 412]);
    expect((await refusal(get(world.s3, "digits", { IfNoneMatch: ETag })))?.[1]).toBe(304);
    const later = new Date(Date.now() + 60_000);
    expect((await refusal(get(world.s3, "digits", { IfModifiedSince: later })))?.[1]).toBe(304);
    expect(await get(world.s3, "digits", { IfUnmodifiedSince: later })).toBe("0123456789");
    expect(await get(world.s3, "empty-is-fine", {}).catch((error: Error) => error.name)).toBe("NoSuchKey");
    await put(world.s3, "empty", "");
    expect(await get(world.s3, "empty")).toBe("");
  });

  test("are made once where that is the condition", async () => {
    await using world = await setupS3();
    const once = () => world.s3.send(new PutObjectCommand({ Bucket, Key: "once", Body: "x", IfNoneMatch: "*" }));
    await once();
    expect(await refusal(once())).toEqual(["PreconditionFailed", 412]);
    const { ETag } = await put(world.s3, "once", "y");
    const replace = (IfMatch?: string) =>
      world.s3.send(new PutObjectCommand({ Bucket, Key: "once", Body: "z", IfMatch }));
    expect(await refusal(replace('"other"'))).toEqual(["PreconditionFailed", 412]);
    await replace(ETag);
    expect(await get(world.s3, "once")).toBe("z");
  });

  test("are replaced, copied and deleted only where the condition still holds", async () => {
    await using world = await setupS3();
    const { s3 } = world;
    const { ETag } = await put(s3, "from", "text");
    const { ETag: old } = await put(s3, "to", "first");
    async function* slowly() {
      yield "sec";
      await put(s3, "to", "changed meanwhile");
      yield "ond";
    }
    const Body = Readable.from(slowly(), { objectMode: false });
    const late = new PutObjectCommand({ Bucket, Key: "to", Body, ContentLength: 6, IfMatch: old });
    expect(await refusal(s3.send(late))).toEqual(["PreconditionFailed", 412]);
    const copy = (more: object) =>
      s3.send(new CopyObjectCommand({ Bucket, Key: "to", CopySource: `${Bucket}/from`, ...more }));
    const past = new Date(0);
    for (const condition of [
      ...[{ CopySourceIfMatch: old }, { CopySourceIfNoneMatch: ETag }, { CopySourceIfUnmodifiedSince: past }],
      ...[{ IfMatch: old }, { IfNoneMatch: "*" }],
    ])
      expect([condition, await refusal(copy(condition))]).toEqual([condition, ["PreconditionFailed", 412]]);
    const remove = (IfMatch?: string) => s3.send(new DeleteObjectCommand({ Bucket, Key: "to", IfMatch }));
    expect(await refusal(remove(old))).toEqual(["PreconditionFailed", 412]);
    expect(await get(s3, "to")).toBe("changed meanwhile");
    const { CopyObjectResult } = await copy({ CopySourceIfMatch: ETag, CopySourceIfModifiedSince: past });
    await remove(CopyObjectResult?.ETag);
    expect(await refusal(get(s3, "to"))).toEqual(["NoSuchKey", 404]);
    const other = new PutObjectCommand({ Bucket, Key: "to", Body: "x", IfNoneMatch: '"etag"' });
    expect(await refusal(s3.send(other))).toEqual(["NotImplemented", 501]);
  });

  test("are deleted one by one and many at once; what is not there is no error", async () => {
    await using world = await setupS3();
    for (const key of ["a", "b", "c/d"]) await put(world.s3, key);
    await world.s3.send(new DeleteObjectCommand({ Bucket, Key: "a" }));
    await world.s3.send(new DeleteObjectCommand({ Bucket, Key: "a" }));
    const Objects = ["b", "c/d", "nothing", "../x"].map((Key) => ({ Key }));
    const { Deleted, Errors } = await world.s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
    expect(Deleted?.map(({ Key }) => Key)).toEqual(["b", "c/d", "nothing"]);
    expect(Errors?.map(({ Key, Code }) => [Key, Code])).toEqual([["../x", "InvalidArgument"]]);
    expect(await readdir(world.volume)).toEqual([".millrace-s3", "c"]);
  });

  test("are copied", async () => {
    await using world = await setupS3();
    await put(world.s3, "from/ö&+", "text");
    const copy = (CopySource: string) => world.s3.send(new CopyObjectCommand({ Bucket, Key: "to", CopySource }));
    const { CopyObjectResult } = await copy(`${Bucket}/${encodeURIComponent("from/ö&+")}`);
    expect([CopyObjectResult?.ETag, await get(world.s3, "to")]).toEqual([expect.stringMatching(/^".+-1"$/), "text"]);
    expect(await refusal(copy(`${Bucket}/nothing`))).toEqual(["NoSuchKey", 404]);
  });

  test("keys that cannot be files are refused with the reason", async () => {
    await using world = await setupS3();
    await put(world.s3, "file");
    for (const [key, word] of [
      ["a//b", "InvalidArgument"],
      ["a/./b", "InvalidArgument"],
      ["file/below", "InvalidRequest"],
      ["n".repeat(256), "KeyTooLongError"],
      [".millrace-s3/x", "AccessDenied"],
    ])
      expect([key, (await refusal(put(world.s3, key!)))?.[0]]).toEqual([key, word]);
  });

  test("folders are keys with a slash at their end", async () => {
    await using world = await setupS3();
    await put(world.s3, "dir/", "");
    expect((await world.s3.send(new HeadObjectCommand({ Bucket, Key: "dir/" }))).ContentLength).toBe(0);
    expect(await refusal(get(world.s3, "dir"))).toEqual(["NoSuchKey", 404]);
    expect(keysOf(await world.s3.send(new ListObjectsV2Command({ Bucket })))).toEqual(["dir/"]);
    await put(world.s3, "dir/x");
    expect(keysOf(await world.s3.send(new ListObjectsV2Command({ Bucket })))).toEqual(["dir/x"]);
    await world.s3.send(new DeleteObjectCommand({ Bucket, Key: "dir/x" }));
    await world.s3.send(new DeleteObjectCommand({ Bucket, Key: "dir/" }));
    expect(keysOf(await world.s3.send(new ListObjectsV2Command({ Bucket })))).toEqual([]);
  });
});

describe("listings", () => {
  const KEYS = ["a.txt", "a/1", "a/2/x", "a/2/y", "a0", "b", "c/d/e/f", "ä &<>", "z"];

  async function filled(): Promise<S3World> {
    const world = await setupS3();
    for (const key of KEYS) {
      await mkdir(join(world.volume, key, ".."), { recursive: true });
      await writeFile(join(world.volume, key), key);
    }
    return world;
  }

  async function paged(world: S3World, input: object): Promise<string[][]> {
    const pages: string[][] = [];
    for (let ContinuationToken: string | undefined; ; ) {
      const page = await world.s3.send(new ListObjectsV2Command({ Bucket, ContinuationToken, ...input }));
      pages.push(keysOf(page) as string[]);
      ContinuationToken = page.NextContinuationToken;
      expect(page.IsTruncated).toBe(ContinuationToken !== undefined);
      if (ContinuationToken === undefined) return pages;
    }
  }

  const inBytes = (keys: string[]) => keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

  test("have every key in the order of its bytes, in pages of any size", async () => {
    await using world = await filled();
    for (const MaxKeys of [1, 2, 3, 1000]) {
      const pages = await paged(world, { MaxKeys });
      expect(inBytes(pages.flat())).toEqual(inBytes(KEYS));
      expect(pages.map((page) => page.length).every((length) => length <= MaxKeys)).toBe(true);
    }
    const { Contents } = await world.s3.send(new ListObjectsV2Command({ Bucket }));
    expect(Contents?.map(({ Key }) => Key)).toEqual(inBytes(KEYS));
    expect(Contents?.find(({ Key }) => Key === "a/1")).toMatchObject({ Size: 3, ETag: expect.stringMatching(/-1"$/) });
  });

  test("show folders as prefixes where they are grouped, in pages of any size", async () => {
    await using world = await filled();
    for (const MaxKeys of [1, 2, 1000]) {
      const all = (await paged(world, { MaxKeys, Delimiter: "/" })).flat().toSorted();
      expect(all).toEqual(["a.txt", "a/ …", "a0", "b", "c/ …", "z", "ä &<>"]);
      expect((await paged(world, { MaxKeys, Delimiter: "/", Prefix: "a/" })).flat()).toEqual(["a/1", "a/2/ …"]);
      expect((await paged(world, { MaxKeys, Delimiter: "/", Prefix: "a" })).flat().toSorted()).toEqual([
        "a.txt",
        "a/ …",
        "a0",
      ]);
    }
    expect((await paged(world, { Delimiter: "2" })).flat()).toContain("a/2 …");
  });

  test("begin with a prefix, and after a key", async () => {
    await using world = await filled();
    expect((await paged(world, { Prefix: "a/2/" })).flat()).toEqual(["a/2/x", "a/2/y"]);
    expect((await paged(world, { Prefix: "c/d" })).flat()).toEqual(["c/d/e/f"]);
    expect((await paged(world, { Prefix: "nothing/here" })).flat()).toEqual([]);
    expect((await paged(world, { StartAfter: "a/2/x" })).flat()).toEqual(["a/2/y", "a0", "b", "c/d/e/f", "z", "ä &<>"]);
    const first = await world.s3.send(new ListObjectsCommand({ Bucket, MaxKeys: 3 }));
    const second = await world.s3.send(new ListObjectsCommand({ Bucket, Marker: first.NextMarker }));
    expect([...keysOf(first), ...keysOf(second)]).toHaveLength(KEYS.length);
    const wrong = world.s3.send(new ListObjectsV2Command({ Bucket, ContinuationToken: "?" }));
    expect(await refusal(wrong)).toEqual(["InvalidArgument", 400]);
  });

  test("write keys as in a URL where a client asks for that", async () => {
    await using world = await filled();
    const { Contents } = await world.s3.send(new ListObjectsV2Command({ Bucket, Prefix: "ä", EncodingType: "url" }));
    expect(Contents?.map(({ Key }) => Key)).toEqual(["%C3%A4%20%26%3C%3E"]);
  });
});

test("links that a program planted lead nowhere, to read, to list and to write", async () => {
  await using world = await setupS3();
  await symlink(world.outside, join(world.volume, "out"));
  await symlink(join(world.outside, "secret"), join(world.volume, "file"));
  await symlink("/etc/passwd", join(world.volume, "passwd"));
  for (const key of ["out/secret", "file", "passwd"])
    expect(await refusal(get(world.s3, key))).toEqual(["NoSuchKey", 404]);
  expect(keysOf(await world.s3.send(new ListObjectsV2Command({ Bucket })))).toEqual([]);
  expect(keysOf(await world.s3.send(new ListObjectsV2Command({ Bucket, Prefix: "out/" })))).toEqual([]);
  expect(await refusal(put(world.s3, "out/new"))).toEqual(["InvalidRequest", 400]);
  await put(world.s3, "file", "mine");
  expect([await readFile(join(world.outside, "secret"), "utf8"), await readdir(world.outside)]).toEqual([
    "outside",
    ["secret"],
  ]);
});

describe("uploads in parts", () => {
  const MB = 1024 * 1024;

  test("a large file goes in parts and comes back the same, and nothing is left of the parts", async () => {
    await using world = await setupS3();
    const body = Buffer.alloc(50 * MB, "0123456789abcdef\n");
    const upload = new Upload({
      client: world.s3,
      params: { Bucket, Key: "big.bin", Body: body },
      partSize: 8 * MB,
      queueSize: 3,
    });
    await upload.done();
    const { Body, ContentLength } = await world.s3.send(new GetObjectCommand({ Bucket, Key: "big.bin" }));
    const hash = createHash("sha256");
    for await (const chunk of Body as AsyncIterable<Buffer>) hash.update(chunk);
    expect([ContentLength, hash.digest("hex")]).toEqual([body.length, createHash("sha256").update(body).digest("hex")]);
    expect(await readdir(join(world.volume, ".millrace-s3", "uploads"))).toEqual([]);
  });

  test("are listed with their parts, replaced part by part, and put together in their order", async () => {
    await using world = await setupS3();
    const { s3 } = world;
    const Key = "parts/file";
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }));
    const part = async (PartNumber: number, Body: string) => ({
      PartNumber,
      ETag: (await s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body }))).ETag,
    });
    const complete = (Parts: object[]) =>
      s3.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }));
    const old = await part(2, "old");
    const second = await part(2, "world");
    const first = await part(1, "hello ");
    await put(s3, "source", "0123456789");
    const copied = await s3.send(
      new UploadPartCopyCommand({
        Bucket,
        Key,
        UploadId,
        PartNumber: 3,
        CopySource: `${Bucket}/source`,
        CopySourceRange: "bytes=1-2",
      }),
    );
    const third = { PartNumber: 3, ETag: copied.CopyPartResult?.ETag };
    const { Parts } = await s3.send(new ListPartsCommand({ Bucket, Key, UploadId }));
    expect(Parts?.map(({ PartNumber, Size }) => [PartNumber, Size])).toEqual([
      [1, 6],
      [2, 5],
      [3, 2],
    ]);
    const { Uploads } = await s3.send(new ListMultipartUploadsCommand({ Bucket }));
    expect(Uploads?.map((upload) => [upload.Key, upload.UploadId])).toEqual([[Key, UploadId]]);
    expect(keysOf(await s3.send(new ListObjectsV2Command({ Bucket })))).toEqual(["source"]);
    expect(await refusal(complete([first, old]))).toEqual(["InvalidPart", 400]);
    expect(await refusal(complete([second, first]))).toEqual(["InvalidPartOrder", 400]);
    expect(await refusal(complete([]))).toEqual(["MalformedXML", 400]);
    await complete([first, second, third]);
    expect(await get(s3, Key)).toBe("hello world12");
    expect(await refusal(complete([first]))).toEqual(["NoSuchUpload", 404]);
    expect(await refusal(part(1, "late"))).toEqual(["NoSuchUpload", 404]);
  });

  test("replace nothing where that is the condition, and can be completed again without it", async () => {
    await using world = await setupS3();
    const { s3 } = world;
    const Key = "once";
    const { ETag: theirs } = await put(s3, Key, "theirs");
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }));
    const { ETag } = await s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: "mine" }));
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] };
    const complete = (condition: object) =>
      s3.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload, ...condition }));
    for (const condition of [{ IfNoneMatch: "*" }, { IfMatch: ETag }])
      expect(await refusal(complete(condition))).toEqual(["PreconditionFailed", 412]);
    expect(await get(s3, Key)).toBe("theirs");
    await complete({ IfMatch: theirs });
    expect(await get(s3, Key)).toBe("mine");
  });

  test("are given up, and swept when nobody has added to them for a week", async () => {
    await using world = await setupS3();
    const { s3 } = world;
    const begin = async (Key: string) => (await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }))).UploadId!;
    const UploadId = await begin("given-up");
    await s3.send(new UploadPartCommand({ Bucket, Key: "given-up", UploadId, PartNumber: 1, Body: "x" }));
    const other = s3.send(new AbortMultipartUploadCommand({ Bucket, Key: "another", UploadId }));
    expect(await refusal(other)).toEqual(["NoSuchUpload", 404]);
    await s3.send(new AbortMultipartUploadCommand({ Bucket, Key: "given-up", UploadId }));
    await begin("old");
    const uploads = () => readdir(join(world.volume, ".millrace-s3", "uploads"));
    expect(await uploads()).toHaveLength(1);
    const [id] = await uploads();
    await utimes(join(world.volume, ".millrace-s3", "uploads", id!), 0, 0);
    await s3.send(new ListMultipartUploadsCommand({ Bucket }));
    expect(await uploads()).toEqual([]);
  });
});
