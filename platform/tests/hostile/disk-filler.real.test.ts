/** Pods write as much as they can on a small disk. Records can still be written, and everything can be deleted. */
import { execFileSync } from "node:child_process";
import { mkdir, statfs, truncate } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stay } from "../../src/kernel/clock.ts";
import { ownerKey, startServer, temporaryFolder } from "../process.ts";

const GIB = 2 ** 30;
const ENV = {
  MILLRACE_COMPUTE: "host",
  MILLRACE_GPUS: "virtual",
  MILLRACE_LOG_LEVEL: "error",
  MILLRACE_SSH_PORT: "off",
};
/** Only a server that hangs takes this long. */
const HANGS_MS = 180_000;

async function until<T>(look: () => Promise<T | undefined | false>, what: string): Promise<T> {
  for (const endMs = performance.now() + HANGS_MS; performance.now() < endMs; await stay(100)) {
    const found = await look();
    if (found) return found;
  }
  throw new Error(`never ${what}`);
}

/** A data folder on a file system of its own, inside a file. */
async function smallFileSystem() {
  const folder = await temporaryFolder();
  const [image, data] = [join(folder.path, "image"), join(folder.path, "data")];
  await mkdir(data);
  execFileSync("touch", [image]);
  await truncate(image, GIB);
  execFileSync("mkfs.ext4", ["-q", "-F", image]);
  execFileSync("mount", ["-o", "loop", image, data]);
  return {
    data,
    async [Symbol.asyncDispose]() {
      execFileSync("umount", ["--lazy", data]);
      await folder[Symbol.asyncDispose]();
    },
  };
}

const whyNot = process.getuid!() === 0 ? undefined : "only root can mount a small file system";

/** Two programs that write for ever, and continue when the disk is full. */
const fillers = (folder: string) =>
  `for k in 1 2; do (n=0; while :; do dd if=/dev/zero of=${folder}/f$k.$n bs=1M count=20 conv=fsync 2>/dev/null || sleep 0.02; n=$((n+1)); done) & done; wait`;

test("Pods that fill their disks and a volume take the last room from nobody, and can be deleted", async ({ skip }) => {
  skip(whyNot !== undefined, whyNot);
  await using disk = await smallFileSystem();
  await using server = await startServer(disk.data, { env: ENV });
  const key = await ownerKey(disk.data);
  const call = (method: string, path: string, body?: unknown) => server.call(method, path, { key, body });
  const volume = (await call("POST", "/v2/network-volumes", { name: "v", size: 100, dataCenter: "US-KS-2" })).json.id;
  const pod = async (name: string, cmd: string[], more: object = {}): Promise<string> => {
    const gpu = { id: "NVIDIA A40", count: 1 };
    const { status, json, text } = await call("POST", "/v2/pods", {
      name,
      image: "host",
      gpu,
      disk: 50,
      cmd,
      ...more,
    });
    expect(status, text).toBe(201);
    return json.id;
  };
  const view = async (id: string) => (await call("GET", `/v2/pods/${id}`)).json;
  const quiet = await pod("quiet", ["sleep", "10000"]);
  const own = await pod("fills its own disk", ["sh", "-c", fillers("/tmp")]);
  // The Pod's own disk is only a part of the free space. Like any program, it gets an error when that disk is full.
  await until(async () => (await view(own)).status === "RUNNING", "ran");
  const mounts = { network: [{ volumeId: volume, path: "/workspace" }] };
  const stranger = await pod("fills a volume", ["sh", "-c", fillers("/workspace")], { mounts });
  const ended = await until(async () => {
    const now = await view(stranger);
    return now.status === "ERROR" && now;
  }, "ended");
  expect(ended.statusReason).toMatch(/^the server's disk is full: .* are left, .* it wrote .*; start it again/);
  expect((await view(quiet)).status).toBe("RUNNING");
  // Records are written while the other Pod goes on writing.
  for (const id of [own, stranger]) expect((await call("DELETE", `/v2/pods/${id}`)).status).toBe(204);
  await until(async () => (await call("DELETE", `/v2/network-volumes/${volume}`)).status === 204, "deleted the volume");
  const freeBytes = async () => {
    const { bfree, bsize } = await statfs(disk.data);
    return bfree * bsize;
  };
  await until(async () => (await freeBytes()) > 0.7 * GIB, "had room again");
  expect((await call("DELETE", `/v2/pods/${quiet}`)).status).toBe(204);
  await until(async () => (await call("GET", "/v2/pods")).json.pods.length === 0, "deleted the Pods");
  expect(await server.end("SIGTERM")).toBe(0);
});
