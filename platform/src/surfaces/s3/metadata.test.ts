/** Metadata that clients send with files, and the questions that they ask before they write or copy. */
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { BUCKET, type S3World, setupS3 } from "../../../tests/s3-world.ts";

const Bucket = BUCKET;
const Metadata = { mtime: "1789000000.123456789", note: "a b" };
const put = ({ s3 }: S3World, Key: string, more: object = {}) =>
  s3.send(new PutObjectCommand({ Bucket, Key, Body: "x", ...more }));
const saidOf = async ({ s3 }: S3World, Key: string) =>
  (await s3.send(new HeadObjectCommand({ Bucket, Key }))).Metadata ?? {};
const records = ({ volume }: S3World) => readdir(join(volume, ".millrace-s3", "metadata")).catch(() => []);

test("metadata is kept with the file, and not longer than its contents and the file", async () => {
  await using world = await setupS3();
  await put(world, "file", { Metadata });
  expect(await saidOf(world, "file")).toEqual(Metadata);
  await writeFile(join(world.volume, "file"), "by a program");
  expect(await saidOf(world, "file")).toEqual({});
  await put(world, "file", { Metadata });
  await put(world, "file");
  expect(await saidOf(world, "file")).toEqual({});
  await world.s3.send(new DeleteObjectCommand({ Bucket, Key: "file" }));
  expect(await records(world)).toEqual([]);
});

test("metadata is copied with the file, or replaced, also of a file that is copied to itself", async () => {
  await using world = await setupS3();
  await put(world, "a", { Metadata });
  const copy = (Key: string, more: object = {}) =>
    world.s3.send(new CopyObjectCommand({ Bucket, Key, CopySource: `${Bucket}/a`, ...more }));
  await copy("b");
  await copy("c", { MetadataDirective: "REPLACE", Metadata: { mtime: "1" } });
  await copy("a", { MetadataDirective: "REPLACE", Metadata: { mtime: "2" } });
  expect([await saidOf(world, "b"), await saidOf(world, "c"), await saidOf(world, "a")]).toEqual([
    Metadata,
    { mtime: "1" },
    { mtime: "2" },
  ]);
});

test("metadata of an upload in parts is that of its file", async () => {
  await using world = await setupS3();
  const at = { Bucket, Key: "parts" };
  const { UploadId } = await world.s3.send(new CreateMultipartUploadCommand({ ...at, Metadata }));
  const { ETag } = await world.s3.send(new UploadPartCommand({ ...at, UploadId, PartNumber: 1, Body: "x" }));
  const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] };
  await world.s3.send(new CompleteMultipartUploadCommand({ ...at, UploadId, MultipartUpload }));
  expect(await saidOf(world, "parts")).toEqual(Metadata);
});

test("metadata of more than 2 KB is refused, and nothing is written", async () => {
  await using world = await setupS3();
  const sent = put(world, "file", { Metadata: { a: "x".repeat(2048) } });
  await expect(sent).rejects.toMatchObject({ name: "MetadataTooLarge", $metadata: { httpStatusCode: 400 } });
  expect(await readdir(world.volume)).toEqual([]);
});

test("what a program plants as metadata is ignored", async () => {
  await using world = await setupS3();
  await put(world, "file", { Metadata });
  const folder = join(world.volume, ".millrace-s3", "metadata");
  const [name] = await readdir(folder);
  const { ETag } = await world.s3.send(new HeadObjectCommand({ Bucket, Key: "file" }));
  const tag = ETag!.slice(1, -3);
  const planted = [
    [["a\r\nb", "c"]],
    [["a", "b\r\nSet-Cookie: c"]],
    [["a", 1]],
    [["a"]],
    { length: 1 },
    [["a", "x".repeat(3000)]],
  ];
  for (const said of planted) {
    await writeFile(join(folder, name!), JSON.stringify({ tag, said }));
    expect([said, await saidOf(world, "file")]).toEqual([said, {}]);
  }
});

test("a file has no tags, which clients ask for before they copy a large one", async () => {
  await using world = await setupS3();
  await put(world, "file");
  const tags = (Key: string) => world.s3.send(new GetObjectTaggingCommand({ Bucket, Key }));
  expect((await tags("file")).TagSet ?? []).toEqual([]);
  await expect(tags("nothing")).rejects.toMatchObject({ name: "NoSuchKey" });
});

test("a bucket that is there is yours already, and another is made as a network volume", async () => {
  await using world = await setupS3();
  const create = (name: string) => world.s3.send(new CreateBucketCommand({ Bucket: name }));
  await expect(create(Bucket)).rejects.toMatchObject({
    name: "BucketAlreadyOwnedByYou",
    $metadata: { httpStatusCode: 409 },
  });
  await expect(create("nothing123")).rejects.toThrow("Make it at /v2/network-volumes");
});
