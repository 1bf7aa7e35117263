/** Results of 200 MB through a real server on each store: never whole in its memory, and removed when they must be. */
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { describe, expect, test } from "vitest";
import { apiKeyText } from "../src/kernel/ids.ts";
import { realRandom } from "../src/kernel/random.ts";
import { openInstallation } from "../src/main.ts";
import { settingsFrom } from "../src/settings/settings.ts";
import { freshDatabase } from "./database.ts";
import { type Server, startServer, temporaryFolder } from "./process.ts";

const MIB = 1_048_576;
const PIECES = 200;
/**
 * What passes through leaves garbage until it is collected: 30 to 55 MB were measured, with results of 100 MB and of 200. A result that was
 * held in memory would add its whole size, and as text twice that.
 */
const MOST_GROWTH = 128 * MIB;

/** Each piece is different, so that none can take another's place. */
const piece = (i: number) => Buffer.from(`${i}:`.padEnd(MIB, createHash("sha256").update(String(i)).digest("hex")));

/** A result as a worker sends it, with this many pieces of text as its output. */
function* resultOf(pieces: number, rest = ""): Generator<Buffer> {
  yield Buffer.from('{"output":"');
  for (let i = 0; i < pieces; i++) yield piece(i);
  yield Buffer.from(`"${rest}}`);
}

function outputDigest(pieces: number): string {
  const hash = createHash("sha256").update('"');
  for (let i = 0; i < pieces; i++) hash.update(piece(i));
  return hash.update('"').digest("hex");
}

async function setup(kind: "SQLite" | "PostgreSQL") {
  const database = kind === "PostgreSQL" ? await freshDatabase() : undefined;
  const folder = await temporaryFolder();
  const key = apiKeyText(realRandom);
  const env = {
    MILLRACE_API_KEY: key,
    MILLRACE_MASTER_KEY: Buffer.from(realRandom.bytes(32)).toString("base64"),
    ...(database ? { MILLRACE_DATABASE_URL: database.url } : {}),
  };
  let server = await startServer(folder.path, { env });
  const body = { name: "long", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const endpoint = (await server.call("POST", "/v2/serverless", { key, body })).json.id as string;
  const settings = settingsFrom({ ...env, MILLRACE_DATA: folder.path });
  const { workerKey, strangersKey } = await keysFor(settings, endpoint);
  const call = (method: string, path: string, as = key, body?: unknown) =>
    server.call(method, `/v2/${endpoint}${path}`, { key: as, body });
  return {
    endpoint,
    key,
    strangersKey,
    payloads: join(folder.path, "payloads"),
    get server(): Server {
      return server;
    },
    call,
    status: async (id: string) => (await call("GET", `/status/${id}`)).json,
    async begun(): Promise<string> {
      await call("POST", "/run", key, { input: {} });
      return (await call("GET", "/job-take/w1?gpu=none", workerKey)).json.id;
    },
    /** Posts a result as fast as it is read. Resolves with the status. */
    async post(id: string, result: Iterable<Buffer>, length?: number): Promise<number> {
      const posting = request(`${server.url}/v2/${endpoint}/job-done/w1/${id}`, {
        method: "POST",
        headers: { authorization: workerKey, ...(length ? { "content-length": length } : {}) },
      });
      const answered = new Promise<number>((resolve, reject) => {
        posting.once("response", (response) => resolve(response.resume().statusCode!)).once("error", reject);
      });
      await pipeline(Readable.from(result), posting).catch(() => undefined);
      return answered;
    },
    async killed() {
      await server.end("SIGKILL");
      server = await startServer(folder.path, { env, args: ["--port", new URL(server.url).port] });
    },
    /** The peak memory of the server during the work, beyond what it held before. */
    async growth(work: () => Promise<void>): Promise<number> {
      const { pid } = server.process;
      const held = async (field: string) =>
        Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(await readFile(`/proc/${pid}/status`, "utf8"))![1]) *
        1024;
      const before = await held("VmRSS");
      await writeFile(`/proc/${pid}/clear_refs`, "5");
      await work();
      return (await held("VmHWM")) - before;
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
    },
  };
}

