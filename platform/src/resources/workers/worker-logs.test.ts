/** Following a worker's log: where it begins, how it resumes, and who may read it. */
import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { eventsOf, type JobWorld, setupJobs } from "../../../tests/job-world.ts";
import type { NewLine } from "../../ports/logs/logs.ts";
import { workerLog } from "./model.ts";

const KEEP_ALIVE_MS = 15_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

async function setup(...lines: string[]) {
  const world = await setupJobs();
  const stream = workerLog(world.endpoint, "w1");
  const write = (...written: string[]) => {
    const now = world.clock.now();
    world.logs.append(
      stream,
      written.map((line, i): NewLine => ({ source: line.startsWith("#") ? "system" : "container", ts: now + i, line })),
    );
  };
  if (lines.length > 0) write(...lines);
  return { world, stream, write };
}

const pathOf = (world: JobWorld, query = "", worker = "w1") =>
  `/v2/serverless/${world.endpoint}/workers/${worker}/logs${query}`;

/** A client that follows the log on its own connection. */
async function follow(world: JobWorld, query = "", headers: Record<string, string> = {}) {
  const request = get(world.url + pathOf(world, query), {
    headers: { authorization: `Bearer ${world.key}`, ...headers },
    agent: new Agent({ keepAlive: true }),
  });
  const [incoming] = (await once(request, "response")) as [IncomingMessage];
  incoming.on("error", () => undefined);
  const events = eventsOf(new Response(Readable.toWeb(incoming) as ReadableStream));
  return {
    status: incoming.statusCode,
    headers: incoming.headers,
    hangUp: () => request.destroy(),
    async take(count: number) {
      const taken: { id?: string; event?: string; data: string }[] = [];
      while (taken.length < count) taken.push((await events.next()).value!);
      return taken;
    },
    async lines(count: number): Promise<string[]> {
      return (await this.take(count)).map(({ data }) => JSON.parse(data).line);
    },
    /** The lines until the server ends the stream. */
    async rest(): Promise<string[]> {
      const rest: string[] = [];
      for await (const { data } of events) rest.push(JSON.parse(data).line);
      return rest;
    },
  };
}

test("each line is an event with an id and three texts, and no name", async () => {
  const { world } = await setup("hello", "#worker started");
  await using _ = world;
  const client = await follow(world);
  expect((await client.take(2)).map(({ id, event, data }) => [id, event, JSON.parse(data)])).toEqual([
    [
      "2026-01-01T00:00:00.000Z/000000000001",
      undefined,
      { ts: "2026-01-01T00:00:00.000Z", source: "container", line: "hello" },
    ],
    [
      "2026-01-01T00:00:00.001Z/000000000002",
      undefined,
      { ts: "2026-01-01T00:00:00.001Z", source: "system", line: "#worker started" },
    ],
  ]);
  client.hangUp();
});

test("a log ends for a reader whose key was revoked, before the next line", async () => {
  const { world, write } = await setup("before");
  await using _ = world;
  const key = await world.newKey({ scopes: ["serverless:read"] });
  const client = await follow(world, "", { authorization: `Bearer ${key}` });
  expect(await client.lines(1)).toEqual(["before"]);
  await world.clock.advance(1000);
  write("while it is good");
  expect(await client.lines(1)).toEqual(["while it is good"]);
  const { apiKeys } = (await world.call("GET", "/v2/account/api-keys")).json;
  const { id } = apiKeys.find(({ scopes }: { scopes: string[] }) => scopes.join() === "serverless:read");
  await world.call("DELETE", `/v2/account/api-keys/${id}`);
  await world.clock.advance(1000);
  write("after");
  expect(await client.rest()).toEqual([]);
  client.hangUp();
});

test("the answer is a stream that no proxy may hold back, with the rate limits", async () => {
  const { world } = await setup("a");
  await using _ = world;
  const client = await follow(world);
  expect(client.status).toBe(200);
  expect(client.headers).toMatchObject({
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    connection: "keep-alive",
    "x-accel-buffering": "no",
    ratelimit: expect.stringContaining('"minute";r='),
    "ratelimit-policy": expect.stringContaining('"minute";q=600'),
  });
  client.hangUp();
});

