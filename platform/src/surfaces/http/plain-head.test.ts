/** Which heads are plain: everything that two programs could read differently is not. */
import { describe, expect, test } from "vitest";
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
    ["a name that every object has", "GET / HTTP/1.1\r\nHost: x\r\n__proto__: a\r\n\r\n"],
    ["a long head", `GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(2048)}\r\n\r\n`],
  ])("not with %s", (_what, text) => {
    expect(readPlainHead(Buffer.from(text))).toBeUndefined();
  });

  test("and a long one that breaks at its end is refused as fast as a short one", () => {
    const text = `GET / HTTP/1.1\r\n${"A:  \r\n".repeat(300)}broken\r\n\r\n`;
    expect(readPlainHead(Buffer.from(text))).toBeUndefined();
  });
});
