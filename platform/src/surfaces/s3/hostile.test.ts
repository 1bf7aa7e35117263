/** What hostile requests and hostile programs do to S3: they are refused by name, and reach nothing that is not theirs. */
import { ListObjectsCommand, ListObjectsV2Command, PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { BUCKET, setupS3 } from "../../../tests/s3-world.ts";

const Bucket = BUCKET;

test("a listing that begins after a way out of the volume stays in the volume", async () => {
  await using world = await setupS3();
  await world.s3.send(new PutObjectCommand({ Bucket, Key: "mine", Body: "x" }));
  for (const after of ["../a", "../outside/a", "./a", "x/../../outside/a", "../../a", "a\0/b"])
    for (const more of [{}, { Delimiter: "/" }, { Prefix: "../" }, { Prefix: after }]) {
      const second = await world.s3.send(new ListObjectsV2Command({ Bucket, StartAfter: after, ...more }));
      const first = await world.s3.send(new ListObjectsCommand({ Bucket, Marker: after, ...more }));
      for (const { Contents = [], CommonPrefixes = [] } of [first, second]) {
        expect(CommonPrefixes).toEqual([]);
        expect(Contents.map(({ Key }) => Key).filter((key) => key !== "mine")).toEqual([]);
      }
    }
});
