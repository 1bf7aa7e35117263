/** The health of many endpoints in one answer: what each says for itself, and of no endpoint that the caller may not see. */
import { expect, test } from "vitest";
import { type JobWorld, setupJobs } from "../../../tests/job-world.ts";

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

test("it is read page by page", async () => {
  await using world = await setupJobs();
  const second = await make(world, { name: "second" });
  const first = await world.call("GET", `${HEALTH}?limit=1`);
  const next = await world.call("GET", `${HEALTH}?limit=1&cursor=${first.json.pagination.nextCursor}`);
  expect([...idsOf(first), ...idsOf(next)].toSorted()).toEqual([world.endpoint, second].toSorted());
});

test("a narrowed key sees its own endpoints, and another account none", async () => {
  await using world = await setupJobs();
  const second = await make(world, { name: "second" });
  expect(idsOf(await world.call("GET", HEALTH, { key: await world.newKey({ endpoints: [second] }) }))).toEqual([
    second,
  ]);
  expect(idsOf(await world.call("GET", HEALTH, { key: await world.strangersKey() }))).toEqual([]);
});