test("lines that are written later come as they are written", async () => {
  const { world, write } = await setup("a");
  await using _ = world;
  const client = await follow(world);
  expect(await client.lines(1)).toEqual(["a"]);
  write("b", "c");
  expect(await client.lines(2)).toEqual(["b", "c"]);
  client.hangUp();
});

test("the last hundred lines come first, or as many as `tail` says", async () => {
  const { world, write } = await setup(...Array.from({ length: 150 }, (_, i) => `${i}`));
  await using _ = world;
  const hundred = await follow(world);
  expect((await hundred.lines(100))[0]).toBe("50");
  const two = await follow(world, "?tail=2");
  expect(await two.lines(2)).toEqual(["148", "149"]);
  const none = await follow(world, "?tail=0");
  write("new");
  expect(await none.lines(1)).toEqual(["new"]);
  for (const client of [hundred, two, none]) client.hangUp();
});

test("`since` wins over `tail`, and `Last-Event-ID` over both", async () => {
  const { world } = await setup("a", "b", "c", "d");
  await using _ = world;
  const since = await follow(world, "?tail=1&since=2026-01-01T00:00:00.001Z");
  expect(await since.lines(3)).toEqual(["b", "c", "d"]);
  const query = "?tail=4&since=2026-01-01T00:00:00Z";
  const resumed = await follow(world, query, { "last-event-id": "2026-01-01T00:00:00.002Z/000000000003" });
  expect(await resumed.lines(1)).toEqual(["d"]);
  for (const client of [since, resumed]) client.hangUp();
});

test("a time alone is a place to resume from, and an empty id is none", async () => {
  const { world } = await setup("a", "b", "c");
  await using _ = world;
  const byTime = await follow(world, "", { "last-event-id": "2026-01-01T00:00:00.001Z" });
  expect(await byTime.lines(1)).toEqual(["c"]);
  const empty = await follow(world, "?tail=1", { "last-event-id": "" });
  expect(await empty.lines(1)).toEqual(["c"]);
  for (const client of [byTime, empty]) client.hangUp();
});

test("a client that resumes behind each event in turn misses nothing and gets nothing twice", async () => {
  const lines = Array.from({ length: 10 }, (_, i) => `${i}`);
  const { world, stream } = await setup();
  await using _ = world;
  world.logs.append(
    stream,
    lines.map((line) => ({ source: "container", ts: world.clock.now(), line })),
  );
  const got: string[] = [];
  for (let id = "2025-01-01T00:00:00Z"; got.length < lines.length; ) {
    const client = await follow(world, "", { "last-event-id": id });
    const [event] = await client.take(1);
    got.push(JSON.parse(event!.data).line);
    id = event!.id!;
    client.hangUp();
  }
  expect(got).toEqual(lines);
});

test("one source can be asked for", async () => {
  const { world } = await setup("a", "#b", "c");
  await using _ = world;
  const system = await follow(world, "?source=system");
  expect(await system.lines(1)).toEqual(["#b"]);
  const container = await follow(world, "?source=container");
  expect(await container.lines(2)).toEqual(["a", "c"]);
  for (const client of [system, container]) client.hangUp();
});

test("a quiet stream says every 15 seconds that it is there", async () => {
  const { world } = await setup("a");
  await using _ = world;
  const head = `Host: x\r\nAuthorization: Bearer ${world.key}\r\nConnection: close`;
  const answer = world.raw(`GET ${pathOf(world, "?tail=0")} HTTP/1.1\r\n${head}\r\n\r\n`);
  await world.clock.armed(KEEP_ALIVE_MS);
  await world.clock.advance(2 * KEEP_ALIVE_MS);
  await world.logs.remove(`worker/${world.endpoint}/`);
  expect((await answer).match(/: waiting\n\n/g)).toHaveLength(2);
});

