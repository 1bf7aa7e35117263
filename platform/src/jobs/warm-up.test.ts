/** The warm-up at the worker desk: a worker that asks gets it, and it is never mistaken for a job. */
import { expect, test } from "vitest";
import { here, jobWorld, report, submission, worker } from "../../tests/engine-world.ts";
import type { WarmUps } from "./warm-up.ts";

const w = worker("w");
const now = { limit: 3, waitMs: 0, gone: here };

/** Gives one warm-up to the worker that asks first, and records what the desk reports about it. */
async function world() {
  const said: string[] = [];
  let body: string | "wait" | undefined = '{"input":{}}';
  const warmUps: WarmUps = {
    async begin() {
      const given = body;
      if (body !== undefined) body = "wait";
      return given;
    },
    lose: async (_, isSure) => void said.push(isSure ? "never sent" : "not listed"),
    async end(_, { failed }) {
      said.push(failed ? "failed" : "done");
      body = undefined;
    },
  };
  return { said, ...(await jobWorld({ warmUps })) };
}

test("it comes alone, however many jobs wait and were asked for", async () => {
  const { desk, engine } = await world();
  await engine.submit(submission());
  const handed = await desk.take(w, now);
  expect(handed.map(({ job }) => job.id)).toEqual(["warmup-w"]);
  expect(await desk.take(w, now)).toEqual([]);
});

test("its end is told apart from those of jobs in the same post", async () => {
  const { desk, engine, queue, said } = await world();
  const { id } = await engine.submit(submission());
  await desk.take(w, now);
  await desk.report(w, [report("warmup-w", '{"output":1}', 1)]);
  await desk.take(w, now);
  await desk.report(w, [report("warmup-w", '{"output":1}', 1), report(id, '{"output":2}')]);
  expect([said, (await queue.counts("ep")).completed]).toEqual([["done"], 1]);
});

test("one that its worker never got to see is said to be lost, and no job is changed for it", async () => {
  const { desk, queue, said } = await world();
  const [handed] = await desk.take(w, now);
  await desk.handBack(w, [handed!.job]);
  expect([said, await queue.demand(1)]).toEqual([["never sent"], []]);
});

test("one of another worker is nothing", async () => {
  const { desk, said } = await world();
  await desk.take(w, now);
  await desk.report(w, [report("warmup-other", '{"output":1}')]);
  expect(said).toEqual([]);
});

test("it is neither stopped nor missed while pings list it, and missed when two do not", async () => {
  const { desk, said, clock } = await world();
  await desk.take(w, now);
  for (let i = 0; i < 3; i++) await desk.ping(w, new Set(["warmup-w"]));
  const stops = desk.stops(w, { waitMs: 1000, gone: here });
  await clock.advance(1000);
  expect([said, await stops]).toEqual([[], []]);
  await desk.ping(w, new Set());
  await desk.ping(w, new Set());
  expect(said).toEqual(["not listed"]);
});
