/** Plain requests are answered without Node's HTTP parser, and nobody can tell. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { setupJobs } from "../../../tests/job-world.ts";
import { FakeClock, turn } from "../../kernel/clock.ts";
import { PlainDoor, type PlainDoorParts, plainly } from "./plain-door.ts";
import { PlainRequest, type PlainResponse } from "./plain-exchange.ts";
import { readPlainHead } from "./plain-head.ts";

const HEAD = "POST /run HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n";

describe("a head is plain", () => {
  test("if every program reads it alike", () => {
    const text = "POST /v2/e/run?a=b HTTP/1.1\r\nHost: x\r\nX-A:\t 1 2 \r\nEmpty:\r\nConnection: Keep-Alive\r\n\r\n";
    expect(readPlainHead(Buffer.from(`${text}body`))).toEqual({
      method: "POST",
      url: "/v2/e/run?a=b",
      headers: { host: "x", "x-a": "1 2", empty: "", connection: "Keep-Alive" },
      rawHeaders: ["Host", "x", "X-A", "1 2", "Empty", "", "Connection", "Keep-Alive"],
      text,
      made: undefined,
      bodyLength: 0,
    });
    expect(readPlainHead(Buffer.from(HEAD))?.bodyLength).toBe(2);
  });

  test.each([
    ["an end that has not come", "GET / HTTP/1.1\r\nHost: x\r\n"],
    ["another method", "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["another version", "GET / HTTP/1.0\r\nHost: x\r\n\r\n"],
    ["a whole URL", "GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a space too many", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["an empty line before it", "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["bare line feeds", "GET / HTTP/1.1\nHost: x\n\r\n\r\n"],
    ["a bare line feed in a value", "GET / HTTP/1.1\r\nHost: x\r\nA: b\nC: d\r\n\r\n"],
    ["a bare carriage return", "GET / HTTP/1.1\r\nHost: x\r\nA: b\rC: d\r\n\r\n"],
    ["a folded line", "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n"],
    ["a space before a colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n"],
    ["a line without a colon", "GET / HTTP/1.1\r\nHost: x\r\nbroken\r\n\r\n"],
    ["a zero byte", "GET / HTTP/1.1\r\nHost: x\r\nA: \u0000\r\n\r\n"],
    ["characters beyond ASCII in a value", "GET / HTTP/1.1\r\nHost: x\r\nA: é\r\n\r\n"],
    ["characters beyond ASCII in the path", "GET /é HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["no host", "GET / HTTP/1.1\r\nA: b\r\n\r\n"],
    ["no header", "GET / HTTP/1.1\r\n\r\n"],
    ["two hosts", "GET / HTTP/1.1\r\nHost: x\r\nhost: x\r\n\r\n"],
    ["two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"],
    ["a length with a sign", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n"],
    ["a length in two parts", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\n"],
    ["an empty length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n"],
    ["a transfer encoding", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"],
    ["one in odd letters", "POST / HTTP/1.1\r\nHost: x\r\ntransfer-ENCODING: x\r\n\r\n"],
    ["an expectation", "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n"],
    ["an upgrade", "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n"],
    ["a connection that ends", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"],
    ["a header of one connection", "GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, a\r\n\r\n"],
    ["a name that every object has, twice", "GET / HTTP/1.1\r\nHost: x\r\n__proto__: a\r\n__proto__: b\r\n\r\n"],
    ["a long head", `GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(2048)}\r\n\r\n`],
  ])("not with %s", (_what, text) => {
    expect(readPlainHead(Buffer.from(text))).toBeUndefined();
  });

  test("and a long one that breaks at its end is refused as fast as a short one", () => {
    const text = `GET / HTTP/1.1\r\n${"A:  \r\n".repeat(300)}broken\r\n\r\n`;
    expect(readPlainHead(Buffer.from(text))).toBeUndefined();
  });
});

/** A server whose plain door has one route, and which notes who read each request. */
async function door({ ahead = () => undefined }: { ahead?: PlainDoorParts["ahead"] } = {}) {
  const clock = new FakeClock();
  const server = createServer();
  const seen: string[] = [];
  new PlainDoor(server, {
    routeOf: ({ url }) => (url.startsWith("/run") ? { answer: () => {}, params: {} } : undefined),
    ahead,
    leaves: () => {},
    ...{ idleMs: 60_000, checkMs: 15_000, clock, failed: () => {} },
  });
  const held: PlainResponse[] = [];
  server.on("request", (request: PlainRequest, response: PlainResponse) => {
    seen.push(`${request instanceof PlainRequest ? "plain" : "node"} ${request.url}`);
    if (request.url === "/run/held") held.push(response);
    else response.writeHead(200, { "Content-Length": 2 }).end("ok");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    ...{ clock, server, seen, held },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

async function opened(
  server: Server,
): Promise<{ socket: Socket; heard: () => string; until: (text: string) => Promise<void> }> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  await once(socket, "connect");
  const until = async (wanted: string) => {
    while (!text.includes(wanted)) await turn();
  };
  return { socket, heard: () => text, until };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const count = (text: string, part: string) => text.split(part).length - 1;

describe("a connection", () => {
  test("stays here as long as its requests are plain, and goes to Node with the first that is not", async () => {
    await using here = await door();
    const { socket, heard } = await opened(here.server);
    const sent = [get("/run/1"), `${HEAD}{}`, get("/other"), get("/run/2")];
    for (const [i, text] of sent.entries()) {
      socket.write(text);
      while (count(heard(), "HTTP/1.1 200") <= i) await turn();
    }
    expect(here.seen).toEqual(["plain /run/1", "plain /run", "node /other", "node /run/2"]);
  });

  test.each([
    ["two requests at once", [get("/run/1") + get("/run/2")]],
    ["a request in two parts", [get("/run/1").slice(0, 9), get("/run/1").slice(9) + get("/run/2")]],
    ["a body that comes later", [HEAD, `{}${get("/run/2")}`]],
    ["a body and more", [`${HEAD}{}${get("/run/2")}`]],
  ])("%s go to Node, and nothing is lost", async (_what, parts) => {
    await using here = await door();
    const { socket, heard } = await opened(here.server);
    for (const part of parts) {
      socket.write(part);
      for (let i = 0; i < 5; i++) await turn();
    }
    while (count(heard(), "HTTP/1.1 200") < 2) await turn();
    expect(here.seen).toEqual([expect.stringMatching("node /run"), "node /run/2"]);
  });

  test("a request that something else wants goes to Node, at once or after a look", async () => {
    const wanted = () => {};
    for (const found of [wanted, Promise.resolve(wanted), undefined]) {
      await using here = await door({ ahead: () => found ?? Promise.reject(new Error("no answer")) });
      const { socket, until } = await opened(here.server);
      socket.write(get("/run/1"));
      await until("ok");
      expect(here.seen).toEqual(["node /run/1"]);
    }
  });

  test("a request that is passed on stays, at once or after a look", async () => {
    const passes = plainly(() => {});
    for (const found of [passes, Promise.resolve(passes)]) {
      await using here = await door({ ahead: () => found });
      const { socket, until } = await opened(here.server);
      socket.write("DELETE /pass HTTP/1.1\r\nHost: x\r\n\r\n");
      await until("ok");
      expect(here.seen).toEqual(["plain /pass"]);
    }
  });

  test("one that might be and is not goes to Node", async () => {
    await using here = await door();
    const { socket, until } = await opened(here.server);
    socket.write(get("/pass"));
    await until("ok");
    expect(here.seen).toEqual(["node /pass"]);
  });

  test("what comes while it is looked up whose a request is waits behind it", async () => {
    const look = Promise.withResolvers<undefined>();
    await using here = await door({ ahead: () => look.promise });
    const { socket, heard } = await opened(here.server);
    socket.write(get("/run/1"));
    for (let i = 0; i < 5; i++) await turn();
    socket.write(get("/run/2"));
    for (let i = 0; i < 5; i++) await turn();
    expect(here.seen).toEqual([]);
    look.resolve(undefined);
    while (count(heard(), "HTTP/1.1 200") < 2) await turn();
    expect(here.seen[0]).toBe("plain /run/1");
  });

  test("an answer is closed when its client hangs up", async () => {
    await using here = await door();
    const { socket } = await opened(here.server);
    socket.write(get("/run/held"));
    while (here.held.length === 0) await turn();
    const closed = once(here.held[0]!, "close");
    socket.destroy();
    await closed;
    expect([here.held[0]!.destroyed, here.held[0]!.end("late").writableFinished]).toEqual([true, false]);
  });

  test("so it is when its connection went to Node meanwhile", async () => {
    await using here = await door();
    const { socket } = await opened(here.server);
    socket.write(get("/run/held"));
    while (here.held.length === 0) await turn();
    socket.write(get("/other"));
    while (here.seen.length < 2) await turn();
    const closed = once(here.held[0]!, "close");
    socket.destroy();
    await closed;
  });

  test("that brings nothing goes to Node, which has a limit for it, and one that brings nothing more is closed", async () => {
    await using here = await door();
    const silent = await opened(here.server);
    const active = await opened(here.server);
    active.socket.write(get("/run/1"));
    await active.until("ok");
    const ended = once(active.socket, "close");
    await here.clock.advance(30_000);
    silent.socket.write(get("/run/2"));
    await silent.until("ok");
    expect([here.seen, active.socket.destroyed]).toEqual([["plain /run/1", "node /run/2"], false]);
    await here.clock.advance(60_000);
    await ended;
  });

  test("is closed with the server when it is idle, and after its answer when it is not", async () => {
    const here = await door();
    const [idle, busy] = [await opened(here.server), await opened(here.server)];
    idle.socket.write(get("/run/1"));
    await idle.until("ok");
    busy.socket.write(get("/run/held"));
    while (here.held.length === 0) await turn();
    here.held[0]!.on("close", () => here.server.closeIdleConnections());
    const closed = once(here.server, "close");
    here.server.close();
    await once(idle.socket, "close");
    expect(busy.socket.destroyed).toBe(false);
    here.held[0]!.writeHead(200, { "Content-Length": 2 }).end("ok");
    await closed;
    await busy.until("ok");
  });
});

describe("an answer", () => {
  /** Resolves with all that the client heard once it has heard this. */
  async function answered(last: string, answer: (response: PlainResponse) => unknown): Promise<string> {
    await using here = await door();
    const { socket, heard } = await opened(here.server);
    socket.write(get("/run/held"));
    while (here.held.length === 0) await turn();
    const closed = once(here.held[0]!, "close");
    answer(here.held[0]!);
    await closed;
    while (!heard().endsWith(last)) await turn();
    return heard();
  }

  test("has the text of its body, whatever characters and however long", async () => {
    for (const body of [
      "plain",
      "žluťoučký 🐎",
      "é".repeat(300_000),
      Buffer.from("bytes ž"),
      Buffer.alloc(2_000_000, "a"),
    ]) {
      const text = await answered(body.toString(), (response) =>
        response.writeHead(200, { "Content-Length": Buffer.byteLength(body) }).end(body),
      );
      expect(text.slice(text.indexOf("\r\n\r\n") + 4) === body.toString()).toBe(true);
    }
  });

  test("without a length comes in chunks", async () => {
    const text = await answered("\r\n0\r\n\r\n", (response) => {
      response.writeHead(200, {}).flushHeaders();
      response.write("ž");
      response.write(Buffer.from("bytes"));
      response.end("end");
    });
    expect(text).toMatch(
      /\r\nTransfer-Encoding: chunked\r\n[\s\S]*\r\n\r\n2\r\nž\r\n5\r\nbytes\r\n3\r\nend\r\n0\r\n\r\n$/,
    );
  });

  test("takes no header that could end another one or frame it twice", async () => {
    await answered("\r\n\r\n", (response) => {
      expect(() => response.writeHead(200, { "X-A": "b\r\nC: d" })).toThrow();
      expect(() => response.writeHead(200, { "X A": "b" })).toThrow();
      expect(() => response.writeHead(200, { "content-length": "1" })).toThrow();
      expect(() => response.writeHead(200, { "Transfer-Encoding": "chunked" })).toThrow();
      expect(() => response.writeHead(2000, {})).toThrow();
      response.writeHead(204, {}).end();
    });
  });
});

test("a plain answer and Node's are the same to the byte, but for their ids and dates", async () => {
  await using world = await setupJobs();
  const { port } = new URL(world.url);
  const head = (path: string, more: string) =>
    `POST /v2/${world.endpoint}${path} HTTP/1.1\r\nHost: h\r\nAuthorization: ${world.key}\r\n${more}`;
  const shown = (text: string) => text.replace(/^(X-Request-Id|Date): .*$/gm, "$1").replace(/"id":"[^"]*"/, '"id"');
  for (const [path, body] of [
    ["/run", '{"input":{}}'],
    ["/run", "{}"],
    ["/run", ""],
    ["/nowhere", ""],
    ["/cancel/none", ""],
  ] as const) {
    const answers: string[] = [];
    for (const rest of [[body], ["", body]]) {
      const socket = connect(Number(port), "127.0.0.1").setEncoding("utf8");
      const text = head(path, `Content-Length: ${body.length}\r\n${rest.length > 1 ? "TE: trailers\r\n" : ""}\r\n`);
      socket.write(text + rest[0]!);
      for (const part of rest.slice(1)) if (part) socket.write(part);
      answers.push(shown((await once(socket, "data"))[0] as string));
      socket.destroy();
    }
    expect(answers[0]).toBe(answers[1]);
  }
});
