/** Workers that do nothing cost next to nothing: what did not change is not read again. */
import { expect, test } from "vitest";
import { setupFleet } from "../../../../tests/fleet-world.ts";
import { InterceptedStore } from "../../../../tests/world.ts";

test("instances are read again only after something was written", async () => {
  const store = new InterceptedStore();
  await using world = await setupFleet({ store, endpoint: { workers: { min: 2, max: 2 } } });
  await world.settle();
  for (const worker of world.running()) await worker.ping();
  await world.pass(3);
  let [reads, commits] = [0, 0];
  store.beforeRead = (kind) => {
    if (kind === "instance") reads++;
  };
  store.beforeCommit = () => {
    commits++;
  };
  await world.pass(8);
  // The machine's beat is written every 5 s, since metered workers run there.
  expect(commits).toBeLessThanOrEqual(3);
  expect(reads).toBeLessThanOrEqual(commits);
});
