/** The event stream of an account: what it contains, who sees it, where it resumes, and that it agrees with the lists. */
import { expect, test } from "vitest";
import { EventFollower, type Place, readLists } from "../../../tests/event-follower.ts";
import { walkEvents } from "../../../tests/event-walk.ts";
import { setupFleet } from "../../../tests/fleet-world.ts";
import { idle } from "../../../tests/idle.ts";
import { setupPodNodes } from "../../../tests/pod-nodes.ts";
import { CPU_POD } from "../../../tests/pod-world.ts";
import { InterceptedStore, setup, type World } from "../../../tests/world.ts";
import { MemoryLogs } from "../../ports/logs/memory-logs.ts";
import { Backlog } from "./backlog.ts";
import { MOST_STREAMS } from "./model.ts";
import { SharedBlocks, sightOf } from "./shared-blocks.ts";

const SECRETS = "/v2/account/secrets";
const secret = (world: Pick<World, "call">, name: string) =>
  world.call("POST", SECRETS, { body: { name, value: "v" } }).then(({ json }) => json.id as string);

async function follow(place: Place, lastId?: string) {
  const follower = new EventFollower();
  follower.lastId = lastId;
  await follower.connect(place);
  if (lastId === undefined) await follower.hears(({ type }) => type === "reset");
  return follower;
}

/** Lets gathered events go out, and waits for everything that follows from them. */
async function pass(world: Pick<World, "clock">, ms = 100) {
  await idle();
  await world.clock.advance(ms);
  await idle();
}

test("a stream begins with reset; then each change comes with its version, and a removal as one", async () => {
  await using world = await setup();
  const follower = await follow(world);
  const id = await secret(world, "token");
  await pass(world);
  await world.call("PATCH", `${SECRETS}/${id}`, { body: { value: "other" } });
  await pass(world);
  await world.call("DELETE", `${SECRETS}/${id}`);
  await pass(world);
  const heard = follower.heard.filter((event) => event.id === id);
  expect(heard.map(({ type, resource }) => [type, resource])).toEqual([
    ["changed", "secrets"],
    ["changed", "secrets"],
    ["removed", "secrets"],
  ]);
  expect(heard[1]!.version).toBeGreaterThan(heard[0]!.version!);
  expect(JSON.stringify(follower.heard)).not.toContain("other");
  await follower.disconnect();
});

test("what changes often within a moment is one event", async () => {
  await using world = await setup();
  const follower = await follow(world);
  const id = await secret(world, "token");
  for (const value of ["a", "b", "c"]) await world.call("PATCH", `${SECRETS}/${id}`, { body: { value } });
  await pass(world);
  expect(follower.heard.filter((event) => event.id === id)).toHaveLength(1);
  await follower.disconnect();
});

test("a stream goes on after Last-Event-ID without a gap, and says reset where that is not known", async () => {
  await using world = await setup();
  const follower = await follow(world);
  await secret(world, "one");
  await pass(world);
  await follower.disconnect();
  const between = await secret(world, "two");
  await pass(world);
  await follower.connect(world);
  await follower.hears(({ id }) => id === between);
  expect(follower.resets).toBe(1);
  await follower.disconnect();
  for (const unknown of ["nonsense", "otherhub-3", `${follower.lastId!.split("-")[0]}-999`]) {
    const other = await follow(world, unknown);
    await other.hears(({ type, why }) => type === "reset" && why!.includes("not known"));
    await other.disconnect();
  }
});

test("a minute after the last reader has gone, nothing is kept for it", async () => {
  await using world = await setup();
  const follower = await follow(world);
  await follower.disconnect();
  await pass(world, 61_000);
  await follower.connect(world);
  await idle();
  expect(follower.resets).toBe(2);
  await follower.disconnect();
});

