/** Completing an upload takes as long as its copy. Clients that wait, ask again or ask twice all get to its end. */
import { readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { BUCKET, type S3World, setupS3 } from "../../../tests/s3-world.ts";
import type { Files } from "../../ports/files/files.ts";
import { EVERY_MS } from "./long-answer.ts";

const Bucket = BUCKET;
const Key = "model.bin";

async function uploaded({ s3 }: S3World, text = "weights") {
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }));
  const { ETag } = await s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: text }));
  const complete = (given: object = {}, PartNumber = 1) =>
    new CompleteMultipartUploadCommand({
      ...{ Bucket, Key, UploadId, MultipartUpload: { Parts: [{ PartNumber, ETag }] } },
      ...given,
    });
  return { UploadId: UploadId!, ETag, complete };
}

const textOf = async ({ s3 }: S3World) =>
  (await s3.send(new GetObjectCommand({ Bucket, Key }))).Body!.transformToString();
const codeOf = (answer: Promise<unknown>) => answer.then(String, ({ name }: Error) => name);
const notes = ({ volume }: S3World) => readdir(join(volume, ".millrace-s3", "completed"));

/** Files whose drafts wait while the gate is closed, as a copy of many gigabytes would. */
function gated() {
  let gate: PromiseWithResolvers<void> | undefined;
  const around = (files: Files): Files =>
    Object.assign(Object.create(files) as Files, {
      hidden: files.hidden,
      async draft(size?: number) {
        await gate?.promise;
        return files.draft(size);
      },
    });
  return {
    around,
    close: () => {
      gate = Promise.withResolvers();
    },
    open: () => gate?.resolve(),
  };
}

test("who asks again gets the answer of the first time, for a day and for the same parts", async () => {
  await using world = await setupS3();
  const { s3, volume } = world;
  const { UploadId, complete } = await uploaded(world);
  const { ETag } = await s3.send(complete());
  expect((await s3.send(complete())).ETag).toBe(ETag);
  expect(await codeOf(s3.send(complete({}, 2)))).toBe("NoSuchUpload");
  expect(await notes(world)).toEqual([UploadId]);
  await utimes(join(volume, ".millrace-s3", "completed", UploadId), 0, 0);
  // The sweep begins anywhere among the notes.
  while ((await notes(world)).length > 0) await uploaded(world);
  expect(await codeOf(s3.send(complete()))).toBe("NoSuchUpload");
});

test("who asks while it is being done waits for the same end", async () => {
  const gate = gated();
  await using world = await setupS3({}, gate.around);
  const { s3, clock } = world;
  const { complete } = await uploaded(world);
  gate.close();
  const asked = [s3.send(complete()), s3.send(complete())];
  await clock.armed(EVERY_MS, 2);
  gate.open();
  const [first, second] = await Promise.all(asked);
  expect(second!.ETag).toBe(first!.ETag);
  expect(await textOf(world)).toBe("weights");
});

test("a client that waits is sent white space, so that it does not give up, and goes on to the answer", async () => {
  const gate = gated();
  await using world = await setupS3({}, gate.around);
  const { s3, clock } = world;
  const { complete } = await uploaded(world);
  const command = complete();
  const answered = Promise.withResolvers<number>();
  let text = "";
  command.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const response = result.response as { statusCode: number; body: AsyncIterable<Buffer> };
      answered.resolve(response.statusCode);
      for await (const chunk of response.body) text += chunk;
      response.body = Readable.from([Buffer.from(text)]);
      return result;
    },
    { step: "deserialize", priority: "low", name: "seen" },
  );
  gate.close();
  const asked = s3.send(command);
  for (let times = 0; times < 3; times++) {
    await clock.armed(EVERY_MS);
    await clock.advance(EVERY_MS);
  }
  expect(await answered.promise).toBe(200);
  gate.open();
  expect((await asked).ETag).toMatch(/-1"$/);
  expect(text).toMatch(/^<\?xml version="1.0" encoding="UTF-8"\?>\n +<CompleteMultipartUploadResult /);
  expect(await textOf(world)).toBe("weights");
});

test("a refusal after that is in the body, where clients look for it", async () => {
  const gate = gated();
  await using world = await setupS3({}, gate.around);
  const { s3, clock } = world;
  const { complete } = await uploaded(world);
  await s3.send(new PutObjectCommand({ Bucket, Key, Body: "theirs" }));
  gate.close();
  const asked = codeOf(s3.send(complete({ IfNoneMatch: "*" })));
  await clock.armed(EVERY_MS);
  await clock.advance(EVERY_MS);
  gate.open();
  expect(await asked).toBe("PreconditionFailed");
  expect(await textOf(world)).toBe("theirs");
});
