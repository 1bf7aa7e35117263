/** Large bodies through the proxy, in a server process of its own: none of their bytes stay in its memory. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, test } from "vitest";
import { realClock, sleep } from "../src/kernel/clock.ts";
import { startChild } from "./child.ts";
import { root } from "./process.ts";

const MIB = 1_048_576;
const SIZE = 25 * MIB;
const AT_ONCE = 12;
/** Far below the size of twelve bodies. Streams hold little, but a lazy garbage collector keeps some of what has passed. */
const MOST_GROWTH = 100 * MIB;
/** If nothing was written for this long, all buffers between both ends are full. */
const STALL_MS = 300;

const PIECE = Buffer.alloc(64 * 1024, "0123456789abcdef");
const DIGEST = createHash("sha256").update(Buffer.alloc(SIZE, PIECE)).digest("hex");

async function startServer(workerPort: number) {
  const program = join(root, "platform/tests/fixtures/balanced-server.ts");
  const args = ["--disable-warning=ExperimentalWarning", program, String(workerPort)];
  const child = startChild(process.execPath, args);
  const [line] = await once(createInterface(child.stdout), "line");
  const [, url, endpoint, key] = /^listening on (\S+) for (\S+) with (\S+)$/.exec(line) as string[];
  const status = async (field: string) => {
    const text = await readFile(`/proc/${child.pid}/status`, "utf8");
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(text)![1]) * 1024;
  };
  return {
    at: (path: string) => ({ url: `${url}/v2/${endpoint}${path}`, headers: { authorization: key! } }),
    /** The peak memory of the server during the work, beyond what it held before. */
    async growth(work: () => Promise<void>): Promise<number> {
      const before = await status("VmRSS");
      await writeFile(`/proc/${child.pid}/clear_refs`, "5");
      await work();
      return (await status("VmHWM")) - before;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

let written = 0;

/** Writes the body as fast as it is read. */
async function writeAll(out: NodeJS.WritableStream): Promise<void> {
  for (let sent = 0; sent < SIZE; sent += PIECE.length) {
    written += PIECE.length;
    if (!out.write(PIECE)) await once(out, "drain");
  }
  out.end();
}

/** Resolves when no more can be written. */
async function stalled(): Promise<void> {
  for (let before = -1; before !== written; ) {
    before = written;
    await sleep(realClock, STALL_MS);
  }
}

async function digestOf(body: IncomingMessage): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of body) hash.update(chunk);
  return hash.digest("hex");
}

async function setup({ readsAfter = Promise.resolve() } = {}) {
  const server = createServer(async (asked: IncomingMessage, response: ServerResponse) => {
    if (asked.method === "GET") return void writeAll(response);
    await readsAfter;
    response.end(await digestOf(asked));
  });
  server.listen(0);
  const proxy = await startServer((server.address() as AddressInfo).port);
  return {
    growth: proxy.growth,
    async download(readsAfter = Promise.resolve()): Promise<string> {
      const { url, headers } = proxy.at("/down");
      const [response] = await once(request(url, { headers, agent: false }).end(), "response");
      await readsAfter;
      return digestOf(response);
    },
    async upload(): Promise<string> {
      const { url, headers } = proxy.at("/up");
      const out = request(url, { method: "POST", headers: { ...headers, "content-length": SIZE }, agent: false });
      const answered = once(out, "response");
      await writeAll(out);
      const [response] = await answered;
      return (await response.toArray()).join("");
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
    },
  };
}

describe("25 MB", () => {
  test("up and down, one after the other, ten times: they arrive whole, and the server does not grow by them", async () => {
    await using world = await setup();
    await world.upload();
    await world.download();
    const growth = await world.growth(async () => {
      for (let i = 0; i < 10; i++) {
        expect(await world.upload()).toBe(DIGEST);
        expect(await world.download()).toBe(DIGEST);
      }
    });
    expect(growth).toBeLessThan(MOST_GROWTH);
  });

  test("down to twelve clients that do not read yet: the worker is held back, and no answer waits in the server", async () => {
    await using world = await setup();
    await world.download();
    const reads = Promise.withResolvers<void>();
    const growth = await world.growth(async () => {
      const downloads = Array.from({ length: AT_ONCE }, () => world.download(reads.promise));
      await stalled();
      reads.resolve();
      for (const digest of await Promise.all(downloads)) expect(digest).toBe(DIGEST);
    });
    expect(growth).toBeLessThan(MOST_GROWTH);
  });

  test("up to a worker that does not read yet, from twelve clients: they are held back", async () => {
    const reads = Promise.withResolvers<void>();
    await using world = await setup({ readsAfter: reads.promise });
    await world.download();
    const growth = await world.growth(async () => {
      const uploads = Array.from({ length: AT_ONCE }, () => world.upload());
      await stalled();
      reads.resolve();
      for (const digest of await Promise.all(uploads)) expect(digest).toBe(DIGEST);
    });
    expect(growth).toBeLessThan(MOST_GROWTH);
  });
});
