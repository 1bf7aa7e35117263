/** Following the logs of all workers of an endpoint in one stream. */
import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { type FleetWorld, setupFleet } from "../../../tests/fleet-world.ts";
import { eventsOf } from "../../../tests/job-world.ts";
import { workerLog } from "./model.ts";

const pathOf = (world: FleetWorld, query = "") => `/v2/serverless/${world.endpoint}/logs${query}`;

/** An endpoint with so many workers. `write` adds a line to the log of one, and `names` says which one is meant by a letter. */
async function setup(workers = 2) {
  const world = await setupFleet({ endpoint: { workers: { min: workers, max: 5 } } });
  await world.pass(1);
  const write = (worker: string, ...lines: string[]) => {
    const ts = world.clock.now();
    world.logs.append(
      workerLog(world.endpoint, worker),
      lines.map((line) => ({ source: "container", ts, line })),
    );
  };
  return { world, write, ids: [...world.started] as [string, string] };
}

interface Told {
  id: string;
  workerId: string | null;
  source: string;
  line: string;
}

async function follow(world: FleetWorld, query = "?source=container", lastEventId?: string) {
  const request = get(world.url + pathOf(world, query), {
    headers: { authorization: `Bearer ${world.key}`, ...(lastEventId && { "last-event-id": lastEventId }) },
    agent: new Agent({ keepAlive: true }),
  });
  const [incoming] = (await once(request, "response")) as [IncomingMessage];
  incoming.on("error", () => undefined);
  const events = eventsOf(new Response(Readable.toWeb(incoming) as ReadableStream));
  return {
    hangUp: () => request.destroy(),
    async take(count: number): Promise<Told[]> {
      const taken: Told[] = [];
      while (taken.length < count) {
        const { id = "", data } = (await events.next()).value!;
        taken.push({ id, ...JSON.parse(data) });
      }
      return taken;
    },
    async rest(): Promise<string[]> {
      const rest: string[] = [];
      for await (const { data } of events) rest.push(JSON.parse(data).line);
      return rest;
    },
  };
}

const said = (told: readonly Told[]) => told.map(({ workerId, line }) => [workerId, line]);
const lines = (told: readonly Told[]) => told.map(({ line }) => line).sort();

test("has the last lines of all workers by their time, then each as it is written, with its worker", async () => {
  const { world, write, ids } = await setup();
  await using _ = world;
  const [a, b] = ids;
  write(a, "old", "one");
  await world.pass(1);
  write(b, "two");
  await world.pass(1);
  write(a, "three");
  const client = await follow(world, "?source=container&tail=3");
  expect(said(await client.take(3))).toEqual([
    [a, "one"],
    [b, "two"],
    [a, "three"],
  ]);
  write(b, "four");
  expect(said(await client.take(1))).toEqual([[b, "four"]]);
  write(a, "five");
  expect(said(await client.take(1))).toEqual([[a, "five"]]);
  client.hangUp();
});

test("a worker that comes later joins with all of its lines", async () => {
  const { world, write } = await setup(1);
  await using _ = world;
  const client = await follow(world, "?source=container&tail=0");
  await world.change({ workers: { min: 2, max: 5 } });
  await world.settle();
  const later = world.started[1]!;
  write(later, "hello", "world");
  await world.pass(2);
  expect(said(await client.take(2))).toEqual([
    [later, "hello"],
    [later, "world"],
  ]);
  client.hangUp();
});

test("the last lines of a worker that has ended still come", async () => {
  const { world, write, ids } = await setup(1);
  await using _ = world;
  const [a] = ids;
  const client = await follow(world, "?source=container&tail=0");
  await world.pass(1);
  await world.change({ workers: { min: 0, max: 0 } });
  await world.pass(5);
  expect(await world.record(a)).toBeUndefined();
  write(a, "last words");
  expect(said(await client.take(1))).toEqual([[a, "last words"]]);
  client.hangUp();
});

test("the lines of workers that have ended come first too, as far as this node keeps them", async () => {
  const { world, write, ids } = await setup(1);
  await using _ = world;
  const [a] = ids;
  write(a, "one", "two");
  await world.change({ workers: { min: 0, max: 0 } });
  await world.pass(5);
  expect(await world.record(a)).toBeUndefined();
  expect(await (await follow(world, "?source=container&tail=1&follow=false")).rest()).toEqual(["two"]);
  const client = await follow(world, "?source=container&since=2026-01-01T00:00:00Z");
  expect(said(await client.take(2))).toEqual([
    [a, "one"],
    [a, "two"],
  ]);
  client.hangUp();
});

test("a reader that comes back with the last id misses nothing and gets nothing twice", async () => {
  const { world, write, ids } = await setup();
  await using _ = world;
  const [a, b] = ids;
  write(a, "a1", "a2");
  write(b, "b1");
  let client = await follow(world);
  const first = await client.take(3);
  const { id } = first.at(-1)!;
  expect(id).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z\/[\w-]+\.\d+,[\w-]+\.\d+$/);
  client.hangUp();
  write(a, "a3");
  write(b, "b2");
  client = await follow(world, "?source=container", id);
  const second = await client.take(2);
  expect(lines(second)).toEqual(["a3", "b2"]);
  client.hangUp();
  await world.change({ workers: { min: 0, max: 0 } });
  write(b, "b3");
  await world.pass(5);
  client = await follow(world, "?source=container", second.at(-1)!.id);
  expect(said(await client.take(1))).toEqual([[b, "b3"]]);
  client.hangUp();
});

