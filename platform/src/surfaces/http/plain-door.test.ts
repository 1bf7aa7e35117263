/** Plain requests are answered without Node's HTTP parser, and nobody can tell. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { setupJobs } from "../../../tests/job-world.ts";
import { FakeClock, turn } from "../../kernel/clock.ts";
import { PlainDoor, type PlainDoorParts, plainly } from "./plain-door.ts";
import { PlainRequest, type PlainResponse } from "./plain-exchange.ts";

const HEAD = "POST /run HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n";

/** A server whose plain door has one route, and which notes who read each request. */
async function door({ ahead = () => undefined }: { ahead?: PlainDoorParts["ahead"] } = {}) {
  const clock = new FakeClock();
  const server = createServer();
  const seen: string[] = [];
  new PlainDoor(server, {
    routeOf: ({ url }) => (url.startsWith("/run") ? { answer: () => {}, params: {}, path: "/run" } : undefined),
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

  test.each([
    ["after its head", ["", "{}"]],
    ["in pieces", ["{", "}"]],
  ])("a body that comes %s is waited for", async (_when, pieces) => {
    await using here = await door();
    const { socket, heard } = await opened(here.server);
    for (const times of [1, 2]) {
      socket.write(HEAD + pieces[0]);
      for (let i = 0; i < 5; i++) await turn();
      socket.write(pieces[1]!);
      while (count(heard(), "HTTP/1.1 200") < times) await turn();
    }
    expect(here.seen).toEqual(["plain /run", "plain /run"]);
  });

  test("a body that takes longer is left to Node, which gets every byte", async () => {
    await using here = await door();
    const { socket, until } = await opened(here.server);
    socket.write(`${HEAD}{`);
    for (let i = 0; i < 5; i++) await turn();
    await here.clock.advance(100);
    while (here.seen.length === 0) await turn();
    socket.write(`}${get("/run/2")}`);
    await until("ok");
    while (here.seen.length < 2) await turn();
    expect(here.seen).toEqual(["node /run", "node /run/2"]);
  });

  test.each([
    ["too long", 65_537, 1],
    ["in too many pieces", 100, 16],
  ])("a body that is %s is left to Node", async (_what, length, pieces) => {
    await using here = await door();
    const { socket, until } = await opened(here.server);
    socket.write(HEAD.replace("Content-Length: 2", `Content-Length: ${length}`));
    for (let i = 0; i < pieces; i++) {
      for (let turns = 0; turns < 5; turns++) await turn();
      socket.write("x");
    }
    while (here.seen.length === 0) await turn();
    socket.write("x".repeat(length - pieces));
    await until("ok");
    expect(here.seen).toEqual(["node /run"]);
  });

  test("only so many bytes are waited for at once", async () => {
    await using here = await door();
    const head = HEAD.replace("Content-Length: 2", "Content-Length: 65536");
    const clients: Awaited<ReturnType<typeof opened>>[] = [];
    for (let i = 0; i < 256; i++) clients.push(await opened(here.server));
    for (const { socket } of clients) socket.write(head);
    while (here.seen.length === 0) await turn();
    expect(here.seen[0]).toBe("node /run");
    // What was waited for no longer counts.
    for (const { socket } of clients) socket.destroy();
    for (let i = 0; i < 10; i++) await turn();
    here.seen.splice(0);
    const { socket, until } = await opened(here.server);
    socket.write(HEAD);
    for (let i = 0; i < 5; i++) await turn();
    socket.write("{}");
    await until("ok");
    expect(here.seen).toEqual(["plain /run"]);
  });

  test("a client that sends half of a body and no more is told so, as by Node", async () => {
    await using here = await door();
    const broken: (string | undefined)[] = [];
    here.server.on("clientError", ({ code }: NodeJS.ErrnoException, socket) => {
      broken.push(code);
      socket.end("refused");
    });
    for (const text of [`${HEAD}{`, `${HEAD.replace("Host", "TE: trailers\r\nHost")}{`]) {
      const { socket, until } = await opened(here.server);
      socket.end(text);
      await until("refused");
    }
    expect(broken).toEqual(["HPE_INVALID_EOF_STATE", "HPE_INVALID_EOF_STATE"]);
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

  test("that brings nothing is closed without a word, and one that brings nothing more is closed later", async () => {
    await using here = await door();
    const silent = await opened(here.server);
    const active = await opened(here.server);
    active.socket.write(get("/run/1"));
    await active.until("ok");
    const [left, ended] = [once(silent.socket, "close"), once(active.socket, "close")];
    await here.clock.advance(30_000);
    expect(silent.socket.destroyed).toBe(false);
    await here.clock.advance(15_000);
    await left;
    expect([silent.heard(), active.socket.destroyed]).toEqual(["", false]);
    await here.clock.advance(45_000);
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
