/** What /run and /runsync accept, up to which size, and that it reaches the worker unchanged. */
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { type JobWorld, setupJobs, type TestWorker } from "../../../tests/job-world.ts";

const MIB = 1024 * 1024;
const STALL_MS = 15_000;
const RUNS = ["/run", "/runsync"];

/** Returns the text that a worker gets for the next job. */
const taken = async (worker: TestWorker) => (await worker.ask("GET job-take")).text;

async function submitText(world: JobWorld, text: string | Uint8Array): Promise<string> {
  const { status, json } = await world.invoke("POST", "/run", { body: text });
  expect([status, json.status]).toEqual([200, "IN_QUEUE"]);
  return json.id;
}

/** A valid body of exactly this many bytes. */
function bodyOf(bytes: number): Uint8Array {
  const body = Buffer.alloc(bytes, "x");
  body.write('{"input":{"text":"');
  body.write('"}}', bytes - 3);
  return body;
}

describe("a body reaches the worker as it came:", () => {
  test.each([
    ["an empty input", '{"input":{}}'],
    ["escapes, NUL among them", '{"input":{"t":"\\u0000 \\ud83c \\n \\/ \\u00e4"}}'],
    ["any script", '{"input":{"t":"π ≈ 3, 水車, 🌊, \u2028"}}'],
    ["numbers that no double holds", '{"input":{"n":12345678901234567890,"f":1e400,"z":-0,"d":1.10}}'],
    ["white space inside", '{ "input" :\n\t{ "a" : 1 } }'],
    ["keys of the caller's own", '{"input":{},"project":"x","policy":{"lowPriority":false},"webhook":null}'],
    ["keys that look like ours inside the input", '{"input":{"id":"x","status":"y"}}'],
    ["a repeated input", '{"input":{"a":1},"input":{"a":2}}'],
  ])("%s", async (_what, text) => {
    await using world = await setupJobs();
    const id = await submitText(world, text);
    const open = text.slice(0, text.lastIndexOf("}")).trimEnd();
    expect(await taken(await world.worker())).toBe(`${open},"id":"${id}"}`);
  });

  test.each([["id"], ["attempt"]])("'%s' given by the caller does not win over ours", async (name) => {
    await using world = await setupJobs();
    const id = await submitText(world, `{"${name}":"forged","input":{}}`);
    const worker = await world.worker();
    const [line] = (await worker.ask("POST job-exchange", { query: "&take=1" })).text.split("\n");
    expect(JSON.parse(line!)).toMatchObject({ id, attempt: 1 });
  });

  test.each([
    ["much white space behind the first brace", `{${" ".repeat(300_000)}"input":{"a":1}}`],
    ["much white space before the last brace", `{"input":{"a":1}${"\n".repeat(300_000)}}`],
    ["a byte order mark", `\ufeff{"input":{"a":1},"more":"${"x".repeat(300_000)}"}`],
    ["a long text in any script", `{"input":{"a":1,"t":"${"水車".repeat(60_000)}"}}`],
  ])("a large one with %s is whole at the worker", async (_what, text) => {
    await using world = await setupJobs();
    const id = await submitText(world, text);
    expect(JSON.parse(await taken(await world.worker()))).toEqual({ ...JSON.parse(text.replace("\ufeff", "")), id });
  });

  test("a byte order mark on a small one is dropped too", async () => {
    await using world = await setupJobs();
    const id = await submitText(world, '\ufeff{"input":{}}');
    expect(await taken(await world.worker())).toBe(`{"input":{},"id":"${id}"}`);
  });
});

