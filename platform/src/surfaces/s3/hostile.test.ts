/** Hostile requests and programs against S3: they get a clear refusal, and reach nothing that is not theirs. */
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  ListMultipartUploadsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { describe, expect, test } from "vitest";
import { type Sent, send, signed, signedByHand, signerOf } from "../../../tests/s3-requests.ts";
import { BUCKET, type S3World, setupS3 } from "../../../tests/s3-world.ts";
import { SeededRandom } from "../../kernel/random.ts";

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

/** Makes the query of a presigned URL, which names the headers that must be sent with it. */
async function presigned(
  world: S3World,
  { method = "GET", path, headers = {} }: Sent,
): Promise<Record<string, string>> {
  const { host } = new URL(world.url);
  const plain = { method, protocol: "http:", hostname: host, path, headers: { host, ...headers } };
  const options = {
    expiresIn: 60,
    signingDate: world.clock.now() / 1000,
    unhoistableHeaders: new Set(Object.keys(headers)),
  };
  const unsigned = { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };
  const { query } = await signerOf(world).presign({ ...plain, headers: { ...plain.headers, ...unsigned } }, options);
  return query as Record<string, string>;
}

describe("a header that begins with x-amz-", () => {
  const path = `/s3/${Bucket}/target`;
  const copy = { "x-amz-copy-source": `${Bucket}/source` };

  async function withSource(): Promise<S3World> {
    const world = await setupS3();
    await writeFile(join(world.volume, "source"), "of the account");
    return world;
  }

  test("is refused where a presigned URL does not name it, so that nobody copies what its maker did not mean", async () => {
    await using world = await withSource();
    const query = await presigned(world, { method: "PUT", path });
    const put = { method: "PUT", path, query };
    expect(await send(world, { ...put, headers: copy })).toEqual([403, "AccessDenied"]);
    expect(await send(world, { ...put, headers: { "x-amz-meta-a": "b" } })).toEqual([403, "AccessDenied"]);
    expect(await readdir(world.volume)).toEqual(["source"]);
    expect(await send(world, { ...put, body: "mine", headers: { "content-length": "4" } })).toEqual([200, undefined]);
    expect(await readFile(join(world.volume, "target"), "utf8")).toBe("mine");
  });

  test("is taken where a presigned URL names it", async () => {
    await using world = await withSource();
    const query = await presigned(world, { method: "PUT", path, headers: copy });
    expect(await send(world, { method: "PUT", path, query })).toEqual([403, "SignatureDoesNotMatch"]);
    expect(await send(world, { method: "PUT", path, query, headers: copy })).toEqual([200, undefined]);
    expect(await readFile(join(world.volume, "target"), "utf8")).toBe("of the account");
  });

  test("is refused where a signature in the headers does not name it", async () => {
    await using world = await withSource();
    const { headers, ...rest } = await signed(world, { method: "PUT", path, headers: { "content-length": "0" } });
    expect(await send(world, { ...rest, headers: { ...headers, ...copy } })).toEqual([403, "AccessDenied"]);
    expect(await readdir(world.volume)).toEqual(["source"]);
    expect(await send(world, { ...rest, headers: headers! })).toEqual([200, undefined]);
  });

  test("says what is said of a presigned body without being named, as some clients send it", async () => {
    await using world = await withSource();
    const query = await presigned(world, { path: `/s3/${Bucket}/source` });
    const headers = { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };
    expect(await send(world, { path: `/s3/${Bucket}/source`, query, headers })).toEqual([200, undefined]);
  });
});

/** Names that every object has, or that change an object. */
const OF_OBJECTS = ["__proto__", "constructor", "toString", "valueOf", "hasOwnProperty", "__defineGetter__"];

describe("names that every object has", () => {
  test("are names of headers like others, which are signed or not", async () => {
    await using world = await setupS3();
    const path = `/s3/${Bucket}`;
    for (const name of OF_OBJECTS.map((one) => one.toLowerCase())) {
      const { headers, ...rest } = await signed(world, { path });
      const authorization = headers!.authorization!.replace("SignedHeaders=", `SignedHeaders=${name};`);
      const named = await send(world, { ...rest, headers: { ...headers, authorization } });
      expect([name, ...named]).toEqual([name, 403, "SignatureDoesNotMatch"]);
      const query = await presigned(world, { path });
      query["X-Amz-SignedHeaders"] += `;${name}`;
      expect([name, ...(await send(world, { path, query }))]).toEqual([name, 403, "SignatureDoesNotMatch"]);
    }
    const { headers, ...rest } = await signed(world, { path, headers: { constructor: "mine" } });
    expect(headers!.authorization).toContain("SignedHeaders=constructor;");
    expect(await send(world, { ...rest, headers: headers! })).toEqual([200, undefined]);
  });

  test("in a query are signed like others, and mean nothing", async () => {
    await using world = await setupS3();
    const path = `/s3/${Bucket}`;
    const { headers } = await signed(world, { path });
    for (const name of OF_OBJECTS) {
      const query = Object.fromEntries([[name, "1"]]);
      expect([name, ...(await send(world, { path, query, headers: headers! }))]).toEqual([
        ...[name, 403, "SignatureDoesNotMatch"],
      ]);
    }
  });
});