test("ends after the kept lines when nothing is to follow", async () => {
  const { world, write, ids } = await setup();
  await using _ = world;
  const [a, b] = ids;
  write(a, "a1", "a2");
  write(b, "b1");
  expect(await (await follow(world, "?source=container&follow=false")).rest()).toEqual(["a1", "a2", "b1"]);
  expect(await (await follow(world, "?source=container&follow=false&tail=1")).rest()).toEqual(["b1"]);
  expect(
    (await (await follow(world, "?source=container&follow=false&since=2026-01-01T00:00:00Z")).rest()).sort(),
  ).toEqual(["a1", "a2", "b1"]);
});

test("ends when the endpoint is deleted", async () => {
  const { world } = await setup();
  await using _ = world;
  const client = await follow(world);
  const rest = client.rest();
  const deleted = world.call("DELETE", `/v2/serverless/${world.endpoint}`);
  await world.pass(10);
  expect((await deleted).status).toBe(204);
  expect(await rest).toEqual([]);
});

test("a client that hangs up leaves nothing behind, even if it has read nothing", async () => {
  const { world, write, ids } = await setup();
  await using _ = world;
  const before = world.clock.waiting;
  const client = await follow(world);
  await world.settle();
  for (const id of ids) for (let i = 0; i < 200; i++) write(id, "x".repeat(10_000));
  await world.settle();
  client.hangUp();
  await world.settle();
  expect(world.clock.waiting).toBe(before);
});

test("a reader that is too slow is told how many lines it missed", async () => {
  const { world, write, ids } = await setup(1);
  await using _ = world;
  const client = await follow(world, "?source=container&tail=0");
  await world.pass(1);
  for (let i = 0; i < 400; i++) {
    write(ids[0], "x".repeat(16_000));
    await world.clock.advance(100);
  }
  let count = 0;
  let missed = 0;
  while (count + missed < 400) {
    const [told] = await client.take(1);
    if (told!.source === "system") missed += Number(/^(\d+) lines? skipped/.exec(told!.line)![1]);
    else count++;
  }
  expect(missed).toBeGreaterThan(0);
  expect(count + missed).toBe(400);
  client.hangUp();
});

test.each([["soon"], ["2026-01-01T00:00:00Z/w1"], ["2026-01-01T00:00:00Z/w1.x"], ["/w1.5"]])(
  "422: Last-Event-ID %s",
  async (id) => {
    const { world } = await setup(0);
    await using _ = world;
    const { status, json } = await world.call("GET", pathOf(world), { headers: { "last-event-id": id } });
    expect([status, json.errors[0]]).toEqual([422, expect.stringContaining("$.Last-Event-ID: must be")]);
  },
);

test("another account gets none of it, by the endpoint or by an id that names its workers", async () => {
  const { world, write, ids } = await setup();
  await using _ = world;
  write(ids[0], "a secret of the first account");
  const key = await world.strangersKey();
  expect((await world.call("GET", pathOf(world), { key })).status).toBe(404);
  const body = { name: "theirs", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const { status, json } = await world.call("POST", "/v2/serverless", { key, body: { ...body, image: "busybox:1" } });
  expect(status).toBe(201);
  const path = `/v2/serverless/${json.id}/logs?follow=false`;
  const headers = { "last-event-id": `2020-01-01T00:00:00Z/${ids.map((id) => `${id}.0`).join(",")}` };
  const seen = await world.call("GET", path, { key, headers });
  expect([seen.status, seen.text]).toEqual([200, ""]);
});

test.each([
  ["../../x.1"],
  ["%2e%2e%2fx.1"],
  ["a/b.1"],
  [`${"w".repeat(101)}.1`],
  ["w.9999999999999999"],
  ["w.-1"],
  [Array.from({ length: 101 }, (_, n) => `w${n}.1`).join(",")],
])("an id with %s in it is refused with its form", async (positions) => {
  const { world } = await setup(1);
  await using _ = world;
  const headers = { "last-event-id": `2026-01-01T00:00:00Z/${positions}` };
  const { status, json } = await world.call("GET", pathOf(world), { headers });
  // What is behind a second slash is no part of the id.
  if (positions === "a/b.1") expect(status).toBe(422);
  else expect([status, json.errors]).toEqual([422, [expect.stringContaining("$.Last-Event-ID: must be")]]);
});

test.each([
  "tail=5001",
  "tail=-1",
  "tail=1e9",
  "since=soon",
  "source=secrets",
  "follow=maybe",
  `since=${"9".repeat(4000)}`,
])("the query %s is refused", async (query) => {
  const { world } = await setup(1);
  await using _ = world;
  expect((await world.call("GET", pathOf(world, `?${query}`))).status).toBe(422);
});
