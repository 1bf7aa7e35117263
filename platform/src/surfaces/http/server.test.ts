/** The server on its socket: slow, broken and oversized requests, and how it shuts down. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { InterceptedStore, recordingLog, setup, type World } from "../../../tests/world.ts";
import { FakeClock, turn } from "../../kernel/clock.ts";
import { silentLog } from "../../kernel/log.ts";
import { RequestCounts } from "../../kernel/request-counts.ts";
import { Doorkeeper } from "./doorkeeper.ts";
import { plainly } from "./plain-door.ts";
import type { Answering } from "./reply.ts";
import { Router } from "./router.ts";
import { HttpServer } from "./server.ts";

const around = (clock = new FakeClock()) => ({
  clock,
  doorkeeper: new Doorkeeper({ clock, most: 100 }),
  requests: new RequestCounts(),
});
const ANYWHERE = { port: 0, host: "127.0.0.1" };

const SSH_KEYS = "/v2/account/ssh-keys";

/** The head of an upload whose client waits for `100 Continue`. */
function upload(key: string | undefined, length: number): string {
  const authorization = key ? `Authorization: Bearer ${key}\r\n` : "";
  return (
    `PUT ${SSH_KEYS} HTTP/1.1\r\nHost: millrace\r\n${authorization}Content-Type: application/json\r\n` +
    `Content-Length: ${length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`
  );
}

async function open(world: World): Promise<Socket> {
  const socket = connect(Number(new URL(world.url).port), "127.0.0.1").setEncoding("utf8");
  await once(socket, "connect");
  return socket;
}

async function rest(socket: Socket): Promise<string> {
  let text = "";
  for await (const chunk of socket) text += chunk;
  return text;
}

/** Status and problem of a raw answer. */
function read(answer: string): { status: number; problem: unknown } {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  expect(head).toMatch(/^content-type: application\/problem\+json\r?$/im);
  return { status: Number(head.split(" ")[1]), problem: JSON.parse(body) };
}