test("a client that hangs up leaves nothing behind", async () => {
  const { world } = await setup("a");
  await using _ = world;
  const before = world.clock.waiting;
  const client = await follow(world);
  await client.lines(1);
  await world.clock.armed(KEEP_ALIVE_MS);
  client.hangUp();
  await world.clock.disarmed(KEEP_ALIVE_MS);
  expect(world.clock.waiting).toBe(before);
});

test("HEAD answers without following", async () => {
  const { world } = await setup("a");
  await using _ = world;
  const { status, text, headers } = await world.call("HEAD", pathOf(world));
  expect([status, text, headers.get("content-type")]).toEqual([200, "", "text/event-stream"]);
});

test("a server that ends, ends its streams", async () => {
  const { world } = await setup("a");
  const client = await follow(world);
  expect(await client.lines(1)).toEqual(["a"]);
  const rest = client.rest();
  await world[Symbol.asyncDispose]();
  expect(await rest).toEqual([]);
});

test("the log of a worker that has ended stays readable, until its endpoint is deleted", async () => {
  const { world, stream } = await setup("last words");
  await using _ = world;
  const client = await follow(world);
  expect(await client.lines(1)).toEqual(["last words"]);
  const rest = client.rest();
  await world.call("DELETE", `/v2/serverless/${world.endpoint}`);
  expect(await rest).toEqual([]);
  expect(await world.logs.has(stream)).toBe(false);
  expect((await world.call("GET", pathOf(world))).status).toBe(404);
});

test("a log to which nothing was added for a week goes within the hour", async () => {
  const { world, stream, write } = await setup("a");
  await using _ = world;
  const laterBy = async (days: number) => {
    world.clock.jump(days * DAY_MS);
    await world.clock.advance(HOUR_MS);
    return world.logs.has(stream);
  };
  expect(await laterBy(6)).toBe(true);
  write("still there");
  expect(await laterBy(6)).toBe(true);
  expect(await laterBy(1)).toBe(false);
});

test("a worker that is there and has written nothing can be followed", async () => {
  const { world } = await setup();
  await using _ = world;
  const worker = await world.worker();
  await world.begun(worker);
  expect((await world.call("HEAD", pathOf(world, "", worker.id))).status).toBe(200);
});

test.each([["nobody"], ["..."], ["w1%2F..%2Fw1"], ["..%2F..%2Fsecret"], ["w1%00"], ["a".repeat(200)]])(
  "404: the worker %s",
  async (worker) => {
    const { world } = await setup("a");
    await using _ = world;
    const { status, json } = await world.call("GET", pathOf(world, "", worker));
    expect([status, json.title]).toEqual([404, "Not Found"]);
  },
);

test("404: a worker of another endpoint or another account", async () => {
  const { world } = await setup("a");
  await using _ = world;
  const body = { name: "other", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const other = (await world.call("POST", "/v2/serverless", { body })).json.id;
  expect((await world.call("GET", `/v2/serverless/${other}/workers/w1/logs`)).json.detail).toBe("worker not found");
  const { status } = await world.call("GET", pathOf(world), { key: await world.strangersKey() });
  expect(status).toBe(404);
});

test.each([
  ["?tail=-1", "$.tail: must be >= 0"],
  ["?tail=5001", "$.tail: must be <= 5000"],
  ["?tail=many", "$.tail: must be integer"],
  ["?source=kernel", "$.source: must be one of container, system"],
  ["?since=yesterday", "$.since: must be a valid date-time"],
])("422: %s", async (query, error) => {
  const { world } = await setup("a");
  await using _ = world;
  const { status, json } = await world.call("GET", pathOf(world, query));
  expect([status, json.errors]).toEqual([422, [error]]);
});

test.each([["soon"], ["2026-01-01T00:00:00Z/x"], ["/5"]])("422: Last-Event-ID %s", async (id) => {
  const { world } = await setup("a");
  await using _ = world;
  const { status, json } = await world.call("GET", pathOf(world), { headers: { "last-event-id": id } });
  expect([status, json.errors[0]]).toEqual([422, expect.stringContaining("$.Last-Event-ID: must be")]);
});
