/** What a developer sees of the workers, on a server whose machine is fake. */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { type FleetWorld, setupFleet } from "../../../platform/tests/fleet-world.ts";
import { ApiClient } from "../api.ts";
import { Screen } from "./screen.ts";
import { WorkersFollowed } from "./workers-followed.ts";

const PATIENCE_S = 60;

function follow(world: FleetWorld) {
  const { url, key, clock, endpoint } = world;
  const out = new PassThrough({ encoding: "utf8" });
  let text = "";
  out.on("data", (part) => {
    text += part;
  });
  const workers = new WorkersFollowed({
    client: new ApiClient({ url, key, from: "the test" }),
    screen: new Screen(out),
    clock,
    endpoint,
  });
  return {
    workers,
    text: () => text,
    /** Lets time pass until the screen shows the text. */
    async shows(expected: string) {
      for (let s = 0; !text.includes(expected) && s < PATIENCE_S; s++) await world.pass(1);
      expect(text).toContain(expected);
    },
    [Symbol.asyncDispose]: () => workers[Symbol.asyncDispose](),
  };
}

const oneWorker = { endpoint: { workers: { min: 1, max: 3 } } };

test("the lines of a worker's program and of the platform about it are shown, with the end of its id", async () => {
  await using world = await setupFleet(oneWorker);
  await using seen = follow(world);
  await seen.shows("starting host:/app");
  const [program] = world.running();
  program!.instance.write("loading the model\n");
  await seen.shows(`${program!.id.slice(-4)} | loading the model`);
  const asking = program!.take();
  await seen.shows("· ready after");
  await world.after(30, asking);
  await seen.workers.ready;
});

test("a worker that fails again and again is shown once, and once more after a save", async () => {
  await using world = await setupFleet(oneWorker);
  await using seen = follow(world);
  const fail = async (line: string) => {
    const [program] = world.running();
    program!.instance.write(`${line}\n`);
    await world.pass(1);
    program!.instance.exit({ code: 1 });
    for (let s = 0; world.running().length === 0 && s < PATIENCE_S; s++) await world.pass(1);
  };
  await seen.shows("starting");
  await fail("no such model");
  await seen.shows("save a file to try at once");
  await fail("no such model at all");
  await fail("no such model at all");
  expect(seen.text()).toContain("| no such model\n");
  expect(seen.text()).not.toContain("| no such model at all");
  seen.workers.reloaded();
  await world.change({ env: { RELOADED: "1" } });
  await world.pass(2);
  await fail("no such tokenizer");
  await seen.shows("| no such tokenizer");
});

test("a job that waits says why, once", async () => {
  await using world = await setupFleet({ endpoint: { workers: { min: 0, max: 0 } } });
  await using seen = follow(world);
  await world.settle();
  await world.submit();
  await seen.shows("jobs wait: paused: max workers is 0");
  await world.pass(5);
  expect(seen.text().match(/jobs wait/g)).toHaveLength(1);
});

test("after a save, old code takes no more jobs once it was replaced", async () => {
  await using world = await setupFleet(oneWorker);
  await using seen = follow(world);
  await seen.shows("starting");
  const asking = world.running()[0]!.take();
  await seen.shows("· ready after");
  await world.change({ env: { RELOADED: "1" } });
  await world.after(30, asking);
  await seen.workers.replaced();
  const { workers } = (await world.call("GET", `/v2/serverless/${world.endpoint}/workers`)).json;
  expect(workers).toEqual([expect.objectContaining({ version: 2, isStale: false })]);
});
