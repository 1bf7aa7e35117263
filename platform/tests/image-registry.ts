/** A registry of images on the loopback address that has one image and asks for a password. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { gunzipSync, gzipSync } from "node:zlib";

const run = promisify(execFile);

export interface ImageRegistry extends AsyncDisposable {
  /** The reference of its image. */
  image: string;
}

interface Blob {
  type: string;
  bytes: Buffer;
}

const MANIFEST = "application/vnd.docker.distribution.manifest.v2+json";
const digestOf = (bytes: Buffer) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

export async function startRegistry(credential: { username: string; password: string }): Promise<ImageRegistry> {
  const blobs = await makeImage();
  const authorization = `Basic ${Buffer.from(`${credential.username}:${credential.password}`).toString("base64")}`;
  const server = createServer((request, response) => {
    if (request.headers.authorization !== authorization) refuse(response);
    else answer(blobs, request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    image: `127.0.0.1:${(server.address() as AddressInfo).port}/private/image:1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function refuse(response: ServerResponse): void {
  response.writeHead(401, { "www-authenticate": 'Basic realm="registry"' });
  response.end(JSON.stringify({ errors: [{ code: "UNAUTHORIZED", message: "authentication required" }] }));
}

function answer(blobs: Map<string, Blob>, { method, url }: IncomingMessage, response: ServerResponse): void {
  const name = url!.split("/").at(-1)!;
  const blob = blobs.get(name);
  if (url === "/v2/") response.end("{}");
  else if (!blob) response.writeHead(404).end();
  else {
    const headers = { "content-type": blob.type, "content-length": blob.bytes.length };
    response.writeHead(200, { ...headers, "docker-content-digest": digestOf(blob.bytes) });
    response.end(method === "HEAD" ? undefined : blob.bytes);
  }
}

/** One layer with one program in it. */
async function makeImage(): Promise<Map<string, Blob>> {
  const tar = await run("tar", ["-C", "/bin", "-cz", "busybox"], { encoding: "buffer", maxBuffer: 64 * 1024 * 1024 });
  const layer = gzipSync(gunzipSync(tar.stdout), { level: 1 });
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === "x64" ? "amd64" : process.arch,
      os: "linux",
      config: { Entrypoint: ["/busybox", "echo", "pulled"] },
      rootfs: { type: "layers", diff_ids: [digestOf(gunzipSync(layer))] },
    }),
  );
  const described = (type: string, bytes: Buffer) => ({ mediaType: type, size: bytes.length, digest: digestOf(bytes) });
  const configType = "application/vnd.docker.container.image.v1+json";
  const layerType = "application/vnd.docker.image.rootfs.diff.tar.gzip";
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: described(configType, config),
      layers: [described(layerType, layer)],
    }),
  );
  return new Map([
    ["1", { type: MANIFEST, bytes: manifest }],
    [digestOf(manifest), { type: MANIFEST, bytes: manifest }],
    [digestOf(config), { type: configType, bytes: config }],
    [digestOf(layer), { type: layerType, bytes: layer }],
  ]);
}
