/** Random requests, most of them slightly broken, sent to a server with the plain door and to one without: both do exactly the same. */
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock, turn } from "../../kernel/clock.ts";
import { silentLog } from "../../kernel/log.ts";
import { realRandom } from "../../kernel/random.ts";
import { RequestCounts } from "../../kernel/request-counts.ts";
import { Doorkeeper } from "./doorkeeper.ts";
import { plainly } from "./plain-door.ts";
import { PlainRequest } from "./plain-exchange.ts";
import type { Reply, Request } from "./reply.ts";
import { Router } from "./router.ts";
import { HttpServer } from "./server.ts";

const RUNS = 300;
/** Repeat a failed run with the seed that it printed: MILLRACE_TEST_SEED=… */
const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readInt32LE());

/** Turns in which a server that has read everything answers what it can. */
const TURNS = 12;

async function served({ withDoor }: { withDoor: boolean }) {
  const seen = { plain: 0, others: 0 };
  const sockets: Socket[] = [];
  const answer = plainly(async (request: Request, { raw }: Reply) => {
    const isPlain = (request as unknown) instanceof PlainRequest;
    seen[isPlain ? "plain" : "others"]++;
    let body = "";
    const pieces = isPlain ? (request as unknown as PlainRequest).iterator() : (request as AsyncIterable<Buffer>);
    for await (const piece of pieces) body += piece.toString("latin1");
    const { method, url, headers, rawHeaders } = request;
    const text = JSON.stringify({ method, url, headers, rawHeaders, body });
    raw.writeHead(200, { "Content-Length": Buffer.byteLength(text) }).end(text);
  });
  const clock = new FakeClock();
  const http = new HttpServer({
    ...{ clock, doorkeeper: new Doorkeeper({ clock, most: 1000 }), requests: new RequestCounts(), log: silentLog },
    ...{ router: new Router({ badPath: () => {} }), unknown: () => answer },
    ahead: { find: () => answer, mayUpgrade: () => false, upgrade: () => {} },
  });
  if (!withDoor) {
    const [door] = http.server.listeners("connection") as (() => void)[];
    const [nodes] = createServer().listeners("connection") as (() => void)[];
    http.server.off("connection", door!).prependListener("connection", nodes!);
  }
  http.server.on("connection", (socket: Socket) => sockets.push(socket));
  const { port } = new URL(await http.listen({ port: 0, host: "127.0.0.1" }));

  /** Sends the parts one by one and then no more. Returns everything that was answered. */
  async function hear(parts: readonly Buffer[]): Promise<string> {
    const client = connect(Number(port), "127.0.0.1").on("error", () => {});
    let heard = "";
    client.setEncoding("latin1").on("data", (text) => {
      heard += text;
    });
    await once(client, "connect");
    while (sockets.length === 0) await turn();
    const server = sockets.pop()!;
    let sent = 0;
    for (const part of parts) {
      if (client.writable) client.write(part);
      sent += part.length;
      while (server.bytesRead < sent && !server.destroyed) await turn();
      for (let i = 0; i < TURNS; i++) await turn();
    }
    if (!client.closed) {
      client.end();
      await once(client, "close");
    }
    return heard.replace(/^Date: .*$/gm, "Date");
  }
  return { seen, hear, [Symbol.asyncDispose]: () => http.close() };
}

const often = <T>(usual: readonly T[], odd: readonly T[]) =>
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: fc.constantFrom(...odd) });