test("a key sees what it may read, a narrowed one its own endpoints alone, and a stranger nothing of this account", async () => {
  await using world = await setupFleet();
  const keys = {
    pods: await world.newKey({ scopes: ["pods:read"] }),
    secrets: await world.newKey({ scopes: ["secrets:write"] }),
    narrowed: await world.newKey({ endpoints: [world.endpoint] }),
    stranger: await world.strangersKey(),
  };
  const followers = await Promise.all(Object.values(keys).map((key) => connectOnly(world, key)));
  await secret(world, "token");
  await world.call("POST", "/v2/pods", { body: CPU_POD });
  await world.call("PATCH", `/v2/serverless/${world.endpoint}`, { body: { name: "renamed" } });
  await world.call("POST", "/v2/serverless", {
    body: { name: "other", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] },
  });
  await pass(world);
  const seen = followers.map(({ heard }) => [...new Set(heard.flatMap(({ resource }) => resource ?? []))].sort());
  expect(seen).toEqual([["pods"], ["secrets"], expect.arrayContaining(["serverless"]), []]);
  const [, , narrowed] = followers;
  for (const { resource, id, endpointId } of narrowed!.heard.slice(1))
    expect(resource === "serverless" ? id : endpointId).toBe(world.endpoint);
  const nothing = await world.newKey({ scopes: ["serverless:invoke"] });
  expect(await new EventFollower().connect({ ...world, key: nothing })).toBe(403);
  for (const follower of followers) await follower.disconnect();
});

test("jobs come as counts of their endpoint, at most twice a second", async () => {
  await using world = await setupFleet();
  const follower = await follow(world);
  await pass(world, 1000);
  const before = follower.heard.length;
  for (let n = 0; n < 20; n++) await world.submit();
  await pass(world, 499);
  await pass(world, 101);
  const jobs = follower.heard.slice(before).filter(({ type }) => type === "jobs");
  expect(jobs).toMatchObject([{ endpointId: world.endpoint, jobs: { inQueue: 20, completed: 0 } }]);
  await follower.disconnect();
});

test("an account has so many streams at once, and one that ended makes room", async () => {
  await using world = await setup();
  const followers = await Promise.all(Array.from({ length: MOST_STREAMS }, () => connectOnly(world, world.key)));
  expect(await new EventFollower().connect(world)).toBe(429);
  await followers[0]!.disconnect();
  await idle();
  const next = new EventFollower();
  expect(await next.connect(world)).toBe(200);
  for (const follower of [...followers, next]) await follower.disconnect();
});

test("with 50 readers the server reads the store and counts jobs as often as with one", async () => {
  expect(await workFor(50)).toEqual(await workFor(1));
});

/** What the server reads while an account changes and so many readers follow it. */
async function workFor(readers: number): Promise<{ reads: string[]; counts: number; heard: number[] }> {
  const store = new InterceptedStore();
  await using world = await setupFleet({ store, rateLimits: "off" });
  const followers = await Promise.all(Array.from({ length: readers }, () => connectOnly(world, world.key)));
  await pass(world, 1000);
  const before = followers.map(({ heard }) => heard.length);
  const reads: string[] = [];
  let counts = 0;
  const count = world.queue.counts.bind(world.queue);
  world.queue.counts = (endpoint) => {
    counts++;
    return count(endpoint);
  };
  // Keys are checked for each reader, from time to time and not for a change.
  store.beforeRead = (kind) => void (kind !== "api-key" && reads.push(kind));
  for (let n = 0; n < 5; n++) {
    await secret(world, `token${n}`);
    await world.submit();
    await pass(world, 600);
  }
  store.beforeRead = () => {};
  const heard = followers.map((follower, i) => follower.heard.length - before[i]!);
  for (const follower of followers) await follower.disconnect();
  return { reads: reads.toSorted(), counts, heard: [...new Set(heard)] };
}

test("readers that may see the same share the bytes of an event, however many they are", () => {
  const backlog = new Backlog();
  const blocks = new SharedBlocks(backlog, "epoch");
  const [one, same] = [sightOf({ grants: ["all"] }), sightOf({ grants: ["all"] })];
  const other = sightOf({ grants: ["pods:read"] });
  expect(blocks.after(0, one)).toBeUndefined();
  for (const id of ["s1", "s2"]) backlog.add({ type: "changed", resource: "secrets", id, version: 1 });
  const first = blocks.after(0, one)!;
  expect([first.at, blocks.after(0, same)]).toEqual([2, first]);
  expect(blocks.after(0, same)!.block!.bytes).toBe(first.block!.bytes);
  expect(blocks.after(0, other)).toEqual({ at: 2, block: undefined });
  backlog.add({ type: "changed", resource: "pods", id: "p1", version: 1 });
  expect(String(blocks.after(2, other)!.block!.bytes)).toContain(
    'id: epoch-3\ndata: {"type":"changed","resource":"pods"',
  );
});

