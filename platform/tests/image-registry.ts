/** A real registry of images on the loopback address, with one repository; it can ask for a password, go away and come back. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzipSync, gzipSync } from "node:zlib";

const run = promisify(execFile);

export const CREDENTIAL = { username: "reader", password: "open-sesame" };
/** The line of an htpasswd file for it: the registry reads bcrypt alone. */
const HTPASSWD = "reader:$2b$04$abcdefghijklmnopqrstuuXcjcm5avyCiJoD2uS24xa2lb6fjMB3G\n";

export interface ImageRegistry extends AsyncDisposable {
  /** The reference of its first image, whose program writes `pulled`. */
  image: string;
  /** Makes a tag mean an image whose program writes this line; resolves with its reference. */
  put(tag: string, line: string): Promise<string>;
  /** From now on nobody listens there. */
  stop(): Promise<void>;
  /** It is back at the same address, with what it had. */
  start(): Promise<void>;
}

interface Blob {
  type: string;
  bytes: Buffer;
}

const MANIFEST = "application/vnd.docker.distribution.manifest.v2+json";
const REPOSITORY = "private/image";
const digestOf = (bytes: Buffer) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** One that lets in whoever has the credential, or everybody. */
export async function startRegistry({ isPublic = false } = {}): Promise<ImageRegistry> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-registry-"));
  const address = `127.0.0.1:${await freePort()}`;
  await writeFile(join(folder, "htpasswd"), HTPASSWD);
  await writeFile(join(folder, "config.json"), JSON.stringify(configOf(folder, address, isPublic)));
  let server: ChildProcess | undefined;
  const start = async () => {
    server = spawn("docker-registry", ["serve", join(folder, "config.json")], { stdio: ["ignore", "ignore", "pipe"] });
    await untilListening(server);
  };
  const stop = async () => {
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, "exit");
    server.kill("SIGKILL");
    await ended;
  };
  const put = async (tag: string, line: string) => {
    await push(`http://${address}/v2/${REPOSITORY}`, tag, await makeImage(line));
    return `${address}/${REPOSITORY}:${tag}`;
  };
  await start();
  return {
    image: await put("1", "pulled"),
    put,
    stop,
    start,
    async [Symbol.asyncDispose]() {
      await stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** JSON is YAML. */
const configOf = (folder: string, addr: string, isPublic: boolean) => ({
  version: 0.1,
  log: { level: "info" },
  storage: { filesystem: { rootdirectory: join(folder, "images") } },
  http: { addr },
  ...(!isPublic && { auth: { htpasswd: { realm: "registry", path: join(folder, "htpasswd") } } }),
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Its later words are read too, or a full pipe would stop it. */
function untilListening(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = "";
    server.stderr!.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-10_000);
      if (said.includes("listening on")) resolve();
    });
    server.once("exit", () => reject(new Error(`the registry did not start: ${said}`)));
    server.once("error", reject);
  });
}

async function push(repository: string, tag: string, { manifest, blobs }: Awaited<ReturnType<typeof makeImage>>) {
  for (const { bytes } of blobs) {
    const begun = await send("POST", `${repository}/blobs/uploads/`);
    const place = new URL(begun.headers.get("location")!);
    place.searchParams.set("digest", digestOf(bytes));
    await send("PUT", place, { type: "application/octet-stream", bytes });
  }
  await send("PUT", `${repository}/manifests/${tag}`, manifest);
}

async function send(method: string, url: string | URL, blob?: Blob): Promise<Response> {
  const authorization = `Basic ${Buffer.from(`${CREDENTIAL.username}:${CREDENTIAL.password}`).toString("base64")}`;
  const response = await fetch(url, {
    method,
    headers: { authorization, ...(blob && { "content-type": blob.type }) },
    ...(blob && { body: new Uint8Array(blob.bytes) }),
  });
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`);
  return response;
}

/** One layer with one program in it. */
async function makeImage(line: string): Promise<{ manifest: Blob; blobs: Blob[] }> {
  const tar = await run("tar", ["-C", "/bin", "-cz", "busybox"], { encoding: "buffer", maxBuffer: 64 * 1024 * 1024 });
  const bytes = gzipSync(gunzipSync(tar.stdout), { level: 1 });
  const layer = { type: "application/vnd.docker.image.rootfs.diff.tar.gzip", bytes };
  const config = {
    type: "application/vnd.docker.container.image.v1+json",
    bytes: Buffer.from(
      JSON.stringify({
        architecture: process.arch === "x64" ? "amd64" : process.arch,
        os: "linux",
        config: { Entrypoint: ["/busybox", "echo", line] },
        rootfs: { type: "layers", diff_ids: [digestOf(gunzipSync(bytes))] },
      }),
    ),
  };
  const described = (blob: Blob) => ({
    mediaType: blob.type,
    size: blob.bytes.length,
    digest: digestOf(blob.bytes),
  });
  const manifest = {
    type: MANIFEST,
    bytes: Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: MANIFEST,
        config: described(config),
        layers: [described(layer)],
      }),
    ),
  };
  return { manifest, blobs: [layer, config] };
}
