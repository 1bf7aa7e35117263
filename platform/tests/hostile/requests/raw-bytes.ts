/** Requests with invalid HTTP framing, or with bytes that are not HTTP at all. */
import { type Draft, type Scene, targetOf } from "./draft.ts";

export function changeFraming(draft: Draft, { chance }: Scene): boolean {
  const set = (...headers: [string, string][]) => draft.headers.push(...headers);
  const ways = [
    () => set(["Content-Length", "0"]),
    () => set(["Content-Length", "5"], ["Content-Length", "6"]),
    () => set(["Content-Length", "5, 5"]),
    () => set(["Content-Length", chance.pick(["-1", "1e3", "+5", "0x5", "99999999999999999999", "", "5 5", "a"])]),
    () => set(["Content-Length", "1000000000"]),
    () =>
      set([
        "Transfer-Encoding",
        chance.pick(["chunked", "gzip, chunked", "identity", "chunked, chunked", "xchunked", "", " chunked"]),
      ]),
    () => set(["Transfer-Encoding", "chunked"], ["Content-Length", "3"]),
    () => set(["Expect", "100-continue"], ["Content-Length", "10"]),
  ];
  chance.pick(ways)();
  draft.isFramed = false;
  draft.isShort = true;
  return true;
}

/** Replaces the draft by bytes around it that no client would send. */
export function sendRaw(draft: Draft, { chance }: Scene): boolean {
  const { method } = draft;
  const target = targetOf(draft);
  const auth = draft.headers.find(([name]) => name === "Authorization")?.[1] ?? "x";
  const head = `${method} ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth}\r\n`;
  const noise = Buffer.from(Array.from({ length: chance.below(400) }, () => chance.below(256)));
  const ways: (() => string | Buffer)[] = [
    () => noise,
    () => Buffer.concat([Buffer.from(head), noise, Buffer.from("\r\n\r\n")]),
    () => `${method} ${target}\r\n\r\n`,
    () => `${method} ${target} HTTP/0.9\r\n\r\n`,
    () => `${method} ${target} HTTP/2.0\r\nHost: x\r\n\r\n`,
    () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    () => Buffer.from("16030100c8010000c40303", "hex"),
    () => "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    () => "CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    () => `${head}Broken header\r\n\r\n`,
    () => `${head}X: a\r\n folded\r\n\r\n`,
    () => `${head}X\0Y: a\0b\r\n\r\n`,
    () => `${head}X : a\r\n\r\n`,
    () => `${head.replaceAll("\r\n", "\n")}\n`,
    () => `${head.replaceAll("\r\n", "\r")}\r`,
    () =>
      `${head}Transfer-Encoding: chunked\r\n\r\n${chance.pick(["zz\r\n", "-1\r\n", "ffffffffffffffffff\r\n", "5;ext=1\r\nhello\r\n0\r\n\r\n", `5;${"x".repeat(20_000)}\r\nhello\r\n`, "5\r\nhelloX\r\n0\r\n\r\n", "0\r\nContent-Length: 5\r\n\r\n"])}`,
    () => `${head}Content-Length: 0\r\n\r\n`.repeat(20),
    () =>
      `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v2/account/api-keys HTTP/1.1\r\nHost: x\r\n\r\n`,
    () => `${head}Content-Length: 1000\r\n\r\n{"a":`,
    () => head,
    () => `${method} ${target}\x00 HTTP/1.1\r\nHost: x\r\n\r\n`,
    () => `${method} ${target} HTTP/1.1\r\n\r\n`,
    () => `${method} ${target} HTTP/1.1\r\nHost: a\r\nHost: b\r\nAuthorization: ${auth}\r\n\r\n`,
    () => `${method} ${target} HTTP/1.0\r\nAuthorization: ${auth}\r\n\r\n`,
    () => `\r\n\r\n${head}\r\n`,
    () => `${method} ${"x".repeat(70_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
    () =>
      `${head}Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n\x81\xff\xff`,
    () => `${head}Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n`,
  ];
  const made = chance.pick(ways)();
  draft.raw = typeof made === "string" ? Buffer.from(made, "latin1") : made;
  draft.isFramed = false;
  draft.isShort = true;
  return true;
}