/** Every parameter of a query that S3 reads. */
const WORDS = [
  ...["list-type", "prefix", "delimiter", "marker", "start-after", "continuation-token", "max-keys", "encoding-type"],
  ...["uploads", "uploadId", "partNumber", "part-number-marker", "max-parts", "max-uploads", "upload-id-marker"],
  ...["key-marker", "delete", "location", "response-content-type", "response-content-disposition", "tagging", "acl"],
];
const HEADERS = [
  ...["range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "content-md5", "x-amz-trailer"],
  ...["x-amz-copy-source", "x-amz-copy-source-range", "x-amz-checksum-crc32", "x-amz-decoded-content-length"],
  ...["x-amz-meta-__proto__", "x-amz-metadata-directive", "x-amz-content-sha256", "x-amz-tagging"],
];
const VALUES = [
  ...OF_OBJECTS,
  "",
  "-1",
  "1e308",
  "9".repeat(400),
  "../..",
  "a\0b",
  "a\nb",
  "\u{1f600}",
  "\u{ffff}",
  "%",
  "*",
];

describe("no word of a request is a fault of the server", () => {
  const ONE_MORE = "<Delete><Object><__proto__>x</__proto__><constructor/><Key>&#xD800;</Key></Object></Delete>";
  const BODIES = ["", "x", "<Delete/>", "<__proto__/>", ONE_MORE];
  const METHODS = ["GET", "HEAD", "PUT", "POST", "DELETE"];
  const PATHS = ["", "/constructor", `/${Bucket}`, `/${Bucket}/file`, `/${Bucket}/__proto__`, `/${Bucket}/a%00%01`];
  const PLAIN = VALUES.filter((value) => /^[\x20-\x7e]*$/.test(value));

  test.each([1, 2])("of many that are made up, seed %i", async (seed) => {
    await using world = await setupS3();
    const random = new SeededRandom(seed);
    const one = <T>(all: readonly T[]): T => all[Math.floor(random.fraction() * all.length)]!;
    for (let i = 0; i < 300; i++) {
      await writeFile(join(world.volume, "file"), "0123456789");
      const body = one(BODIES);
      const query = Object.fromEntries([0, 1].map(() => [one([...WORDS, ...OF_OBJECTS]), one(VALUES)]));
      const headers = { "content-length": String(body.length), [one(HEADERS)]: one(PLAIN) };
      const sent = { method: one(METHODS), path: `/s3${one(PATHS)}`, query, headers, body };
      const [status] = await send(world, await signedByHand(world, sent));
      expect({ ...sent, status: status === 500 ? status : "fine" }).toEqual({ ...sent, status: "fine" });
    }
    expect(await readFile(join(world.outside, "secret"), "utf8")).toBe("outside");
  });
});

describe("what a program plants among the uploads", () => {
  const id = (n: number) => String(n).padStart(28, "a");

  async function planted(abouts: readonly unknown[]): Promise<S3World> {
    const world = await setupS3();
    for (const [n, about] of abouts.entries()) {
      await mkdir(join(uploadsOf(world), id(n)), { recursive: true });
      const text = typeof about === "string" ? about : JSON.stringify(about);
      await writeFile(join(uploadsOf(world), id(n), "about.json"), text);
    }
    return world;
  }

  const uploadsOf = ({ volume }: S3World) => join(volume, ".millrace-s3", "uploads");

  async function listed({ s3 }: S3World): Promise<(string | undefined)[]> {
    const plain = await s3.send(new ListMultipartUploadsCommand({ Bucket }));
    const encoded = await s3.send(new ListMultipartUploadsCommand({ Bucket, EncodingType: "url" }));
    expect(encoded.Uploads).toEqual(plain.Uploads);
    return (plain.Uploads ?? []).map(({ Key }) => Key);
  }

  const key = "file";
  const startedAt = 1_800_000_000_000;

  test("is an upload only if it could have been written by the server", async () => {
    await using world = await planted([
      { key, startedAt },
      ...[1e308, -1, 1.5, 8.64e15, "now", null, undefined].map((time) => ({ key, startedAt: time })),
      ...["", "a/../b", "\ud800", "a\0", "n".repeat(2000), "dir/", 7, null, ["file"]].map((one) => ({
        key: one,
        startedAt,
      })),
      ...["", "null", "7", "[]", "{", '{"key":"file","startedAt":1e999}', `{"__proto__":{"key":"file","startedAt":1}}`],
      `{"key":"file","startedAt":1,"more":"${"x".repeat(40_000)}"}`,
    ]);
    expect(await listed(world)).toEqual([key]);
    const query = { uploadId: id(1), partNumber: "1" };
    const part = await signed(world, { method: "PUT", path: `/s3/${Bucket}/${key}`, query, body: "" });
    expect(await send(world, part)).toEqual([404, "NoSuchUpload"]);
  });

  test("does no harm where something else than a file is expected", async () => {
    await using world = await planted([{ key, startedAt }]);
    const at = (...names: string[]) => join(uploadsOf(world), ...names);
    await mkdir(at(id(1), "about.json"), { recursive: true });
    await mkdir(at(id(2)));
    await symlink(join(world.outside, "secret"), at(id(2), "about.json"));
    await symlink(world.outside, at(id(3)));
    await writeFile(at(id(4)), "a file");
    await mkdir(at("no id \u{1}\u{fffe}"));
    await mkdir(at(id(0), "00001"));
    await symlink(join(world.outside, "secret"), at(id(0), "00002"));
    expect(await listed(world)).toEqual([key]);
    const path = `/s3/${Bucket}/${key}`;
    const query = { uploadId: id(0) };
    const body = `<CompleteMultipartUpload><Part><PartNumber>2</PartNumber><ETag>x</ETag></Part></CompleteMultipartUpload>`;
    const headers = { "content-length": String(body.length) };
    expect(await send(world, await signed(world, { method: "POST", path, query, body, headers }))).toEqual([
      400,
      "InvalidPart",
    ]);
    expect(await send(world, await signed(world, { path, query }))).toEqual([200, undefined]);
    expect(await send(world, await signed(world, { method: "DELETE", path, query }))).toEqual([204, undefined]);
    expect(await listed(world)).toEqual([]);
    expect(await readFile(join(world.outside, "secret"), "utf8")).toBe("outside");
  });
});