describe.each(RUNS)("%s", (path) => {
  const limit = path === "/run" ? 10 * MIB : 20 * MIB;

  test.each([
    ["text/plain"],
    ["application/x-www-form-urlencoded"],
    ["application/octet-stream"],
    ["nonsense"],
    ["application/json; charset=utf-8"],
  ])("takes JSON that calls itself %s", async (type) => {
    await using world = await setupJobs();
    const id = firstJob(world);
    void world.invoke("POST", path, { body: '{"input":{"a":1}}', headers: { "content-type": type } });
    expect(await id).toMatchObject({ input: { a: 1 } });
  });

  test.each([
    ["no body", undefined, "the request body is empty; a JSON object with 'input' is required"],
    ["broken JSON", '{"input":{}', "The request body is not valid JSON (at position 11)."],
    ["broken UTF-8", Uint8Array.from([0x7b, 0xff, 0x7d]), "The request body is not valid UTF-8."],
    ["a list", "[]", "the request body must be a JSON object with 'input'"],
    ["null", "null", "the request body must be a JSON object with 'input'"],
    ["no input", "{}", "'input' is required: a JSON object"],
    [
      "deep nesting",
      `{"input":{"a":${"[".repeat(1001)}${"]".repeat(1001)}}}`,
      "The request body is nested deeper than",
    ],
    ["the input null", '{"input":null}', "'input' must be a JSON object"],
    ["a number for input", '{"input":1}', "'input' must be a JSON object"],
    ["a text for input", '{"input":"text"}', "'input' must be a JSON object"],
    ["a list for input", '{"input":[]}', "'input' must be a JSON object"],
  ])("400: %s", async (_what, text, reason) => {
    await using world = await setupJobs();
    const { status, json, headers } = await world.invoke("POST", path, { body: text });
    expect([status, headers.get("content-type")]).toEqual([400, "application/json"]);
    expect(json).toEqual({ error: expect.stringContaining(reason), message: json.error });
    expect((await world.invoke("GET", "/health")).json.jobs.inQueue).toBe(0);
  });

  test.each([
    [{ policy: 5 }, "'policy' must be a JSON object"],
    [{ policy: { executionTimeout: 4999 } }, "'policy.executionTimeout' must be an integer from 5000 to 604800000"],
    [{ policy: { executionTimeout: "5000" } }, "'policy.executionTimeout' must be an integer from 5000 to 604800000"],
    [{ policy: { executionTimeout: 604_800_001 } }, "'policy.executionTimeout' must be an integer from 5000"],
    [{ policy: { ttl: 9999 } }, "'policy.ttl' must be an integer from 10000 to 604800000"],
    [{ policy: { ttl: 10_000.5 } }, "'policy.ttl' must be an integer from 10000 to 604800000"],
    [{ policy: { retries: 11 } }, "'policy.retries' must be an integer from 0 to 10"],
    [{ policy: { retries: -1 } }, "'policy.retries' must be an integer from 0 to 10"],
    [{ policy: { lowPriority: "yes" } }, "'policy.lowPriority' must be true or false"],
    [{ webhook: "ftp://x" }, "'webhook' must be an http or https URL"],
    [{ webhook: 5 }, "'webhook' must be an http or https URL"],
    [{ webhookV2: "not a URL" }, "'webhookV2' must be an http or https URL"],
    [{ webhook: "https://a.example/\u0000" }, "'webhook' must not contain the character U+0000"],
    [{ webhookV2: "https://a.example/\ud800" }, "'webhookV2' must not contain half of a surrogate pair"],
    [{ webhook: `https://${"a".repeat(2000)}` }, "'webhook' must have at most 2000 bytes"],
  ])("400: %j", async (rest, reason) => {
    await using world = await setupJobs();
    const { status, json } = await world.invoke("POST", path, { body: { input: {}, ...rest } });
    expect([status, json.error]).toEqual([400, expect.stringContaining(reason)]);
  });

  test.each([
    [{ policy: null }],
    [{ policy: { executionTimeout: null, ttl: null, retries: null, lowPriority: null } }],
    [{ policy: { executionTimeout: 5000, ttl: 10_000, retries: 0, lowPriority: true } }],
    [{ policy: { executionTimeout: 604_800_000, ttl: 604_800_000, retries: 10, lowPriority: false } }],
    [{ webhook: null, webhookV2: "" }],
    [{ anything: { else: true } }],
  ])("takes %j", async (rest) => {
    await using world = await setupJobs();
    const id = firstJob(world);
    void world.invoke("POST", path, { body: { input: {}, ...rest } });
    expect(await id).toMatchObject({ input: {} });
  });

  test(`takes ${limit / MIB} MB, and refuses one byte more with 413 in words`, async () => {
    await using world = await setupJobs();
    const first = firstJob(world);
    void world.invoke("POST", path, { body: bodyOf(limit) });
    expect(((await first) as { input: { text: string } }).input.text).toHaveLength(limit - 21);
    const { status, json } = await world.invoke("POST", path, { body: bodyOf(limit + 1) });
    expect([status, json.error]).toEqual([
      413,
      expect.stringContaining(`the limit of ${limit / MIB} MB (${limit} bytes)`),
    ]);
  });

  test("413 also for a body that does not say how long it is", async () => {
    await using world = await setupJobs();
    const chunk = Buffer.alloc(MIB, " ");
    const stream = new ReadableStream({
      pull: (controller) => controller.enqueue(chunk),
    });
    const response = await fetch(`${world.url}/v2/${world.endpoint}${path}`, {
      method: "POST",
      headers: { authorization: world.key },
      body: stream,
      duplex: "half",
    } as RequestInit);
    expect([response.status, await response.json()]).toEqual([
      413,
      { error: expect.any(String), message: expect.any(String) },
    ]);
  });

  test("408: a body that stalls half way, and the queue is unharmed", async () => {
    await using world = await setupJobs();
    const head = `POST /v2/${world.endpoint}${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${world.key}\r\nContent-Length: 99\r\n\r\n`;
    const answer = world.raw(`${head}{"input":`);
    await world.clock.armed(STALL_MS);
    // Twice the time, since the server may have read the last bytes after it first looked at the clock.
    await world.clock.advance(2 * STALL_MS);
    expect(await answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*"error":"The request body stalled for 15 seconds\."/);
    expect((await world.invoke("GET", "/health")).json.jobs.inQueue).toBe(0);
    expect((await world.invoke("POST", "/run", { body: { input: {} } })).status).toBe(200);
  });

  test("a client that hangs up half way leaves nothing behind", async () => {
    await using world = await setupJobs();
    const timers = world.clock.waiting;
    const socket = connect(Number(new URL(world.url).port), "127.0.0.1");
    socket.write(
      `POST /v2/${world.endpoint}${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${world.key}\r\nContent-Length: 99\r\n\r\n{"in`,
    );
    await world.clock.armed(STALL_MS);
    socket.destroy();
    await world.clock.disarmed(STALL_MS);
    expect([world.clock.waiting, (await world.invoke("GET", "/health")).json.jobs.inQueue]).toEqual([timers, 0]);
    expect(world.logged.join()).not.toContain("fault");
  });
});

