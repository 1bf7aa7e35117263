/** The buckets of an account: its network volumes and the persistent mounts of its Pods, and where their files are. */
import { GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { setupFleet } from "../../../tests/fleet-world.ts";
import type { Files } from "../../ports/files/files.ts";
import type { VolumeStorage } from "../../resources/volume-files/storage.ts";
import { networkVolumeBuckets, podBuckets } from "./volume-buckets.ts";

const FILES = { name: "files of this machine" } as unknown as Files;
const N2 = { id: "n2", url: "http://10.0.0.5:7420" };
const storage = (about: Partial<VolumeStorage> = {}): VolumeStorage => ({
  files: async () => FILES,
  own: ["machine"],
  nodeOf: async () => undefined,
  ...about,
});

async function setup() {
  const world = await setupFleet({
    machine: { capacity: { ceilings: true, gpus: [{ type: "NVIDIA L4", count: 2, virtual: true }] } },
  });
  await world.pass(1);
  const body = { name: "v", size: 10, dataCenter: "EU-RO-1" };
  const volume = (await world.call("POST", "/v2/network-volumes", { body })).json.id as string;
  return { world, volume, account: world.owner.account };
}

test("a network volume is a bucket of its account, in the region that is its data center", async () => {
  const { world, volume, account } = await setup();
  await using _ = world;
  const buckets = networkVolumeBuckets(world.services.volumes.records, storage());
  expect(await buckets.find(account, volume)).toEqual({
    ...{ id: volume, region: "EU-RO-1", createdAt: expect.any(Number), files: FILES },
  });
  expect((await buckets.list(account)).map(({ id, region }) => [id, region])).toEqual([[volume, "EU-RO-1"]]);
  expect([await buckets.find("another", volume), await buckets.list("another")]).toEqual([undefined, []]);
  expect(await buckets.find(account, "nothing")).toBeUndefined();
});

test("one on another node's machine says where it is, and one that is not made yet says so", async () => {
  const { world, volume, account } = await setup();
  await using _ = world;
  const { records } = world.services.volumes;
  const there = storage({ own: ["other"], nodeOf: async () => N2 });
  expect((await networkVolumeBuckets(records, there).find(account, volume))?.files).toEqual({
    away: "The volume is on machine machine of node n2 (http://10.0.0.5:7420): send the request there.",
    node: N2,
  });
  const unmade = storage({ files: async () => undefined });
  expect((await networkVolumeBuckets(records, unmade).find(account, volume))?.files).toEqual({
    away: expect.stringContaining("not made yet"),
  });
});

test("a Pod with a persistent mount is a bucket under its own id, also when it is stopped", async () => {
  const { world, account } = await setup();
  await using _ = world;
  const pod = {
    image: "host:/app",
    gpu: { id: "NVIDIA L4" },
    mounts: { persistent: { size: 10, path: "/workspace" } },
  };
  const made = await world.call("POST", "/v2/pods", { body: { name: "p", ...pod } });
  expect([made.status, made.json.detail]).toEqual([201, undefined]);
  const asked: string[] = [];
  const files = async (volume: string) => {
    asked.push(volume);
    return FILES;
  };
  const buckets = podBuckets(world.services.podRecords, storage({ files }));
  expect(await buckets.find(account, made.json.id)).toMatchObject({ id: made.json.id, files: FILES });
  expect((await buckets.list(account)).map(({ id }) => id)).toEqual([made.json.id]);
  expect(asked).toEqual([expect.stringContaining(made.json.id)]);
  await world.call("POST", `/v2/pods/${made.json.id}/action`, { body: { action: "stop" } });
  await world.pass(2);
  expect(await buckets.find(account, made.json.id)).toBeDefined();
  expect(await buckets.find("another", made.json.id)).toBeUndefined();
});

test("a client reads and writes what the machine's driver keeps, wherever that is", async () => {
  // The client sets its clock by the answers it gets, and those carry this machine's time.
  await using world = await setupFleet({ startsAt: Date.now() });
  await world.pass(1);
  const body = { name: "v", size: 10, dataCenter: "EU-RO-1" };
  const Bucket = (await world.call("POST", "/v2/network-volumes", { body })).json.id as string;
  const { accessKeyId, secretAccessKey } = (await world.call("POST", "/v2/account/s3-keys", { body: { name: "k" } }))
    .json;
  const credentials = { accessKeyId, secretAccessKey };
  const address = { endpoint: `${world.url}/s3`, region: "EU-RO-1", forcePathStyle: true, maxAttempts: 1 };
  const s3 = new S3Client({ ...address, credentials });
  await s3.send(new PutObjectCommand({ Bucket, Key: "in/model", Body: "by a client" }));
  expect(world.compute.volumes!.read(Bucket, "in/model")).toBe("by a client");
  world.compute.volumes!.write(Bucket, "out/result", "by a program");
  const got = await s3.send(new GetObjectCommand({ Bucket, Key: "out/result" }));
  expect(await got.Body!.transformToString()).toBe("by a program");
  s3.destroy();
});