describe("Expect: 100-continue", () => {
  test("a client is told to go on when its upload will be read", async () => {
    await using world = await setup();
    const socket = await open(world);
    socket.write(upload(world.key, 11));
    const [asked] = await once(socket, "data");
    expect(asked).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    socket.write('{"keys":[]}');
    expect(await rest(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  test.each([
    ["without a key", 401, 11, undefined],
    ["that is too large", 413, 1024 * 1024 + 1, "key"],
  ])("an upload %s is refused and never asked for", async (_kind, status, length, key) => {
    await using world = await setup();
    const socket = await open(world);
    socket.write(upload(key && world.key, length));
    const [answer] = await once(socket, "data");
    expect(read(answer).status).toBe(status);
    expect(answer).not.toContain("100 Continue");
    socket.destroy();
  });
});

describe("what Node would refuse without a word", () => {
  const get = `GET ${SSH_KEYS} HTTP/1.1\r\n`;

  test("a request that names no host is told so", async () => {
    await using world = await setup();
    const { status, problem } = read(await world.raw(`${get}Authorization: Bearer ${world.key}\r\n\r\n`));
    expect([status, problem]).toEqual([
      400,
      { title: "Bad Request", status: 400, detail: "The request has no Host header, which HTTP/1.1 requires." },
    ]);
    const old = `GET ${SSH_KEYS} HTTP/1.0\r\nAuthorization: Bearer ${world.key}\r\n\r\n`;
    expect(await world.raw(old)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  test("an expectation that is not 100-continue is told that it cannot be met", async () => {
    await using world = await setup();
    const { status, problem } = read(
      await world.raw(`${get}Host: millrace\r\nExpect: 200-ok\r\nConnection: close\r\n\r\n`),
    );
    expect([status, problem]).toEqual([
      417,
      {
        ...{ title: "Expectation Failed", status: 417 },
        detail: "'Expect' may be 100-continue, and nothing else can be expected.",
      },
    ]);
  });
});

describe("slow clients", () => {
  test("a body that stalls for 15 seconds is given up with 408", async () => {
    await using world = await setup();
    const socket = await open(world);
    socket.write(upload(world.key, 11));
    await once(socket, "data");
    await world.clock.advance(14_999);
    const answer = rest(socket);
    await world.clock.advance(1);
    const { status, problem } = read(await answer);
    const detail = "The request body stalled for 15 seconds.";
    expect([status, problem]).toEqual([408, { title: "Request Timeout", status: 408, detail }]);
  });

  test("a request leaves no timer behind", async () => {
    await using world = await setup();
    const before = world.clock.waiting;
    await world.call("PUT", SSH_KEYS, { body: { keys: [] } });
    await world.call("PUT", SSH_KEYS, { body: Buffer.alloc(1024 * 1024 + 1, " ") });
    // The answer may arrive before the rest of the refused body.
    while (world.clock.waiting > before) await turn();
    expect(world.clock.waiting).toBe(before);
  });
});

describe("what is not quite HTTP", () => {
  test.each([
    ["not HTTP at all", "hello\r\n\r\n"],
    ["an HTTP version of the future", "GET / HTTP/9.9\r\n\r\n"],
    ["a header without a colon", "GET / HTTP/1.1\r\nHost: x\r\nbroken\r\n\r\n"],
    ["two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na"],
    [
      "a length and chunks",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["a length that is no number", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"],
  ])("400: %s", async (_kind, request) => {
    await using world = await setup();
    const { status, problem } = read(await world.raw(request));
    const detail = "The request is not valid HTTP.";
    expect([status, problem]).toEqual([400, { title: "Bad Request", status: 400, detail }]);
  });

  test("a client that was told so and does not hang up is cut off after 2 seconds", async () => {
    await using world = await setup();
    const socket = connect({ port: Number(new URL(world.url).port), host: "127.0.0.1", allowHalfOpen: true });
    socket.write("hello\r\n\r\n");
    await once(socket.resume(), "end");
    const closed = once(world.app.http.server, "close");
    await world.clock.advance(2000);
    const ending = world[Symbol.asyncDispose]();
    await closed;
    await ending;
    socket.destroy();
  });

  test("431: headers larger than 32 KiB", async () => {
    await using world = await setup();
    const { status, problem } = read(await world.raw(`GET / HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(40_000)}\r\n\r\n`));
    const title = "Request Header Fields Too Large";
    expect([status, problem]).toEqual([431, { title, status: 431, detail: expect.stringContaining("32768 bytes") }]);
  });

  test("a broken chunk in the middle of a body is a 400", async () => {
    await using world = await setup();
    const head = `PUT ${SSH_KEYS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${world.key}\r\n`;
    const body = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
    expect(read(await world.raw(head + body)).status).toBe(400);
  });

  test("a client that goes away in the middle of its body is no fault of the server", async () => {
    await using world = await setup();
    const socket = await open(world);
    socket.write(upload(world.key, 11));
    await once(socket, "data");
    socket.destroy();
    expect((await world.call("GET", SSH_KEYS)).status).toBe(200);
    expect(world.logged.join("\n")).not.toContain("unforeseen fault");
  });
});

describe("shutdown", () => {
  /** A world with one request in progress, held before its commit until `release`. */
  async function inFlight() {
    const store = new InterceptedStore();
    const world = await setup({ store });
    const arrived = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    store.beforeCommit = () => {
      arrived.resolve();
      return held.promise;
    };
    const answer = world.call("PUT", SSH_KEYS, { body: { keys: ["ssh-ed25519 AAAA first"] } });
    await arrived.promise;
    return { world, answer, release: held.resolve };
  }

  async function deaf(world: World): Promise<void> {
    while (world.app.http.server.listening) await turn();
  }

  test("drains a request in flight and takes no new connection", async () => {
    const { world, answer, release } = await inFlight();
    const closed = world[Symbol.asyncDispose]();
    await deaf(world);
    await expect(open(world)).rejects.toThrow("ECONNREFUSED");
    release();
    expect((await answer).status).toBe(200);
    await closed;
  });

  test("refuses what a client sends behind it on the same connection", async () => {
    const { world, answer, release } = await inFlight();
    const store = world.store as InterceptedStore;
    const arrived = Promise.withResolvers<void>();
    const held = store.beforeCommit!;
    store.beforeCommit = (...writes) => {
      arrived.resolve();
      return held(...writes);
    };
    const socket = await open(world);
    const body = '{"keys": ["ssh-ed25519 AAAA second"]}';
    const head = `PUT ${SSH_KEYS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${world.key}\r\n`;
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    await arrived.promise;
    const closed = world[Symbol.asyncDispose]();
    await deaf(world);
    socket.write("GET /docs HTTP/1.1\r\nHost: x\r\n\r\n");
    await once(world.app.http.server, "request");
    release();
    const answers = await rest(socket);
    expect(answers).toMatch(/^HTTP\/1.1 200 OK/);
    const { status, problem } = read(answers.slice(answers.indexOf("HTTP/1.1 503")));
    expect([status, problem]).toEqual([
      503,
      expect.objectContaining({ detail: "The server is closing; send the request again." }),
    ]);
    expect((await answer).status).toBe(200);
    await closed;
  });

  test("waits 5 seconds for it and no longer", async () => {
    const { world, answer, release } = await inFlight();
    const outcome = answer.then(
      () => "answered",
      () => "cut off",
    );
    const closed = world[Symbol.asyncDispose]();
    await deaf(world);
    await world.clock.advance(5000);
    expect(await outcome).toBe("cut off");
    release();
    await closed;
  });

  test("does not wait for idle connections, and leaves no timer behind", async () => {
    const world = await setup();
    await world.call("GET", SSH_KEYS);
    await world[Symbol.asyncDispose]();
    expect(world.clock.waiting).toBe(0);
  });
});

describe("a failure in answering that nobody foresaw", () => {
  const faults: [string, Answering][] = [
    [
      "is thrown at once",
      () => {
        throw new Error("a bug");
      },
    ],
    ["comes later", () => turn().then(() => Promise.reject(new Error("a bug")))],
  ];

  test.each(faults)("%s: it ends its own request, is logged, and nothing else happens", async (_when, answer) => {
    const { log, logged } = recordingLog();
    const router = new Router({ badPath: answer });
    router.add(["GET"], "/broken", answer);
    router.add(["GET"], "/fine", (_request, reply) => reply.send("fine"));
    const app = new HttpServer({ ...around(), router, unknown: () => answer, log });
    const url = await app.listen(ANYWHERE);
    await expect(fetch(`${url}/broken?api_key=secret`)).rejects.toThrow();
    await expect(fetch(`${url}/%zz`)).rejects.toThrow();
    expect(await (await fetch(`${url}/fine`)).text()).toBe("fine");
    expect(logged.filter((line) => line.includes("could not be answered"))).toHaveLength(2);
    expect(logged.join()).not.toContain("secret");
    await app.close();
  });

  test.each([
    ["a plain request", ""],
    ["any other request", "TE: trailers\r\n"],
  ])("what cannot be read behind %s is refused after its answer", async (_what, header) => {
    const held = Promise.withResolvers<void>();
    const router = new Router({ badPath: () => {} });
    router.add(
      ["GET"],
      "/held",
      plainly(async (_request, { raw }) => {
        await held.promise;
        raw.writeHead(200, { "Content-Length": 4 }).end("kept");
      }),
    );
    const app = new HttpServer({ ...around(), router, unknown: () => () => {}, log: silentLog });
    const { port } = new URL(await app.listen(ANYWHERE));
    const socket = connect(Number(port), "127.0.0.1").setEncoding("utf8");
    let heard = "";
    socket.on("data", (text) => {
      heard += text;
    });
    socket.write(`GET /held HTTP/1.1\r\nHost: x\r\n${header}\r\n`);
    for (const broken of ["no HTTP\r\n\r\n", "nor this\r\n\r\n"]) {
      for (let i = 0; i < 10; i++) await turn();
      socket.write(broken);
    }
    for (let i = 0; i < 10; i++) await turn();
    expect(heard).toBe("");
    held.resolve();
    await once(socket, "end");
    expect(heard).toMatch(/^HTTP\/1\.1 200 [\s\S]*keptHTTP\/1\.1 400 [\s\S]*not valid HTTP/);
    expect(heard.split("HTTP/1.1 ")).toHaveLength(3);
    await app.close();
  });

  test("writing behind the end of an answer harms nobody", async () => {
    const router = new Router({ badPath: () => {} });
    router.add(["GET"], "/late", (_request, { raw }) => {
      raw.end("answer");
      raw.write("more");
    });
    const app = new HttpServer({ ...around(), router, unknown: () => () => {}, log: silentLog });
    const url = await app.listen(ANYWHERE);
    expect(await (await fetch(`${url}/late`)).text()).toBe("answer");
    await app.close();
  });
});