test("404: the endpoint was deleted while the body was on its way, and no job comes of it", async () => {
  await using world = await setupJobs();
  const text = '{"input":{}}';
  const head = `POST /v2/${world.endpoint}/run HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${world.key}\r\n`;
  const socket = connect(Number(new URL(world.url).port), "127.0.0.1").setEncoding("utf8");
  socket.write(`${head}Content-Length: ${text.length}\r\n\r\n${text.slice(0, 5)}`);
  await world.clock.armed(STALL_MS);
  await world.call("DELETE", `/v2/serverless/${world.endpoint}`);
  socket.write(text.slice(5));
  let answer = "";
  for await (const part of socket) answer += part;
  expect(answer).toMatch(/^HTTP\/1\.1 404 /);
  expect(await world.queue.counts(world.endpoint)).toMatchObject({ inQueue: 0 });
});

describe("a credential in s3Config", () => {
  const SECRET = "wJalrXUtnFEMI/K7MDENG";
  const s3Config = { accessId: "AKIA", accessSecret: SECRET, bucketName: "b", endpointUrl: "https://s3.test" };

  test("is readable for the worker, and stored sealed", async () => {
    await using world = await setupJobs();
    const id = await world.submit({ a: 1 }, { s3Config });
    const stored = (await world.queue.read(id, world.clock.now(), ["body"])) as { body: string };
    expect(stored.body).toContain("AKIA");
    expect(stored.body).not.toContain(SECRET);
    expect(await (await world.worker()).take()).toEqual({ id, input: { a: 1 }, s3Config });
    expect((await world.invoke("GET", `/status/${id}`)).text).not.toContain(SECRET);
  });

  test("leaves everything else as it came, and is sealed wherever it stands", async () => {
    await using world = await setupJobs();
    const odd = `{"s3Config":{"accessSecret":"${SECRET}-old"},"input":{"n":12345678901234567890},"s3Config":{"accessSecret":"${SECRET}"}}`;
    const id = await submitText(world, odd);
    const stored = (await world.queue.read(id, world.clock.now(), ["body"])) as { body: string };
    expect(stored.body).not.toContain(SECRET);
    const text = await taken(await world.worker());
    expect(text).toContain('"input":{"n":12345678901234567890}');
    expect(JSON.parse(text).s3Config.accessSecret).toBe(SECRET);
  });

  test("is sealed where a second s3Config without one hides it from parsers", async () => {
    await using world = await setupJobs();
    const id = await submitText(world, `{"s3Config":{"accessSecret":"${SECRET}"},"input":{},"s3Config":{}}`);
    const stored = (await world.queue.read(id, world.clock.now(), ["body"])) as { body: string };
    expect(stored.body).not.toContain(SECRET);
    expect(JSON.parse(await taken(await world.worker())).s3Config).toEqual({});
  });

  test("is sealed in a large body too", async () => {
    await using world = await setupJobs();
    const id = await world.submit({ text: "x".repeat(300_000) }, { s3Config });
    const stored = (await world.queue.read(id, world.clock.now(), ["body"])) as { body: string };
    expect(stored.body).not.toContain(SECRET);
    expect(await (await world.worker()).take()).toMatchObject({ id, s3Config });
  });

  test.each([[null], [{}], ["text"], [{ accessSecret: 5 }], [{ accessSecret: { a: 1 } }]])(
    "s3Config %j holds none and is passed on",
    async (given) => {
      await using world = await setupJobs();
      const id = await world.submit({}, { s3Config: given });
      expect(await (await world.worker()).take()).toEqual({ id, input: {}, s3Config: given });
    },
  );
});

