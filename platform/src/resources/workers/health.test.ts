/** The health of many endpoints in one answer: what each says for itself, and of no endpoint that the caller may not see. */
import { expect, test } from "vitest";
import { type JobWorld, setupJobs } from "../../../tests/job-world.ts";
import type { Grant } from "../../kernel/scope.ts";
import { HealthService } from "./health.ts";

const HEALTH = "/v2/account/serverless/health";
const BODY = { image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };

const make = async (world: JobWorld, body: object) =>
  (await world.call("POST", "/v2/serverless", { body: { ...BODY, ...body } })).json.id as string;
const idsOf = (answer: { json: { endpoints: { id: string }[] } }) => answer.json.endpoints.map(({ id }) => id);

test("each endpoint with a queue is there with its own health, in the order of their list", async () => {
  await using world = await setupJobs();
  await world.submit();
  await make(world, { name: "second" });
  await make(world, { name: "balanced", type: "LOAD_BALANCER" });
  const { endpoints } = (await world.call("GET", HEALTH)).json;
  const { endpoints: listed } = (await world.call("GET", "/v2/serverless")).json;
  const queues = listed.filter(({ type }: { type: string }) => type === "QUEUE");
  expect(endpoints).toHaveLength(2);
  for (const [place, { id }] of queues.entries()) {
    const { json } = await world.call("GET", `/v2/${id}/health`);
    expect(endpoints[place]).toEqual({ id, ...json });
  }
});

test("other requests have their turns while the health of many endpoints is read from memory", async () => {
  let turns = 0;
  let isOver = false;
  const note = () => {
    turns++;
    if (!isOver) setImmediate(note);
  };
  const endpoints = Array.from({ length: 100 }, (_, n) => ({ id: `ep${n}`, doc: { type: "QUEUE", release: 1 } }));
  const counts = { inQueue: 0, lowPriorityInQueue: 0, inProgress: 0, completed: 0, failed: 0, retried: 0 };
  const service = new HealthService({
    queue: { counts: async () => counts, holders: async () => [] },
    overruns: { freedomOf: async () => ({ free: [], overruns: new Map() }) as never },
    fleet: undefined,
    workers: { standing: async () => [] },
    endpoints: { list: async () => ({ items: endpoints as never, next: undefined }) },
  });
  setImmediate(note);
  const { items } = await service.list({} as never, { after: undefined, limit: 100 });
  isOver = true;
  expect(items.map(({ id }) => id)).toEqual(endpoints.map(({ id }) => id));
  expect(turns).toBeGreaterThanOrEqual(20);
});

test("it is read page by page", async () => {
  await using world = await setupJobs();
  const second = await make(world, { name: "second" });
  const first = await world.call("GET", `${HEALTH}?limit=1`);
  const next = await world.call("GET", `${HEALTH}?limit=1&cursor=${first.json.pagination.nextCursor}`);
  expect([...idsOf(first), ...idsOf(next)].toSorted()).toEqual([world.endpoint, second].toSorted());
});

test("whoever may read endpoints may read their health, and nobody else", async () => {
  await using world = await setupJobs();
  const get = async (scopes: Grant[]) =>
    (await world.call("GET", HEALTH, { key: await world.newKey({ scopes }) })).status;
  expect([await get(["read-only"]), await get(["serverless:read"])]).toEqual([200, 200]);
  expect([await get(["pods:read"]), await get(["serverless:invoke"])]).toEqual([403, 403]);
  expect((await world.call("POST", HEALTH, { body: {} })).status).toBe(405);
});

test("a narrowed key sees no other endpoint, also with a cursor of its account and with ids that it asks for", async () => {
  await using world = await setupJobs();
  const second = await make(world, { name: "second" });
  await make(world, { name: "third" });
  const key = await world.newKey({ endpoints: [second] });
  const { nextCursor } = (await world.call("GET", `${HEALTH}?limit=1`)).json.pagination;
  for (const query of ["?limit=1", `?limit=100&cursor=${nextCursor}`])
    expect([[], [second]]).toContainEqual(idsOf(await world.call("GET", HEALTH + query, { key })));
  expect(idsOf(await world.call("GET", `${HEALTH}?cursor=${nextCursor}`, { key: await world.strangersKey() }))).toEqual(
    [],
  );
  expect(idsOf(await world.call("GET", `${HEALTH}?id=${world.endpoint}`, { key }))).toEqual([second]);
});

test("strange queries are refused, and none is an error of the server", async () => {
  await using world = await setupJobs({ rateLimits: "off" });
  for (const query of [
    ...["limit=0", "limit=-1", "limit=101", "limit=1e2x", "limit=", "limit=NaN"],
    ...["cursor=", "cursor=x", "cursor=%00", "cursor=%ff", `cursor=${"a".repeat(2000)}`, "cursor=e30"],
  ])
    expect([query, (await world.call("GET", `${HEALTH}?${query}`)).status]).toEqual([query, 422]);
});

test("a narrowed key sees its own endpoints, and another account none", async () => {
  await using world = await setupJobs();
  const second = await make(world, { name: "second" });
  expect(idsOf(await world.call("GET", HEALTH, { key: await world.newKey({ endpoints: [second] }) }))).toEqual([
    second,
  ]);
  expect(idsOf(await world.call("GET", HEALTH, { key: await world.strangersKey() }))).toEqual([]);
});