const method = often(["GET", "POST", "PUT", "PATCH", "DELETE"], ["HEAD", "OPTIONS", "get", "POST ", "M-SEARCH", ""]);
const path = often(
  ["/run", "/v2/e/run?a=b", "/", "/a%20b/", "/?", '/"<>\\^`{|}~'],
  ["*", "//x/y", "http://x/run", "/a#b", "/a b", "/\t", "/é", "run", "/a?b#c#d", "/\x7f"],
);
const version = often(["HTTP/1.1"], ["HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "http/1.1", "HTTP/1.10", "HTTP/01.1", ""]);
const name = often(
  ["Authorization", "Content-Type", "X-A", "Accept", "Cookie", "User-Agent"],
  [
    "Transfer-Encoding",
    "Host",
    "Content-Length",
    "Expect",
    "X A",
    "X(A)",
    "__proto__",
    "Upgrade",
    "TE",
    "X-A ",
    "",
    " X",
  ],
);
const value = often(
  ["x", "", " x", "x ", "\tx\t", "a, b", "application/json"],
  ["chunked", "1", "x\r", "x\n y", "x\r\n y", "\x00", "\x7f", "é", "\x0b1", "identity", "100-continue", "close"],
);
const header = fc.tuple(name, often([":", ": "], [" :", "", "::", ":\r\n"]), value).map((parts) => parts.join(""));
const ending = often(["\r\n"], ["\n", "\r", "\r\n\r\n", "\r\r\n"]);
const connection = often(
  ["", "Connection: keep-alive\r\n"],
  ["Connection: close\r\n", "Connection: x, keep-alive\r\n"],
);
const host = often(["Host: x\r\n"], ["", "Host:\r\n", "Host: a b\r\n", "host: x\r\nHost: x\r\n"]);

const request = fc
  .record({
    ...{ method, path, version, host, connection, ending },
    headers: fc.array(header, { maxLength: 3 }),
    body: fc.constantFrom("", "{}", '{"input":{}}', "0\r\n\r\n", "x".repeat(300)),
    length: often(
      [(exact: number) => `${exact}`],
      [
        (exact: number) => `${exact + 1}`,
        (exact: number) => `${Math.max(0, exact - 1)}`,
        (exact: number) => `+${exact}`,
        (exact: number) => `${exact},${exact}`,
        (exact: number) => `0x${exact.toString(16)}`,
        (exact: number) => `0${exact}`,
        () => "",
        () => "99999999999999999999",
      ],
    ),
  })
  .map(({ method, path, version, host, connection, ending, headers, body, length }) => {
    const others = headers.map((line) => `${line}\r\n`).join("");
    const announced = body === "" ? "" : `Content-Length: ${length(body.length)}\r\n`;
    return `${method} ${path} ${version}${ending}${host}${connection}${others}${announced}\r\n${body}`;
  });

/** What happens to the bytes: a few are replaced, added or left out, and they are sent in parts. */
const fate = fc.record({
  changes: often([0], [1, 2]),
  places: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 5, maxLength: 5 }),
  bytes: fc.array(fc.constantFrom("\r", "\n", "\r\n", " ", "\t", ":", "\x00", "0", "a", "é", ""), {
    minLength: 2,
    maxLength: 2,
  }),
  parts: fc.constantFrom(1, 1, 2, 3),
});

function partsOf(
  requests: readonly string[],
  { changes, places, bytes, parts }: typeof fate extends fc.Arbitrary<infer T> ? T : never,
): Buffer[] {
  let text = requests.join("");
  for (let i = 0; i < changes; i++) {
    const at = Math.floor(places[i]! * text.length);
    text = text.slice(0, at) + bytes[i]! + text.slice(at + (bytes[i] === "" ? 1 : i));
  }
  const whole = Buffer.from(text, "latin1");
  const cuts = places.slice(2, 1 + parts).map((place) => Math.floor(place * whole.length));
  const edges = [0, ...cuts.sort((a, b) => a - b), whole.length];
  return edges.slice(1).map((edge, i) => whole.subarray(edges[i]!, edge));
}

test(`no request is understood differently by the plain door and by Node (seed ${seed})`, async () => {
  await using door = await served({ withDoor: true });
  await using node = await served({ withDoor: false });
  const usually = fc.array(request, { minLength: 1, maxLength: 2 });
  await fc.assert(
    fc.asyncProperty(usually, fate, async (requests, its) => {
      const parts = partsOf(requests, its);
      expect(await door.hear(parts)).toBe(await node.hear(parts));
    }),
    { seed, numRuns: RUNS },
  );
  expect(door.seen.plain).toBeGreaterThan(RUNS / 20);
  expect(node.seen.plain).toBe(0);
});
