/** S3 through a node whose machine does not have the volume. */
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { type FleetWorld, setupFleet } from "../../../tests/fleet-world.ts";
import { setup as setupWorld, type World } from "../../../tests/world.ts";
import { MemoryLogs } from "../../ports/logs/memory-logs.ts";
import { MemorySignals } from "../../ports/signals/memory-signals.ts";

async function setup() {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  // The client sets its clock by the answers it gets, and those carry this machine's time.
  const first = await setupFleet({ signals, machine: { name: "first" }, startsAt: Date.now() });
  const beside = { signals, store: first.store, found: { ...first, logs: new MemoryLogs() } };
  const second = await setupWorld({ ...beside, machine: "second" });
  await first.pass(6);
  const body = { name: "v", size: 10, dataCenter: "EU-RO-1" };
  const Bucket = (await first.call("POST", "/v2/network-volumes", { body })).json.id as string;
  await first.pass(1);
  const { accessKeyId, secretAccessKey } = (await first.call("POST", "/v2/account/s3-keys", { body: { name: "k" } }))
    .json;
  const credentials = { accessKeyId, secretAccessKey };
  const clientOf = ({ url }: World) =>
    new S3Client({
      ...{ endpoint: `${url}/s3`, region: "EU-RO-1", forcePathStyle: true, maxAttempts: 1, credentials },
    });
  return { first, second, Bucket, s3: clientOf(second), kept: (path: string) => keptOn(first, Bucket, path) };
}

const keptOn = ({ compute }: FleetWorld, volume: string, path: string) => compute.volumes!.read(volume, path);

test("a client writes, lists and reads through the other node, in small and in large", async () => {
  const { first, second, Bucket, s3, kept } = await setup();
  const large = "x".repeat(3_000_000);
  await s3.send(new PutObjectCommand({ Bucket, Key: "in/small", Body: "by a client" }));
  await s3.send(new PutObjectCommand({ Bucket, Key: "in/large", Body: large }));
  expect([kept("in/small"), kept("in/large")?.length]).toEqual(["by a client", large.length]);
  const { Contents } = await s3.send(new ListObjectsV2Command({ Bucket }));
  expect(Contents?.map(({ Key, Size }) => [Key, Size])).toEqual([
    ["in/large", large.length],
    ["in/small", 11],
  ]);
  const got = await s3.send(new GetObjectCommand({ Bucket, Key: "in/large" }));
  expect(await got.Body!.transformToString()).toBe(large);
  await expect(s3.send(new GetObjectCommand({ Bucket, Key: "none" }))).rejects.toMatchObject({ name: "NoSuchKey" });
  s3.destroy();
  await second[Symbol.asyncDispose]();
  await first[Symbol.asyncDispose]();
});

test("while the node that has the files is away, the refusal names it", async () => {
  const { first, second, Bucket, s3 } = await setup();
  await first.abandon();
  await expect(s3.send(new GetObjectCommand({ Bucket, Key: "a" }))).rejects.toMatchObject({
    name: "ServiceUnavailable",
    message: "Node first, which has the files, is not reachable: ECONNREFUSED.",
  });
  s3.destroy();
  await second[Symbol.asyncDispose]();
});
