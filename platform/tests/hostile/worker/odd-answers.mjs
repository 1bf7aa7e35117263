/** An application that gives answers that HTTP does not allow. The path of a request chooses the answer. */
import { createServer } from "node:net";

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

/** Sent before the connection is closed. */
const SAID = {
  latin: "HTTP/1.1 200 caf\xe9\r\nContent-Length: 2\r\n\r\nok",
  control: "HTTP/1.1 200 a\0\x01b\r\nContent-Length: 2\r\n\r\nok",
  zero: "HTTP/1.1 000 Nil\r\n\r\n",
  low: "HTTP/1.1 099 Low\r\n\r\n",
  high: "HTTP/1.1 999 High\r\n\r\n",
  long: "HTTP/1.1 1000 High\r\n\r\n",
  switching: "HTTP/1.1 101 Switch\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nbytes",
  hints: "HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\n".repeat(5000),
  body204: "HTTP/1.1 204 None\r\nContent-Length: 2\r\n\r\nok",
  body304: "HTTP/1.1 304 Same\r\nContent-Length: 2\r\n\r\nok",
  nul: `${OK}X-Odd: a\0b\r\n\r\n`,
  name: `${OK}X Odd\x01: b\r\n\r\n`,
  folded: `${OK}X-Odd: a\r\n b\r\nContent-Length: 2\r\n\r\nok`,
  split: `${OK}X-Odd: a\rSet-Cookie: b=c\r\nContent-Length: 2\r\n\r\nok`,
  lengths: `${OK}Content-Length: 2\r\nContent-Length: 200\r\n\r\nok`,
  both: `${OK}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
  gzip: `${OK}Transfer-Encoding: gzip\r\n\r\nok`,
  headers: `${OK}${"X-Odd: 1\r\n".repeat(20_000)}\r\n`,
  header: `${OK}X-Odd: ${"1".repeat(1_000_000)}\r\n\r\n`,
  chunk: `${CHUNKED}zz\r\nok\r\n`,
  huge: `${CHUNKED}fffffffffffffffff\r\nok\r\n`,
  extension: `${CHUNKED}2;${"a".repeat(1_000_000)}\r\nok\r\n0\r\n\r\n`,
  extensions: `${CHUNKED}${"1;a=b;c=d\r\nx\r\n".repeat(5000)}0\r\n\r\n`,
  trailers: `${CHUNKED}2\r\nok\r\n0\r\n${"X-Last: 1\r\n".repeat(20_000)}\r\n`,
  after: `${OK}Content-Length: 2\r\n\r\nok${OK.repeat(1000)}`,
  nothing: "",
  half: "HTTP/1.1 200 OK\r\nContent-",
};

/** Actions on the connection. */
const DONE = {
  reset: (socket) => socket.resetAndDestroy(),
  endless(socket) {
    socket.write(`${OK}\r\n`);
    const go = () => {
      while (socket.write("x".repeat(65_536)));
    };
    socket.on("drain", go);
    go();
  },
  silent() {},
};

createServer({ allowHalfOpen: true }, (socket) => {
  socket.on("error", () => {});
  // Also answers before the whole request was read.
  socket.once("data", (data) => {
    const path = data.toString("latin1").split(" ")[1].slice(1);
    if (DONE[path]) DONE[path](socket);
    else socket.end(Buffer.from(SAID[path] ?? `${OK}Content-Length: 0\r\n\r\n`, "latin1"));
  });
}).listen(Number(process.env.PORT));