describe("Idempotency-Key", () => {
  const send = (world: JobWorld, key: string, body: unknown = { input: { a: 1 } }, path = "/run") =>
    world.invoke("POST", path, { body, headers: { "idempotency-key": key } });

  test("the same body under the same key is the same job", async () => {
    await using world = await setupJobs();
    const first = (await send(world, "k")).json;
    expect((await send(world, "k")).json).toEqual(first);
    expect((await send(world, "other")).json.id).not.toBe(first.id);
    expect((await world.invoke("GET", "/health")).json.jobs.inQueue).toBe(2);
  });

  test("many at once make one job", async () => {
    await using world = await setupJobs();
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(world, "k")));
    expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1);
  });

  test("409: another body under the same key", async () => {
    await using world = await setupJobs();
    await send(world, "k");
    const { status, json } = await send(world, "k", { input: { a: 2 } });
    const text = "this Idempotency-Key was already used with a different request body";
    expect([status, json]).toEqual([409, { error: text, message: text }]);
  });

  test("a second /runsync waits for the first one's job, and names it", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const answers = [send(world, "k", undefined, "/runsync"), send(world, "k", undefined, "/runsync")];
    const job = await worker.take();
    await world.clock.armed(90_000, 2);
    await worker.done(job!.id, { output: 1 });
    for (const { json, headers } of await Promise.all(answers))
      expect([json.id, json.status, headers.get("x-job-id")]).toEqual([job!.id, "COMPLETED", job!.id]);
  });

  test("tells how far the job is by now", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const { id } = (await send(world, "k")).json;
    await worker.take();
    expect((await send(world, "k")).json).toEqual({ id, status: "IN_PROGRESS" });
  });

  test("lives as long as the job, and is the endpoint's own", async () => {
    await using world = await setupJobs();
    const first = (await send(world, "k")).json.id;
    await world.invoke("POST", `/cancel/${first}`);
    expect((await send(world, "k")).json).toEqual({ id: first, status: "CANCELLED" });
    await world.clock.advance(31 * 60_000);
    expect((await send(world, "k")).json).toEqual({ id: expect.not.stringMatching(first), status: "IN_QUEUE" });
  });

  test.each([["x".repeat(256)], [""]])("400: a key of %j", async (key) => {
    await using world = await setupJobs();
    const { status, json } = await send(world, key);
    expect([status, json.error]).toEqual([400, "'Idempotency-Key' must have 1 to 255 characters"]);
  });
});

/** Returns the first job that a worker gets. */
async function firstJob(world: JobWorld): Promise<unknown> {
  return await (await world.worker()).take();
}
