/** Reading answers from the bytes of a connection, in whatever pieces they arrive. */
import { describe, expect, test } from "vitest";
import type { AnswerHead } from "./answer-head.ts";
import { AnswerReader } from "./answer-reader.ts";

function reading(method = "GET") {
  const reader = new AnswerReader();
  const seen = { interim: [] as number[], head: undefined as AnswerHead | undefined, body: "", ended: 0 };
  reader.begin(
    {
      interim: (status) => void seen.interim.push(status),
      head: (head) => {
        seen.head = head;
      },
      body: (chunk, from, to, isLast) => {
        seen.body += chunk.toString("latin1", from, to);
        if (isLast) seen.ended++;
      },
    },
    method,
  );
  const take = (text: string) => reader.take(Buffer.from(text, "latin1"));
  return { reader, seen, take };
}

const OK = "HTTP/1.1 200 OK\r\n";
const whole = [
  ["a length", `${OK}X-A: 1\r\nContent-Length: 5\r\n\r\nhello`, "hello"],
  ["nothing", `${OK}content-length: 0\r\n\r\n`, ""],
  ["chunks", `${OK}Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nhe\r\n3 \r\nllo\r\n0\r\n\r\n`, "hello"],
  ["trailers", `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Last: 1\r\nX-More: 2\r\n\r\n`, "hello"],
  ["much behind a size", `${OK}Transfer-Encoding: chunked\r\n\r\n5;${"a".repeat(500)}\r\nhello\r\n0\r\n\r\n`, "hello"],
  ["hints before it", `HTTP/1.1 103 Early\r\nLink: <a>\r\n\r\n${OK}Content-Length: 5\r\n\r\nhello`, "hello"],
] as const;

describe.each(whole)("an answer with %s", (_what, text, body) => {
  test.each([1, 2, 3, 7, 1000])("in pieces of %i is the same", (size) => {
    const { reader, seen, take } = reading();
    for (let at = 0; at < text.length; at += size) take(text.slice(at, at + size));
    expect([seen.head?.status, seen.body, seen.ended, reader.isOver]).toEqual([200, body, 1, true]);
    expect(reader.isReusable).toBe(true);
  });
});

test("one without a length ends with the connection, and only there", () => {
  const { reader, seen, take } = reading();
  take(`${OK}\r\nhel`);
  take("lo");
  expect([seen.body, seen.ended]).toEqual(["hello", 0]);
  expect([reader.end(), seen.ended, reader.isReusable]).toEqual([true, 1, false]);
});

test.each([
  ["nothing came", ""],
  ["a part of the head came", "HTTP/1.1 200 OK\r\nX-"],
  ["a part of the length came", `${OK}Content-Length: 5\r\n\r\nhel`],
  ["a part of the chunks came", `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`],
  ["all but the last line came", `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n`],
])("a connection that ends when %s ends no answer", (_what, text) => {
  const { reader, seen, take } = reading();
  if (text !== "") take(text);
  expect([reader.end(), seen.ended]).toEqual([false, 0]);
});

test.each([
  ["the worker says close", `${OK}Connection: close\r\nContent-Length: 0\r\n\r\n`],
  ["it says so among other words", `${OK}Connection: x-a, Close\r\nContent-Length: 0\r\n\r\n`],
  ["it will close it soon", `${OK}Keep-Alive: timeout=2\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n`],
  ["it speaks HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"],
  ["bytes follow the answer", `${OK}Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n`],
  ["bytes follow an answer that has no body", "HTTP/1.1 204 None\r\nContent-Length: 2\r\n\r\nok"],
])("a connection is not used again when %s", (_what, text) => {
  const { reader, seen, take } = reading();
  take(text);
  expect([seen.ended, reader.isOver, reader.isReusable]).toEqual([1, true, false]);
});

test("nor after an answer to HEAD, behind which a body may follow that should not", () => {
  const { reader, seen, take } = reading("HEAD");
  take(`${OK}Content-Length: 5\r\n\r\n`);
  expect([seen.ended, seen.body, reader.isOver, reader.isReusable]).toEqual([1, "", true, false]);
});

test.each([
  ["a header without a colon", `${OK}X-A\r\n\r\n`],
  ["a colon in the line behind it alone", `${OK}X-A\r\nX-B: 1\r\n\r\n`],
  ["two lengths", `${OK}Content-Length: 2\r\nContent-Length: 2\r\n\r\n`],
  ["a length and chunks", `${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n`],
  ["chunks and a length", `${OK}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n`],
  ["a length with a sign", `${OK}Content-Length: +2\r\n\r\n`],
  ["a length in hexadecimal", `${OK}Content-Length: 0x2\r\n\r\n`],
  ["a size with a sign", `${OK}Transfer-Encoding: chunked\r\n\r\n-2\r\nok\r\n`],
  ["a size behind a blank", `${OK}Transfer-Encoding: chunked\r\n\r\n 2\r\nok\r\n`],
  ["blanks without end behind a size", `${OK}Transfer-Encoding: chunked\r\n\r\n2${" ".repeat(100)}x\r\nok\r\n`],
  ["no size", `${OK}Transfer-Encoding: chunked\r\n\r\n\r\nok\r\n`],
  ["a size beyond all numbers", `${OK}Transfer-Encoding: chunked\r\n\r\nfffffffffffff\r\nok\r\n`],
  ["a size whose line ends with a line feed alone", `${OK}Transfer-Encoding: chunked\r\n\r\n2\nok\r\n`],
  ["a carriage return in what stands behind a size", `${OK}Transfer-Encoding: chunked\r\n\r\n2;\r0\r\nok\r\n`],
  ["a chunk that is longer than it says", `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\nok\r\n`],
  ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
  ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
  ["another version", "HTTP/2.0 200 OK\r\n\r\n"],
  ["no version", "200 OK\r\n\r\n"],
])("%s is no HTTP", (_what, text) => {
  expect(() => reading().take(text)).toThrow("its answer is not HTTP: ");
});

test("another protocol is told from its first bytes, for its speaker may wait for us", () => {
  const { take } = reading();
  expect(() => take("SSH-")).toThrow("does not begin with HTTP/1.1");
});

describe("what has no end", () => {
  const fed = (before: string, piece: string, most: number) => () => {
    const { take } = reading();
    take(before);
    for (let bytes = 0; bytes < most; bytes += piece.length) take(piece);
  };
  test("a head of more than 64 KiB, in small pieces and in one", () => {
    expect(fed(OK, "X-A: 1\r\n", 70_000)).toThrow("its head is longer than 65536 bytes");
    expect(fed(OK, `X-A: ${"1".repeat(70_000)}\r\n\r\n`, 1)).toThrow("its head is longer than 65536 bytes");
  });

  test("what stands behind the size of a chunk", () => {
    expect(fed(`${OK}Transfer-Encoding: chunked\r\n\r\n2;`, "a".repeat(60_000), 3_000_000)).toThrow("too long");
  });

  test("trailers", () => {
    expect(fed(`${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n`, "X-A: 1\r\n", 100_000)).toThrow("too long");
  });
});
