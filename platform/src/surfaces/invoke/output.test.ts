/** Outputs too long for a record are kept apart, behind a link that lives as long as the result. */
import { once } from "node:events";
import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import { eventsOf, type JobWorld, setupJobs, type TestWorker } from "../../../tests/job-world.ts";

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;
const STALL_MS = 15_000;
const DISCARD_MS = 2000;

/** Results up to 1 MB are read as a whole, results up to 3 MB are kept apart. */
const setupSmall = () => setupJobs({ payloadLimits: "1,1,1,3" });

const long = "ä\n".repeat(600_000);

interface Link {
  url: string;
  bytes: number;
}

/** Links begin with the public URL, where no server listens in this test. */
const here = (world: JobWorld, { url }: Link) => url.replace("https://millrace.test", world.url);

const fetched = (world: JobWorld, link: Link, init: RequestInit = {}) => fetch(here(world, link), init);

async function ended(world: JobWorld, body: object | string, worker?: TestWorker) {
  const by = worker ?? (await world.worker());
  const id = await world.begun(by);
  const { status } = await by.ask("POST job-done", { job: id, body });
  expect(status).toBe(200);
  return { id, worker: by, record: await world.status(id) };
}

test("a result over the limit completes the job, and its record has a link in place of the output", async () => {
  await using world = await setupSmall();
  const { id, record } = await ended(world, { output: long });
  const bytes = Buffer.byteLength(JSON.stringify(long));
  expect(record).toMatchObject({
    status: "COMPLETED",
    output: {
      url: expect.stringMatching(`^https://millrace.test/v2/${world.endpoint}/output/${id}\\?attempt=1&signature=`),
      bytes,
    },
  });
  expect(Object.keys(record.output)).toEqual(["url", "bytes"]);
  const response = await fetched(world, record.output);
  expect([response.status, response.headers.get("content-type"), response.headers.get("content-length")]).toEqual([
    ...[200, "application/json", String(bytes)],
  ]);
  expect(await response.json()).toBe(long);
});

test("the output is given byte for byte as the worker wrote it, whatever stands around it", async () => {
  await using world = await setupSmall();
  const text = `[ 1e400, "\\u0041", ${JSON.stringify(long)}\n]`;
  const { record } = await ended(world, ` {"stopPod": false, "output" : ${text} , "error":""}\n`);
  expect(record.status).toBe("COMPLETED");
  expect((await (await fetched(world, record.output)).text()) === text).toBe(true);
});

test("an error beside a long output fails the job, and both can be read", async () => {
  await using world = await setupSmall();
  const { record } = await ended(world, { error: { code: 5 }, output: long });
  expect(record).toMatchObject({ status: "FAILED", error: '{"code":5}', output: { bytes: expect.any(Number) } });
  expect(await (await fetched(world, record.output)).json()).toBe(long);
});

