/** A real image registry on the loopback address with one repository. It can require a password, stop and start again. */
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
/** Its line in an htpasswd file. The registry accepts only bcrypt. */
const HTPASSWD = "reader:$2b$04$abcdefghijklmnopqrstuuXcjcm5avyCiJoD2uS24xa2lb6fjMB3G\n";

export interface ImageRegistry extends AsyncDisposable {
  /** The reference of its first image, whose program writes `pulled`. */
  image: string;
  /** Makes a tag point to an image whose program writes this line. Resolves with its reference. */
  put(tag: string, line: string): Promise<string>;
  /** From now on nothing listens there. */
  stop(): Promise<void>;
  /** Starts again at the same address, with the same content. */
  start(): Promise<void>;
}

interface Blob {
  type: string;
  bytes: Buffer;
}

const MANIFEST = "application/vnd.docker.distribution.manifest.v2+json";
const REPOSITORY = "private/image";
const digestOf = (bytes: Buffer) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** A registry that accepts the credential, or everyone. It listens on the loopback, or at the address that is given. */
export async function startRegistry({ isPublic = false, at = "" } = {}): Promise<ImageRegistry> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-registry-"));
  const address = at || `127.0.0.1:${await freePort()}`;
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

/** The registry wants YAML, and JSON is YAML. */
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

/** Reads everything that the registry writes, also later. A full pipe would stop it. */
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

/** Makes an image of one layer with one program. */
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
