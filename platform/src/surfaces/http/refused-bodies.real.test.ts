/** A body refused before it is read, with clients that close their connection: each client reads the refusal. */
import { spawnSync } from "node:child_process";
import { request } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Folder, ownerKey, run, type Server, startServer, temporaryFolder } from "../../../tests/process.ts";

/** A little more than the limit of most routes. */
const MB = 1_100_000;
/** In MB. Small bodies break a connection at the most awkward moments, large ones at every moment. */
const SIZES = [1, 2, 3, 5, 8, 1, 2, 3, 20, 50];
const bodies = new Map(SIZES.map((size) => [size, Buffer.alloc(size * MB, "x")]));

let folder: Folder;
let server: Server;
let key: string;
let queue: string;
let balanced: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  server = await startServer(folder.path, { args: ["--rate-limits", "off"] });
  key = await ownerKey(folder.path);
  const body = { name: "attic", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  queue = (await server.call("POST", "/v2/serverless", { key, body })).json.id;
  const balancing = { ...body, type: "LOAD_BALANCER", scaling: { type: "REQUEST_COUNT", requestCount: 1 } };
  balanced = (await server.call("POST", "/v2/serverless", { key, body: balancing })).json.id;
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

interface Refused {
  method: string;
  path: string;
  as: string;
  type?: string;
  status: number;
  /** In MB; all sizes if absent. */
  sizes?: number[];
}

/** One refusal of every kind on every surface, each sent before the body is read. */
const refusals: Record<string, () => Refused> = {
  "413 of REST": () => ({ method: "PUT", path: "/v2/account/ssh-keys", as: key, status: 413 }),
  "401 of REST": () => ({ method: "PUT", path: "/v2/account/ssh-keys", as: "none-such-key-at-all", status: 401 }),
  "415 of REST": () => ({ method: "POST", path: "/v2/account/secrets", as: key, type: "text/csv", status: 415 }),
  "405 of REST": () => ({ method: "PATCH", path: "/v2/account/ssh-keys", as: key, status: 405 }),
  "404 of an unknown path": () => ({ method: "POST", path: "/v2/account/none", as: key, status: 404 }),
  "404 outside every surface": () => ({ method: "POST", path: "/none", as: key, status: 404 }),
  "404 of invocation": () => ({ method: "POST", path: "/v2/abcdefghijklmn/run", as: key, status: 404 }),
  "401 of invocation": () => ({ method: "POST", path: `/v2/${queue}/run`, as: "none-such-key-at-all", status: 401 }),
  // The worker link delays its answer to a wrong key by some seconds.
  "401 of the worker link": () => ({
    method: "POST",
    path: `/v2/${queue}/job-done/w/j`,
    as: key,
    status: 401,
    sizes: [5],
  }),
  "401 of a load-balancing endpoint": () => ({ method: "POST", path: `/v2/${balanced}/x`, as: "none", status: 401 }),
};

type Way = "close" | "keep-alive";

/** Sends the whole body, reads the answer meanwhile, and returns the status or the error. */
function sent({ method, path, as, type = "application/json" }: Refused, bytes: Buffer, way: Way, chunked = false) {
  return new Promise<number | string>((resolve) => {
    const length = chunked ? {} : { "content-length": bytes.length };
    const headers = { authorization: `Bearer ${as}`, "content-type": type, connection: way, ...length };
    const client = request(server.url + path, { method, headers, agent: false }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode!));
    });
    client.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    client.end(bytes);
  });
}

/** Sends the same over a plain socket that reads nothing before everything is written. */
function sentRaw({ method, path, as, type = "application/json" }: Refused, bytes: Buffer, way: Way) {
  return new Promise<number | string>((resolve) => {
    const { port, hostname } = new URL(server.url);
    const socket = connect(Number(port), hostname).pause();
    const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${as}\r\nConnection: ${way}\r\n`;
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code!));
    socket.write(`${head}Content-Type: ${type}\r\nContent-Length: ${bytes.length}\r\n\r\n`);
    socket.write(bytes, () => {
      socket.once("data", (answer) => {
        resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(answer.toString())?.[1]));
        socket.destroy();
      });
      socket.resume();
    });
  });
}

async function each(sizes: number[], ask: (bytes: Buffer) => Promise<number | string>): Promise<(number | string)[]> {
  const statuses: (number | string)[] = [];
  for (const size of sizes) statuses.push(await ask(bodies.get(size)!));
  return statuses;
}

test.each(Object.keys(refusals))(
  "a client reads the %s, whether it closes its connection or keeps it",
  async (name) => {
    const refused = refusals[name]!();
    const { sizes = SIZES, status } = refused;
    const all = sizes.map(() => status);
    for (const way of ["close", "keep-alive"] as const) {
      expect([way, await each(sizes, (bytes) => sent(refused, bytes, way))]).toEqual([way, all]);
      expect([way, await each(sizes, (bytes) => sent(refused, bytes, way, true))]).toEqual([way, all]);
      expect([way, await each(sizes, (bytes) => sentRaw(refused, bytes, way))]).toEqual([way, all]);
    }
  },
);

const pythonScript = `
import sys, urllib.error, urllib.request
url, method, key, kind, sizes = sys.argv[1:]
headers = {"Authorization": "Bearer " + key, "Content-Type": kind}
for size in sizes.split():
    body = b"x" * int(size) * 1100000
    try:
        print(urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method)).status)
    except urllib.error.HTTPError as error:
        print(error.code)
    except OSError as error:
        print(error)
`;

const hasPython = spawnSync("python3", ["--version"]).status === 0;

test.skipIf(!hasPython).each(Object.keys(refusals))(
  `Python's urllib reads the %s${hasPython ? "" : " (skipped: python3 is not installed)"}`,
  async (name) => {
    const { path, method, as, type = "application/json", status, sizes = SIZES } = refusals[name]!();
    const args = ["-c", pythonScript, server.url + path, method, as, type, sizes.join(" ")];
    const { stdout } = await run("python3", args);
    expect(stdout.trim().split("\n")).toEqual(sizes.map(() => String(status)));
  },
);
