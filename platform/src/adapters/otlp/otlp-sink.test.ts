/** Spans leave in batches. A collector that is away, slow or full costs spans and a line in the log, and nothing else. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { expect, test } from "vitest";
import { FakeClock, turn } from "../../kernel/clock.ts";
import type { Span } from "../../kernel/tracing.ts";
import { OtlpSink } from "./otlp-sink.ts";

const span = (n = 0): Span => ({
  ...{ name: `span ${n}`, kind: 2, traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" },
  ...{
    parentId: undefined,
    from: 1000,
    to: 1002,
    attributes: { "http.route": "/v2/pods", status: 200, gone: undefined },
  },
});

function setup(send: typeof fetch) {
  const clock = new FakeClock();
  const lines: string[] = [];
  const log = { info() {}, error() {}, warn: (_: object, text: string) => void lines.push(text) };
  const counts = { sent: 0, dropped: 0 };
  const resource = { "service.name": "millrace" };
  return { clock, lines, counts, sink: new OtlpSink({ url: "http://collector/", resource, clock, log, counts, send }) };
}

const answered = (status: number) => async () => new Response(null, { status });

/** Lets everything happen that needs no time. */
async function settled(): Promise<void> {
  for (let n = 0; n < 20; n++) await turn();
}

test("a real server gets them as OTLP in JSON, with the headers that were set", async () => {
  const got: { request: IncomingMessage; body: unknown }[] = [];
  const server = createServer(async (request, response) => {
    got.push({ request, body: await json(request) });
    response.end("{}");
  }).listen(0, "127.0.0.1");
  await turn();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const counts = { sent: 0, dropped: 0 };
  const log = { info() {}, warn() {}, error() {} };
  {
    await using sink = new OtlpSink({
      ...{ url, headers: { authorization: "Bearer abc" }, resource: { "service.name": "millrace" } },
      ...{ clock: new FakeClock(), log, counts },
    });
    sink.add({ ...span(), parentId: "00f067aa0ba902b7", error: "it failed" });
  }
  server.close();
  expect([got[0]!.request.url, got[0]!.request.headers.authorization, counts]).toEqual([
    "/v1/traces",
    "Bearer abc",
    { sent: 1, dropped: 0 },
  ]);
  expect(got[0]!.body).toEqual({
    resourceSpans: [
      {
        resource: { attributes: [{ key: "service.name", value: { stringValue: "millrace" } }] },
        scopeSpans: [
          {
            scope: { name: "millrace" },
            spans: [
              {
                ...{ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" },
                ...{ parentSpanId: "00f067aa0ba902b7", name: "span 0", kind: 2 },
                ...{ startTimeUnixNano: "1000000000", endTimeUnixNano: "1002000000" },
                attributes: [
                  { key: "http.route", value: { stringValue: "/v2/pods" } },
                  { key: "status", value: { intValue: "200" } },
                ],
                status: { code: 2, message: "it failed" },
              },
            ],
          },
        ],
      },
    ],
  });
});

test("spans wait for each other for two seconds, and a server at rest has no timer", async () => {
  const bodies: string[] = [];
  const { clock, sink, counts } = setup(async (_, init) => {
    bodies.push(init!.body as string);
    return new Response();
  });
  for (let n = 0; n < 3; n++) sink.add(span(n));
  await clock.advance(1999);
  expect(bodies).toHaveLength(0);
  await clock.advance(1);
  await settled();
  expect([bodies.length, counts]).toEqual([1, { sent: 3, dropped: 0 }]);
  await sink[Symbol.asyncDispose]();
});

test("a collector that does not answer holds nobody up: beyond 4,096 waiting spans the rest is dropped, and said once", async () => {
  const asked: AbortSignal[] = [];
  const { clock, sink, counts, lines } = setup(
    (_, init) =>
      new Promise((_resolve, reject) => {
        const signal = init!.signal!;
        asked.push(signal);
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
  );
  for (let n = 0; n < 10_000; n++) sink.add(span(n));
  await settled();
  expect(asked).toHaveLength(1);
  expect(counts.dropped).toBe(10_000 - 4096 - 512);
  await clock.advance(5000);
  await settled();
  expect(lines).toEqual(["the collector of traces takes no spans; they are dropped"]);
  for (let n = 0; n < 600; n++) sink.add(span(n));
  await settled();
  await clock.advance(5000);
  await settled();
  expect(lines).toHaveLength(1);
});

test.each([[429], [500], [301]])("what a collector refuses with %s is dropped and counted", async (status) => {
  const { clock, sink, counts, lines } = setup(answered(status));
  sink.add(span());
  await clock.advance(2000);
  await settled();
  expect([counts, lines.length]).toEqual([{ sent: 0, dropped: 1 }, 1]);
});

test("what came while a batch was refused is sent later, also if nothing more comes", async () => {
  const answers: ((answer: Response) => void)[] = [];
  const { clock, sink, counts } = setup(() => new Promise((resolve) => answers.push(resolve)));
  sink.add(span(1));
  await clock.advance(2000);
  sink.add(span(2));
  await clock.advance(2000);
  answers[0]!(new Response(null, { status: 503 }));
  await settled();
  await clock.advance(2000);
  answers[1]?.(new Response());
  await settled();
  expect(counts).toEqual({ sent: 1, dropped: 1 });
});

test("a slow collector holds up the end of the server for five seconds, and not for each batch anew", async () => {
  const { clock, sink, counts } = setup(async (_, init) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    init!.signal!.addEventListener("abort", () => reject(new Error("aborted")));
    clock.after(4000, () => resolve(new Response()));
    return promise;
  });
  for (let n = 0; n < 2000; n++) sink.add(span(n));
  let isOver = false;
  const over = sink[Symbol.asyncDispose]().then(() => {
    isOver = true;
  });
  for (let s = 0; s < 5; s++) {
    await settled();
    await clock.advance(1000);
  }
  await settled();
  const wasOver = isOver;
  for (let s = 0; s < 20; s++) {
    await settled();
    await clock.advance(1000);
  }
  await over;
  expect([wasOver, counts]).toEqual([true, { sent: 512, dropped: 1488 }]);
});

test("half a character in an error does not make the collector refuse the batch", async () => {
  const bodies: string[] = [];
  const { clock, sink } = setup(async (_, init) => {
    bodies.push(init!.body as string);
    return new Response();
  });
  sink.add({ ...span(), attributes: { worker: "w\ud83d" }, error: "no model \ud83d" });
  await clock.advance(2000);
  await settled();
  expect(bodies[0]).not.toContain("\\ud83d");
  expect(bodies[0]).toContain('"no model \ufffd"');
});