test("an error that is long itself is cut, and nothing is kept apart for it", async () => {
  await using world = await setupSmall();
  const { record } = await ended(world, { error: `"${long}`, output: null });
  expect(record).toMatchObject({ status: "FAILED", error: expect.stringMatching(/^"ä\nä\n/) });
  expect(record.error.length).toBeLessThan(64 * 1024);
  expect(record).not.toHaveProperty("output");
});

test.each([
  ["not JSON", `{"output":${JSON.stringify(long)}`, "the worker's result is not valid JSON; it begins: "],
  ["broken early", `{"output":}${long}`, "the worker's result is not valid JSON; it begins: "],
  ["no object", JSON.stringify(long), "the worker's result is not a JSON object; it begins: "],
  ["progress", JSON.stringify({ status: "IN_PROGRESS", output: long }), "progress must be shorter than a result"],
  ["longer than 3 MB", JSON.stringify({ output: "x".repeat(3 * MIB) }), "the output exceeds 3 MB"],
])("one that is %s fails the job with the reason and with how it began", async (_what, body, error) => {
  await using world = await setupSmall();
  const { record } = await ended(world, body);
  expect(record).toMatchObject({ status: "FAILED", error: expect.stringContaining(error) });
  expect(body.startsWith(record.rawOutput.slice(0, 20_000))).toBe(true);
});

test("a body whose length was not announced, and a line of an exchange, are kept apart too", async () => {
  await using world = await setupSmall();
  const worker = await world.worker();
  const body = Buffer.from(JSON.stringify({ output: long }));
  const chunked = await world.begun(worker);
  const pieces = new ReadableStream({
    start(controller) {
      for (let at = 0; at < body.length; at += 100_000) controller.enqueue(body.subarray(at, at + 100_000));
      controller.close();
    },
  });
  await fetch(`${world.url}/v2/${world.endpoint}/job-done/${worker.id}/${chunked}`, {
    ...{ method: "POST", headers: { authorization: worker.key }, body: pieces, duplex: "half" },
  } as RequestInit);
  const line = await world.begun(worker);
  await worker.ask("POST job-exchange", { query: "&take=0", body: `${line} 1 ${body}\n` });
  for (const id of [chunked, line]) {
    const { output } = await world.status(id);
    expect(await (await fetched(world, output)).json()).toBe(long);
  }
});

test("a body that stalls is 503, so that it is sent again", async () => {
  await using world = await setupSmall();
  const worker = await world.worker();
  const id = await world.begun(worker);
  const answer = world.raw(
    `POST /v2/${world.endpoint}/job-done/${worker.id}/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: ${worker.key}\r\nContent-Length: ${2 * MIB}\r\n\r\n`,
  );
  await world.clock.armed(STALL_MS);
  await world.clock.advance(STALL_MS);
  await world.clock.armed(DISCARD_MS);
  await world.clock.advance(DISCARD_MS);
  expect(await answer).toMatch(/^HTTP\/1\.1 503 /);
});

describe("who may read it:", () => {
  test("whoever may read the endpoint's jobs, without a signature", async () => {
    await using world = await setupSmall();
    const { id } = await ended(world, { output: long });
    for (const scopes of [["serverless:invoke"], ["serverless:read"], ["read-only"]] as const) {
      const key = await world.newKey({ scopes: [...scopes] });
      expect((await world.invoke("GET", `/output/${id}`, { key })).json).toBe(long);
    }
  });

  test("nobody else", async () => {
    await using world = await setupSmall();
    const { id, record } = await ended(world, { output: long });
    const status = async (key: string | null, path = `/output/${id}`) =>
      (await world.invoke("GET", path, { key })).status;
    const signed = new URL(record.output.url).search;
    const stranger = await world.strangersKey();
    expect(await status(stranger)).toBe(404);
    // A link does not help a key that lacks the right.
    expect(await status(stranger, `/output/${id}${signed}`)).toBe(404);
    expect(await status(await world.newKey({ scopes: ["secrets:read"] }))).toBe(403);
    expect(await status(null)).toBe(401);
  });

  test("a signature is good for its endpoint, job and run alone", async () => {
    await using world = await setupSmall();
    const { worker, record, id } = await ended(world, { output: long });
    const other = await ended(world, { output: long }, worker);
    const refused = async (url: string) => {
      const response = await fetch(url);
      return [response.status, ((await response.json()) as { error: string }).error];
    };
    const link = here(world, record.output);
    const unauthorized = [401, "unauthorized: the signature does not open this output"];
    for (const url of [
      link.replace(id, other.id),
      link.replace("attempt=1", "attempt=2"),
      link.replace("attempt=1&", ""),
      link.replace(world.endpoint, "aaaaaaaaaaaaaa"),
      link.slice(0, -1),
      `${link}A`,
      link.replace(/signature=.*/, "signature="),
      // A link to an unknown job is refused with the same words.
      link.replace(id, `${id.slice(0, -5)}00-u1`),
    ])
      expect(await refused(url)).toEqual(unauthorized);
  });
});

describe("it is gone", () => {
  test("the moment the result expires", async () => {
    await using world = await setupSmall();
    const { record } = await ended(world, { output: long });
    await world.clock.advance(30 * MINUTE_MS - 1);
    expect((await fetched(world, record.output)).status).toBe(200);
    await world.clock.advance(1);
    const response = await fetched(world, record.output);
    expect([response.status, await response.text()]).toEqual([404, expect.stringContaining("it has expired")]);
  });

  test("the moment the job is retried, and the next run's link is another one", async () => {
    await using world = await setupSmall();
    const { id, worker, record } = await ended(world, { error: "no", output: long });
    await world.invoke("POST", `/retry/${id}`);
    expect((await fetched(world, record.output)).status).toBe(404);
    await worker.take();
    await worker.done(id, { output: `${long}!` });
    const again = await world.status(id);
    const response = await fetched(world, record.output);
    expect([response.status, await response.text()]).toEqual([404, expect.stringContaining("the job was run again")]);
    expect(await (await fetched(world, again.output)).json()).toBe(`${long}!`);
  });

  test("with its endpoint", async () => {
    await using world = await setupSmall();
    const { record } = await ended(world, { output: long });
    await world.call("DELETE", `/v2/serverless/${world.endpoint}`);
    expect((await fetched(world, record.output)).status).toBe(404);
  });
});

test("a job whose output stands in its record has no other", async () => {
  await using world = await setupSmall();
  const { id, worker } = await ended(world, { output: "short" });
  const waiting = await world.begun(worker);
  expect((await world.invoke("GET", `/output/${waiting}`)).json.error).toContain("the job has not ended");
  const { status, json } = await world.invoke("GET", `/output/${id}`);
  expect([status, json.error]).toEqual([
    404,
    `output not found: the output of this job stands in its record; see /status/${id}`,
  ]);
});

test("a handler's error that is tried again leaves no output behind", async () => {
  await using world = await setupSmall();
  const worker = await world.worker();
  const id = await world.begun(worker, {}, { policy: { retries: 1 } });
  await worker.done(id, { error: "flaky", output: long });
  expect(await world.status(id)).toMatchObject({ status: "IN_QUEUE" });
  expect((await world.invoke("GET", `/output/${id}`)).status).toBe(404);
  await worker.take();
  await worker.done(id, { output: 1 });
  expect(await world.status(id)).toMatchObject({ status: "COMPLETED", output: 1 });
});

test("a second result changes nothing, whichever is long", async () => {
  await using world = await setupSmall();
  const { id, worker, record } = await ended(world, { output: long });
  await worker.done(id, { output: `${long}2` });
  await worker.done(id, { output: 2 });
  expect(await world.status(id)).toEqual(record);
  expect(await (await fetched(world, record.output)).json()).toBe(long);
});

describe("read as the record or a stream:", () => {
  const link = { url: expect.stringContaining("/output/"), bytes: expect.any(Number) };

  test("/runsync", async () => {
    await using world = await setupSmall();
    const worker = await world.worker();
    const answer = world.invoke("POST", "/runsync", { body: { input: {} } });
    const { id } = (await worker.take())!;
    await worker.done(id, { output: long });
    expect((await answer).json).toMatchObject({ id, status: "COMPLETED", output: link });
  });

  test("/stream gives it as one chunk, once", async () => {
    await using world = await setupSmall();
    const { id } = await ended(world, { output: long });
    expect((await world.invoke("GET", `/stream/${id}`)).json).toMatchObject({
      status: "COMPLETED",
      stream: [{ output: link }],
    });
    expect((await world.invoke("GET", `/stream/${id}`)).json).toEqual({ status: "COMPLETED", stream: [] });
  });

  test("events carry it as a chunk and in the record", async () => {
    await using world = await setupSmall();
    const { id } = await ended(world, { output: long });
    const response = await fetch(`${world.url}/v2/${world.endpoint}/stream/${id}`, {
      headers: { authorization: world.key, accept: "text/event-stream" },
    });
    const events = await Array.fromAsync(eventsOf(response));
    expect(events.map(({ data }) => JSON.parse(data).output)).toEqual([link, link]);
  });

  test("a webhook", async () => {
    await using world = await setupSmall();
    const told = Promise.withResolvers<string>();
    const receiver = createServer(async (request, response) => {
      told.resolve((await Array.fromAsync(request)).join(""));
      response.end();
    }).listen(0, "127.0.0.1");
    await once(receiver, "listening");
    const worker = await world.worker();
    const { port } = receiver.address() as { port: number };
    const id = await world.begun(worker, {}, { webhook: `http://127.0.0.1:${port}` });
    await worker.done(id, { output: long });
    expect(JSON.parse(await told.promise)).toMatchObject({ id, output: link });
    receiver.close();
  });

  test("/requests lists it without output", async () => {
    await using world = await setupSmall();
    await ended(world, { output: long });
    expect((await world.invoke("GET", "/requests")).json.requests[0]).not.toHaveProperty("output");
  });

  test.each([[false], [true]])("the OpenAI route says where it is (stream: %s)", async (stream) => {
    await using world = await setupSmall();
    const worker = await world.worker();
    const answer = world.invoke("POST", "/openai/v1/completions", { body: { stream } });
    const { id } = (await worker.take())!;
    await worker.done(id, { output: long });
    const { status, json } = await answer;
    expect([status, json.error.message]).toEqual([500, expect.stringContaining(`/output/${id}?`)]);
  });
});

describe("HTTP:", () => {
  test("a range is answered as such, so that what broke off can go on", async () => {
    await using world = await setupSmall();
    const { record } = await ended(world, { output: long });
    const whole = Buffer.from(JSON.stringify(long));
    for (const [range, from, to] of [
      ["bytes=5-9", 5, 10],
      ["bytes=1048570-", 1_048_570, whole.length],
      ["bytes=10-99999999", 10, whole.length],
    ] as const) {
      const response = await fetched(world, record.output, { headers: { range } });
      expect([response.status, response.headers.get("content-range")]).toEqual([
        ...[206, `bytes ${from}-${to - 1}/${whole.length}`],
      ]);
      expect(Buffer.from(await response.arrayBuffer()).equals(whole.subarray(from, to))).toBe(true);
    }
    expect((await fetched(world, record.output, { headers: { range: "bytes=99999999-" } })).status).toBe(416);
    expect((await fetched(world, record.output, { headers: { range: "lines=1-2" } })).status).toBe(200);
  });

  test("HEAD tells its length", async () => {
    await using world = await setupSmall();
    const { record } = await ended(world, { output: long });
    const response = await fetched(world, record.output, { method: "HEAD" });
    expect([response.status, Number(response.headers.get("content-length"))]).toEqual([200, record.output.bytes]);
  });

  test("other methods are refused", async () => {
    await using world = await setupSmall();
    const { id } = await ended(world, { output: long });
    expect((await world.invoke("POST", `/output/${id}`)).status).toBe(405);
  });
});
