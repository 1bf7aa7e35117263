/** The disk is full, or the data folder is gone. The server acknowledges nothing that it has not kept, and goes on. */
import { execFileSync } from "node:child_process";
import { mkdir, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stay } from "../../src/kernel/clock.ts";
import { ownerKey, type Server, startServer, temporaryFolder } from "../process.ts";

const isRoot = process.getuid!() === 0;
const MIB = 1024 * 1024;
const PROGRAM = { image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
const HOST = { MILLRACE_COMPUTE: "host", MILLRACE_LOG_LEVEL: "warn" };

/** A data folder on a disk of its own. */
async function smallDisk(megabytes: number) {
  const folder = await temporaryFolder();
  const data = join(folder.path, "data");
  await mkdir(data);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=0700`, "tmpfs", data]);
  const filler = join(data, "filler");
  return {
    data,
    /** Fills the disk to the last byte. */
    async fill() {
      await writeFile(filler, Buffer.alloc(megabytes * MIB, 1), { flag: "a" }).catch(() => {});
      await writeFile(filler, Buffer.alloc(4096, 1), { flag: "a" }).catch(() => {});
    },
    makeRoom: () => rm(filler, { force: true }),
    /** Frees a few megabytes. */
    makeSomeRoom: async () => truncate(filler, (await stat(filler)).size - 3 * MIB),
    async [Symbol.asyncDispose]() {
      execFileSync("umount", ["--lazy", data]);
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** The actions of somebody with a key. */
function callerOf(server: Server, key: string) {
  const call = (method: string, path: string, body?: unknown) => server.call(method, path, { key, body });
  return {
    call,
    async endpoint(name: string, more: object = {}): Promise<string> {
      const { status, json, text } = await call("POST", "/v2/serverless", { name, ...PROGRAM, ...more });
      expect(status, text).toBe(201);
      return json.id;
    },
    run: (endpoint: string) => call("POST", `/v2/${endpoint}/run`, { input: { filling: "x".repeat(5000) } }),
    status: async (endpoint: string, job: string) => (await call("GET", `/v2/${endpoint}/status/${job}`)).json,
  };
}

/** Only a server that hangs takes this long, even on a busy machine. */
const HANGS_MS = 120_000;

async function until<T>(look: () => Promise<T | undefined | false>, what: string): Promise<T> {
  for (const endMs = performance.now() + HANGS_MS; performance.now() < endMs; await stay(50)) {
    const found = await look();
    if (found) return found;
  }
  throw new Error(`never ${what}`);
}

// Only root can mount a small disk.
test.skipIf(!isRoot)(
  "a full disk refuses what needs it, deletes and restarts all the same, and is forgotten with room",
  async () => {
    await using disk = await smallDisk(40);
    const kept: string[] = [];
    let [works, doomed, later] = ["", "", ""];
    {
      await using server = await startServer(disk.data, { env: HOST });
      const caller = callerOf(server, await ownerKey(disk.data));
      works = await caller.endpoint("works", { workers: { min: 0, max: 0 } });
      doomed = await caller.endpoint("doomed", {
        cmd: ["sh", "-c", "while echo lines; do sleep 0.01; done"],
        workers: { min: 1, max: 1 },
      });
      later = await caller.endpoint("deleted after a restart", { workers: { min: 0, max: 0 } });
      kept.push((await caller.run(works)).json.id);
      await disk.fill();
      const refused = await until(async () => {
        const answer = await caller.run(works);
        if (answer.status === 200) kept.push(answer.json.id);
        return answer.status !== 200 && answer;
      }, "refused");
      expect([refused.status, refused.text]).toEqual([503, expect.stringContaining("disk")]);
      // The store's log may still have room for a record or two.
      const create = async () => (await caller.call("POST", "/v2/serverless", { name: "new", ...PROGRAM })).status;
      await until(async () => (await create()) === 503, "refused a record");
      expect((await caller.call("DELETE", `/v2/serverless/${doomed}`)).status).toBe(204);
      expect((await caller.call("GET", `/v2/serverless/${doomed}`)).status).toBe(404);
      for (const job of kept) expect((await caller.status(works, job)).status).toBe("IN_QUEUE");
      expect(server.process.exitCode).toBeNull();
      await disk.fill();
    }
    const full = Promise.withResolvers<void>();
    const logged = (log: string) => log.includes("disk is full") && full.resolve();
    const starting = startServer(disk.data, { env: HOST, logged });
    // A server that started on a full disk would be running by now, and would not have reported the full disk.
    expect(await Promise.race([full.promise, starting])).toBeUndefined();
    await disk.makeSomeRoom();
    await using server = await starting;
    const caller = callerOf(server, await ownerKey(disk.data));
    for (const job of kept) expect((await caller.status(works, job)).status).toBe("IN_QUEUE");
    expect((await caller.run(works)).status).toBe(503);
    expect((await caller.call("DELETE", `/v2/serverless/${later}`)).status).toBe(204);
    // A start reports what it waits for, and happens as soon as there is space.
    await caller.call("PATCH", `/v2/serverless/${works}`, { cmd: ["node", "-e", "0"], workers: { min: 0, max: 1 } });
    await until(
      async () => /disk is full/.test((await caller.status(works, kept[0]!)).waitReason ?? ""),
      "said why it waits",
    );
    await disk.makeRoom();
    await until(async () => (await caller.run(works)).status === 200, "accepted again");
    await until(async () => /exit 0/.test((await caller.status(works, kept[0]!)).waitReason ?? ""), "started");
    expect((await caller.call("DELETE", `/v2/serverless/${works}`)).status).toBe(204);
    expect(await server.end("SIGTERM")).toBe(0);
  },
);

test("a data folder that somebody moves away acknowledges nothing, and goes on when it is back", async () => {
  await using folder = await temporaryFolder();
  const data = join(folder.path, "data");
  await using server = await startServer(data);
  const caller = callerOf(server, await ownerKey(data));
  const endpoint = await caller.endpoint("kept");
  expect((await caller.run(endpoint)).status).toBe(200);
  await rename(data, `${data}-away`);
  const refused = await caller.run(endpoint);
  expect([refused.status, refused.text]).toEqual([503, expect.stringContaining("data folder")]);
  expect((await caller.call("POST", "/v2/serverless", { name: "new", ...PROGRAM })).status).toBe(503);
  await until(async () => server.log().includes("data folder"), "noticed");
  await rename(`${data}-away`, data);
  await until(async () => (await caller.run(endpoint)).status === 200, "accepted again");
});

test("a data folder that somebody removes acknowledges nothing any more", async () => {
  await using folder = await temporaryFolder();
  const data = join(folder.path, "data");
  await using server = await startServer(data);
  const caller = callerOf(server, await ownerKey(data));
  const endpoint = await caller.endpoint("lost");
  expect((await caller.run(endpoint)).status).toBe(200);
  await rm(data, { recursive: true, maxRetries: 5 });
  for (let n = 0; n < 3; n++) expect((await caller.run(endpoint)).status).toBe(503);
  expect(server.process.exitCode).toBeNull();
});