async function keysFor(settings: ReturnType<typeof settingsFrom>, endpoint: string) {
  await using installation = await openInstallation(settings);
  const { account } = await installation.accounts.firstOwner();
  const stranger = await installation.accounts.create("stranger", "s@localhost");
  return {
    workerKey: (await installation.workerKeys.issue(account, endpoint)).key,
    strangersKey: (await installation.account.issueKey(stranger, { scopes: ["all"] })).key,
  };
}

const lengthOf = (result: Iterable<Buffer>) => {
  let length = 0;
  for (const bytes of result) length += bytes.length;
  return length;
};

async function digestOf(response: Response): Promise<string> {
  const hash = createHash("sha256");
  for await (const bytes of response.body!) hash.update(bytes);
  return hash.digest("hex");
}

describe.each(["SQLite", "PostgreSQL"] as const)("on %s", (kind) => {
  test("a result of 200 MB comes in, is kept and goes out without being held in memory", async () => {
    await using at = await setup(kind);
    // The first result warms the server up, before anything is measured.
    const first = await at.begun();
    expect(await at.post(first, resultOf(22), lengthOf(resultOf(22)))).toBe(200);
    await digestOf(await fetch((await at.status(first)).output.url));
    const id = await at.begun();
    const taken = await at.growth(async () => {
      expect(await at.post(id, resultOf(PIECES), lengthOf(resultOf(PIECES)))).toBe(200);
    });
    const { status, output } = await at.status(id);
    expect([status, output.bytes]).toEqual(["COMPLETED", PIECES * MIB + 2]);
    const given = await at.growth(async () => {
      const response = await fetch(output.url);
      expect(Number(response.headers.get("content-length"))).toBe(output.bytes);
      expect(await digestOf(response)).toBe(outputDigest(PIECES));
    });
    expect(taken).toBeLessThan(MOST_GROWTH);
    expect(given).toBeLessThan(MOST_GROWTH);
    expect((await at.call("GET", `/output/${id}`, at.strangersKey)).status).toBe(404);
    expect((await fetch(output.url.replace(/signature=./, "signature=!"))).status).toBe(401);
    await at.killed();
    const last = { range: `bytes=${output.bytes - MIB - 1}-${output.bytes - 2}` };
    const lastOnes = await (await fetch(output.url, { headers: last })).bytes();
    expect(piece(PIECES - 1).equals(lastOnes)).toBe(true);
    expect((await at.call("DELETE", `/../serverless/${at.endpoint}`)).status).toBe(204);
    expect((await fetch(output.url)).status).toBe(404);
    if (kind === "SQLite") expect(await readdir(at.payloads)).toEqual([]);
  });

  test("it is gone when the job is retried, and when it expires", async () => {
    await using at = await setup(kind);
    const failed = await at.begun();
    await at.post(failed, resultOf(22, ',"error":"no"'));
    const { status, error, output } = await at.status(failed);
    expect([status, error, (await fetch(output.url)).status]).toEqual(["FAILED", "no", 200]);
    await at.call("POST", `/retry/${failed}`);
    expect((await fetch(output.url)).status).toBe(404);
    if (kind === "SQLite") expect(await readdir(at.payloads)).toEqual([]);
    await at.call("POST", `/cancel/${failed}`);
    const done = await at.begun();
    await at.post(done, resultOf(22));
    const link = (await at.call("GET", `/status/${done}?ttl=1`)).json.output;
    expect((await fetch(link.url)).status).toBe(404);
  });

  test("a server that is killed while one comes in has lost nothing, and keeps nothing of it", async () => {
    await using at = await setup(kind);
    const id = await at.begun();
    let killing: Promise<void> | undefined;
    function* half() {
      for (const bytes of resultOf(24)) {
        yield bytes;
        if (bytes.subarray(0, 3).toString() === "20:") killing = at.killed();
      }
    }
    await expect(at.post(id, half(), lengthOf(resultOf(24)))).rejects.toThrow();
    await killing;
    if (kind === "SQLite") expect(await readdir(at.payloads)).toEqual([]);
    expect(await at.post(id, resultOf(24), lengthOf(resultOf(24)))).toBe(200);
    expect(await digestOf(await fetch((await at.status(id)).output.url))).toBe(outputDigest(24));
  });
});
