/** Whatever a worker answers, its caller gets a valid answer or a refusal, and the server goes on. */
import { describe, expect, test } from "vitest";
import { type BalancedWorld, READ_BY, setupBalanced } from "../../../tests/balanced-world.ts";
import { turn } from "../../kernel/clock.ts";
import { PlainRequest } from "../http/plain-exchange.ts";

/** A worker that sends this text to every caller, and hangs up if told to. */
function saying(world: BalancedWorld, answer: string, { hangsUp = true } = {}): void {
  const { server } = world.worker("odd", () => {});
  server.removeAllListeners("connection").on("connection", (socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(Buffer.from(answer, "latin1"));
      if (hangsUp) socket.end();
    });
  });
}

const OK = "HTTP/1.1 200 OK\r\n";
const NOT_HTTP = /^(the answer of worker odd is not HTTP|worker odd broke the connection): /;

describe.each(READ_BY)("to a request that was read by %s", (readBy) => {
  test.each([
    ["a phrase that is not ASCII", "HTTP/1.1 200 caf\xe9\r\nContent-Length: 2\r\n\r\nok", 200, "ok"],
    ["a phrase in UTF-8", "HTTP/1.1 200 caf\xc3\xa9\r\nContent-Length: 2\r\n\r\nok", 200, "ok"],
    ["a phrase with a control character", "HTTP/1.1 200 a\x01b\r\nContent-Length: 2\r\n\r\nok", 200, "ok"],
    ["a phrase with NUL", "HTTP/1.1 200 a\0b\r\nContent-Length: 2\r\n\r\nok", 200, "ok"],
    ["no phrase", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", 200, "ok"],
    ["a header that is not ASCII", `${OK}X-Odd: caf\xe9\r\nContent-Length: 2\r\n\r\nok`, 200, "ok"],
    ["hints before the answer", `HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\n${OK}Content-Length: 2\r\n\r\nok`, 200, "ok"],
    ["trailers", `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Last: 1\r\n\r\n`, 200, "ok"],
    ["no length", `${OK}\r\nok`, 200, "ok"],
    ["204 with a body", "HTTP/1.1 204 None\r\nContent-Length: 2\r\n\r\nok", 204, ""],
    ["304 with a body", "HTTP/1.1 304 Same\r\nContent-Length: 2\r\n\r\nok", 304, ""],
    ["more than its length", `${OK}Content-Length: 2\r\n\r\nok and more`, 200, "ok"],
    ["two answers", `${OK}Content-Length: 2\r\n\r\nok${OK}Content-Length: 2\r\n\r\nno`, 200, "ok"],
  ])("%s is made a clean answer", async (_what, answer, status, text) => {
    await using world = await setupBalanced({ readBy });
    saying(world, answer);
    const got = await world.ask("GET", "/x");
    expect([got.status, got.text]).toEqual([status, text]);
  });

  test.each([
    ["the status 000", "HTTP/1.1 000 Nil\r\n\r\n"],
    ["the status 099", "HTTP/1.1 099 Low\r\n\r\n"],
    ["the status 600", "HTTP/1.1 600 High\r\n\r\n"],
    ["the status 999", "HTTP/1.1 999 High\r\n\r\n"],
    ["the status 1000", "HTTP/1.1 1000 High\r\n\r\n"],
    ["a status in words", "HTTP/1.1 abc Word\r\n\r\n"],
    ["100 that nobody waits for", "HTTP/1.1 100 Continue\r\n\r\n"],
    ["101 that nobody asked for", "HTTP/1.1 101 Switch\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nbytes"],
    ["101 to nothing", "HTTP/1.1 101 Switch\r\n\r\nbytes"],
    ["hints without end", "HTTP/1.1 103 Early\r\n\r\n".repeat(10_000)],
    ["another version", "HTTP/7.0 200 OK\r\n\r\n"],
    ["a header's name with a space", `${OK}X Odd: 1\r\n\r\n`],
    ["a header's name with NUL", `${OK}X\0Odd: 1\r\n\r\n`],
    ["a header's name that is not ASCII", `${OK}X-caf\xe9: 1\r\n\r\n`],
    ["a header without a name", `${OK}: 1\r\n\r\n`],
    ["a header without a colon", `${OK}X-Odd\r\n\r\n`],
    ["a header with NUL", `${OK}X-Odd: a\0b\r\n\r\n`],
    ["a header with a control character", `${OK}X-Odd: a\x08b\r\n\r\n`],
    ["a header with DEL", `${OK}X-Odd: a\x7fb\r\n\r\n`],
    ["a header with a lone carriage return", `${OK}X-Odd: a\rX-More: b\r\n\r\n`],
    ["too many headers", `${OK}${"X-Odd: 1\r\n".repeat(100_000)}\r\n`],
    ["a header too long", `${OK}X-Odd: ${"1".repeat(100_000)}\r\n\r\n`],
    ["a length that is no number", `${OK}Content-Length: two\r\n\r\nok`],
    ["a length below nothing", `${OK}Content-Length: -2\r\n\r\nok`],
    ["a length beyond all numbers", `${OK}Content-Length: 99999999999999999999\r\n\r\nok`],
    ["two lengths", `${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok`],
    ["two lengths in one", `${OK}Content-Length: 2, 2\r\n\r\nok`],
    ["chunks and a length", `${OK}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n`],
    ["another transfer encoding", `${OK}Transfer-Encoding: gzip\r\n\r\nok`],
    ["two transfer encodings", `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`],
    ["no answer", ""],
    ["half a head", "HTTP/1.1 200 OK\r\nContent-"],
    ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n"],
  ])("%s is 502 with the reason", async (_what, answer) => {
    await using world = await setupBalanced({ readBy });
    saying(world, answer);
    const { status, json } = await world.ask("GET", "/x");
    expect([status, json.error]).toEqual([502, expect.stringMatching(NOT_HTTP)]);
    expect(world.app.balancer.demand(world.endpoint).inFlight).toBe(0);
  });

  test.each([
    ["fewer bytes than its length", `${OK}Content-Length: 5\r\n\r\nok`],
    ["a chunk without its size", `${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n`],
    ["a chunk larger than any", `${OK}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nok\r\n`],
    ["a chunk that is longer than it says", `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\nok\r\n0\r\n\r\n`],
    ["chunks without an end", `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n`],
    ["an extension of a chunk without end", `${OK}Transfer-Encoding: chunked\r\n\r\n2;${"a".repeat(1_000_000)}`],
    ["a trailer without end", `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\nX-Last: ${"1".repeat(1_000_000)}`],
  ])("%s is cut off, so that nobody takes it for the whole", async (_what, answer) => {
    await using world = await setupBalanced({ readBy });
    saying(world, answer);
    const got = await world.ask("GET", "/x").catch(() => undefined);
    if (got) expect(got.status).toBe(502);
    expect(world.app.balancer.demand(world.endpoint).inFlight).toBe(0);
  });

  const UPGRADE = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: eA==", "Sec-WebSocket-Version: 13"];

  /** Returns what the caller of a WebSocket gets until the connection ends. */
  async function upgradeAnswer(world: BalancedWorld): Promise<string> {
    const client = world.begin("GET", "/x", UPGRADE);
    let text = "";
    for await (const chunk of client.setEncoding("latin1")) text += chunk;
    return text;
  }

  test.each([
    [
      "a phrase that is not ASCII",
      "HTTP/1.1 403 caf\xe9\r\nContent-Length: 2\r\n\r\nno",
      /^HTTP\/1\.1 403 Forbidden\r\n/,
    ],
    ["the status 000", "HTTP/1.1 000 Nil\r\n\r\n", /^HTTP\/1\.1 502 /],
    ["the status 999", "HTTP/1.1 999 High\r\n\r\n", /^HTTP\/1\.1 502 /],
    ["hints without end", "HTTP/1.1 103 Early\r\n\r\n".repeat(10_000), /^HTTP\/1\.1 502 /],
    ["another transfer encoding", "HTTP/1.1 403 No\r\nTransfer-Encoding: gzip\r\n\r\nno", /^HTTP\/1\.1 502 /],
    ["no answer", "", /^HTTP\/1\.1 502 /],
    [
      "consent with a phrase that is not ASCII",
      "HTTP/1.1 101 caf\xe9\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello",
      /^HTTP\/1\.1 101 Switching Protocols\r\n[\x20-\x7e\r\n]*\r\n\r\nhello$/,
    ],
  ])("to a WebSocket: %s", async (_what, answer, expected) => {
    await using world = await setupBalanced({ readBy });
    saying(world, answer);
    expect(await upgradeAnswer(world)).toMatch(expected);
  });
});

test.each(READ_BY)("a request is read by %s", async (readBy) => {
  await using world = await setupBalanced({ readBy });
  const seen: unknown[] = [];
  world.app.http.server.on("request", (request) => seen.push(request instanceof PlainRequest));
  world.worker("w", (_request, response) => response.end("ok"));
  for (const [method, body] of [["GET"], ["POST", "text"], ["PUT", "text"], ["DELETE"]] as const)
    expect((await world.ask(method, "/x", { body })).text).toBe("ok");
  expect(seen).toEqual(Array(4).fill(readBy === "the plain door"));
});

test.each([
  ["a length", `${OK}Content-Length: 2\r\nX-A: 1\r\nx-a: 2\r\n\r\nok`],
  ["chunks", `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`],
  ["no body", "HTTP/1.1 204 Gone for now\r\nContent-Length: 0\r\n\r\n"],
  ["an empty body of unknown length", `${OK}X-Odd: caf\xe9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["a status that has no name", "HTTP/1.1 299\r\nContent-Length: 2\r\n\r\nok"],
  ["a date and a name of its own", `${OK}Date: now\r\nX-Request-Id: mine\r\ncontent-length: 2\r\n\r\nok`],
  ["headers of its connection", `${OK}Connection: x-hop\r\nX-Hop: 1\r\nKeep-Alive: x\r\nContent-Length: 2\r\n\r\nok`],
  ["cookies and what speaks for an origin", `${OK}Set-Cookie: a=b\r\nAlt-Svc: x\r\nContent-Length: 2\r\n\r\nok`],
])("an answer with %s has the same lines, whoever read the request", async (_what, answer) => {
  await using world = await setupBalanced();
  saying(world, answer);
  const shown = async (more: string[]) => {
    const socket = world.begin("GET", "/x", more).setEncoding("latin1");
    let text = "";
    socket.on("data", (chunk: string) => {
      text += chunk;
    });
    while (!/\r\n\r\n(ok|2\r\nok\r\n0\r\n\r\n|0\r\n\r\n|)$/.test(text)) await turn();
    for (let i = 0; i < 5; i++) await turn();
    socket.destroy();
    return text
      .replace(/^(X-Request-Id: (?!mine)|Date: \w+, ).*$/gm, "$1")
      .split("\r\n")
      .sort();
  };
  const byNode = await shown(["TE: trailers"]);
  expect(await shown([])).toEqual(byNode);
});
