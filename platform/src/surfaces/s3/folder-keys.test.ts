/** A key with a slash at its end names a folder, and the same key without it a file: neither stands for the other. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CopyObjectCommand, DeleteObjectCommand, DeleteObjectsCommand } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { BUCKET, setupS3 } from "../../../tests/s3-world.ts";

const Bucket = BUCKET;

test("who deletes a folder deletes no file of that name, and the other way round", async () => {
  await using world = await setupS3();
  const { s3, volume } = world;
  await writeFile(join(volume, "file"), "text");
  await mkdir(join(volume, "folder"));
  await s3.send(new DeleteObjectCommand({ Bucket, Key: "file/" }));
  await s3.send(new DeleteObjectCommand({ Bucket, Key: "folder" }));
  const Objects = ["file/", "folder"].map((Key) => ({ Key }));
  await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
  expect(await readdir(volume)).toEqual(["file", "folder"]);
  await s3.send(new DeleteObjectCommand({ Bucket, Key: "folder/" }));
  await s3.send(new DeleteObjectCommand({ Bucket, Key: "file" }));
  expect(await readdir(volume)).toEqual([]);
});

test("a copy to the key of a folder writes no file, and replaces none", async () => {
  await using world = await setupS3();
  const { s3, volume } = world;
  await writeFile(join(volume, "from"), "text");
  await writeFile(join(volume, "empty"), "");
  await writeFile(join(volume, "file"), "stays");
  const copy = (source: string, Key: string) =>
    s3.send(new CopyObjectCommand({ Bucket, Key, CopySource: `${Bucket}/${source}` }));
  await expect(copy("from", "new/")).rejects.toMatchObject({ name: "InvalidArgument" });
  await expect(copy("from", "file/")).rejects.toMatchObject({ name: "InvalidArgument" });
  await expect(copy("empty", "file/")).rejects.toMatchObject({ name: "InvalidRequest" });
  await copy("empty", "new/");
  expect(await readFile(join(volume, "file"), "utf8")).toBe("stays");
  expect(await readdir(join(volume, "new"))).toEqual([]);
});