test("a stream ends with the reason when its key is revoked", async () => {
  await using world = await setup();
  const key = await world.newKey({ scopes: ["secrets:read"] });
  const follower = await connectOnly(world, key);
  const keys = (await world.call("GET", "/v2/account/api-keys")).json;
  const list = Object.values(keys).find(Array.isArray) as { id: string; scopes: string[] }[];
  const { id } = list.find(({ scopes }) => scopes.join() === "secrets:read")!;
  await world.call("DELETE", `/v2/account/api-keys/${id}`);
  await pass(world, 12_000);
  await pass(world, 12_000);
  expect(follower.heard.at(-1)).toMatchObject({ type: "end", why: "this API key is no longer valid" });
});

test("commits are looked at only while somebody follows", async () => {
  await using world = await setup();
  const { watched } = world.services;
  expect(watched.isWatched).toBe(false);
  const follower = await follow(world);
  expect(watched.isWatched).toBe(true);
  await follower.disconnect();
  await pass(world, 61_000);
  expect(watched.isWatched).toBe(false);
});

test("a change on another node comes too, by a signal", async () => {
  await using nodes = await setupPodNodes();
  const { first, second } = nodes;
  const follower = await follow(second);
  const told = await secret(first, "told");
  await pass(first, 1000);
  expect(follower.heard.some(({ id }) => id === told)).toBe(true);
  expect(follower.fold).toEqual(await readLists(second));
  await follower.disconnect();
});

test("a node that begins later tells of its changes from its first moment on", async () => {
  await using nodes = await setupPodNodes();
  const { first } = nodes;
  const follower = await follow(first);
  await using later = await setup({
    ...{ signals: first.signals, store: first.store, found: { ...first, logs: new MemoryLogs() } },
    machine: "later",
  });
  const told = await secret(later, "told");
  await pass(first, 1000);
  expect(follower.heard.some(({ id }) => id === told)).toBe(true);
  await follower.disconnect();
});

test("what a reader listed is told as removed, although every signal of the other node was lost", async () => {
  await using nodes = await setupPodNodes();
  const { first, second } = nodes;
  const other = await follow(second);
  first.signals.emit = () => {};
  const brief = await secret(first, "brief");
  const reader = await follow(second);
  expect(reader.fold.has(`secrets/${brief}`)).toBe(true);
  await first.call("DELETE", `${SECRETS}/${brief}`);
  await pass(first, 12_000);
  await pass(first);
  for (const follower of [reader, other]) {
    expect(follower.fold).toEqual(await readLists(second));
    await follower.disconnect();
  }
});

test("of events that nobody fetched in time the oldest go, by number and by size", () => {
  const backlog = new Backlog();
  for (let n = 0; n < 12_500; n++) backlog.add({ type: "changed", resource: "secrets", id: `s${n}`, version: 1 });
  expect([backlog.last, backlog.reaches(2500), backlog.reaches(2499), backlog.reaches(12_501)]).toEqual([
    12_500,
    true,
    false,
    false,
  ]);
  expect(backlog.after(12_498, 10).map(({ number }) => number)).toEqual([12_499, 12_500]);
  const large = new Backlog();
  for (let n = 0; n < 400; n++) large.add({ type: "reset", why: "x".repeat(10_000) });
  expect(large.after(0, 1000).length).toBeLessThan(220);
});

test("folded with reconnects on two nodes, the stream is what the lists say", async () => {
  await using nodes = await setupPodNodes();
  const { first, second } = nodes;
  const seed = Number(process.env.MILLRACE_SEED ?? Date.now() % 1_000_000);
  console.log(`events walk: seed ${seed}`);
  await walkEvents({
    ...{ seed, steps: 60, places: [first, second] },
    pass: async (ms) => {
      await idle();
      await first.clock.advance(ms);
      await idle();
    },
  });
});

async function connectOnly(world: Place, key: string): Promise<EventFollower> {
  const follower = new EventFollower();
  follower.readsLists = false;
  await follower.connect({ ...world, key });
  await follower.hears(({ type }) => type === "reset");
  return follower;
}
