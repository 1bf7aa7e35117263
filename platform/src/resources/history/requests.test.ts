/** The history of requests to load-balancing endpoints. */
import { expect, test } from "vitest";
import { setupBalanced } from "../../../tests/balanced-world.ts";
import { idle } from "../../../tests/idle.ts";

type Column = (number | null)[];
const sum = (column: Column) => column.reduce((total: number, value) => total + (value ?? 0), 0);
const known = (column: Column) => column.filter((value) => value !== null);

async function setup() {
  const world = await setupBalanced();
  const pass = async (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      await world.clock.advance(1000);
      await idle();
    }
  };
  const series = async () =>
    (await world.call("GET", `/v2/serverless/${world.endpoint}/metrics/history`)).json.series as Record<string, Column>;
  return { world, pass, series };
}

test("has how many there were, how many failed, and how long the worker took", async () => {
  const { world, pass, series } = await setup();
  await using _ = world;
  world.worker("w1", ({ url }, response) => {
    if (url === "/slow") return void world.clock.after(2000, () => response.end("slow"));
    response.writeHead(url === "/bad" ? 503 : url === "/none" ? 404 : 200).end();
  });
  for (const path of ["/good", "/none", "/bad"]) await world.ask("GET", path);
  const slow = world.ask("GET", "/slow");
  await idle();
  await pass(3);
  expect((await slow).status).toBe(200);
  await pass(20);
  const { requests, requestsFailed, executionP50, executionP95, delayP95, jobsCompleted } = await series();
  expect([sum(requests!), sum(requestsFailed!), sum(jobsCompleted!)]).toEqual([4, 1, 0]);
  expect(known(executionP50!)).toContain(0);
  expect(known(executionP95!).some((ms) => Math.abs(ms! - 2000) <= 200)).toBe(true);
  expect(known(delayP95!).every((ms) => ms === 0)).toBe(true);
});

test("a request that waited for a worker says so, one that no worker took or answered has failed", async () => {
  const { world, pass, series } = await setup();
  await using _ = world;
  const waited = world.ask("GET", "/waited");
  await idle();
  await pass(5);
  const worker = world.worker("w1", ({ url }, response) => {
    if (url === "/cut") return void response.destroy();
    response.end("here");
  });
  await idle();
  expect((await waited).status).toBe(200);
  expect((await world.ask("GET", "/cut")).status).toBe(502);
  worker.die();
  const late = world.ask("GET", "/late");
  await idle();
  await pass(130);
  expect((await late).status).toBe(400);
  await pass(20);
  const { requests, requestsFailed, delayP95 } = await series();
  expect([sum(requests!), sum(requestsFailed!)]).toEqual([3, 2]);
  expect(known(delayP95!).some((ms) => Math.abs(ms! - 5000) <= 500)).toBe(true);
});

test("a client that leaves is not counted, nor is a request that was refused before it needed a worker", async () => {
  const { world, pass, series } = await setup();
  await using _ = world;
  world.worker("w1", ({ url }, response) => void (url === "/good" && response.end()));
  const socket = world.begin("GET", "/held", ["", ""]);
  await idle();
  socket.destroy();
  await idle();
  expect((await world.ask("GET", "/good", { key: await world.newKey({ scopes: ["secrets:read"] }) })).status).toBe(403);
  await world.ask("GET", "/good");
  await pass(20);
  const { requests, requestsFailed } = await series();
  expect([sum(requests!), sum(requestsFailed!)]).toEqual([1, 0]);
});
