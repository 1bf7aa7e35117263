/** A server with one volume, which is a folder of this machine, and an S3 client of its account. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { S3Client, type S3ClientConfig } from "@aws-sdk/client-s3";
import { FolderFiles } from "../src/adapters/files/folder-files.ts";
import { SeededRandom } from "../src/kernel/random.ts";
import type { Files } from "../src/ports/files/files.ts";
import type { Bucket, BucketFinder } from "../src/surfaces/s3/buckets.ts";
import { setup, type World, type WorldOptions } from "./world.ts";

export const BUCKET = "vol1234567";
export const AWAY = "volaway123";
export const REGION = "EU-RO-1";

export interface S3World extends World {
  s3: S3Client;
  /** The volume's folder, where programs could write. */
  volume: string;
  /** Another folder, with a file `secret`. */
  outside: string;
  credential: { accessKeyId: string; secretAccessKey: string };
  client(config?: Partial<S3ClientConfig>): S3Client;
}

/** The client sets its clock by the answers it gets, and those carry this machine's time. So the server starts with that time. */
export async function setupS3(
  options: WorldOptions = {},
  around: (files: Files) => Files = (files) => files,
): Promise<S3World> {
  const base = await mkdtemp(join(tmpdir(), "millrace-s3-"));
  const [volume, outside] = [join(base, "volume"), join(base, "outside")];
  await mkdir(volume);
  await mkdir(outside);
  await writeFile(join(outside, "secret"), "outside");
  const files = around(new FolderFiles(volume, new SeededRandom(7)));
  let owner = "";
  const finder = bucketsOf(
    () => owner,
    [
      { id: BUCKET, region: REGION, createdAt: 0, files },
      { id: AWAY, region: REGION, createdAt: 0, files: { away: "The volume is on machine m2 of node n2: ask there." } },
    ],
  );
  const world = await setup({ startsAt: Date.now(), ...options, buckets: [finder] });
  owner = world.owner.account;
  const made = (await world.call("POST", "/v2/account/s3-keys", { body: { name: "test" } })).json;
  const credential = { accessKeyId: made.accessKeyId, secretAccessKey: made.secretAccessKey };
  const client = (config: Partial<S3ClientConfig> = {}) =>
    new S3Client({
      ...{ endpoint: `${world.url}/s3`, region: REGION, credentials: credential, forcePathStyle: true, maxAttempts: 1 },
      ...config,
    });
  const s3 = client();
  return {
    ...world,
    ...{ s3, volume, outside, credential, client },
    async [Symbol.asyncDispose]() {
      s3.destroy();
      await world[Symbol.asyncDispose]();
      await rm(base, { recursive: true });
    },
  };
}

const bucketsOf = (owner: () => string, buckets: readonly Bucket[]): BucketFinder => ({
  find: async (account, id) => (account === owner() ? buckets.find((bucket) => bucket.id === id) : undefined),
  list: async (account) => (account === owner() ? [...buckets] : []),
});
