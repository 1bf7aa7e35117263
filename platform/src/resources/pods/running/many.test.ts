/** Many Pods: stopped Pods cost nothing, and running Pods cost little. */
import { expect, test } from "vitest";
import { putPod } from "../../../../tests/pod-doc.ts";
import { setupPods } from "../../../../tests/pod-world.ts";
import { MemoryStore } from "../../../ports/store/memory-store.ts";
import type { Listing, Write } from "../../../ports/store/store.ts";
import { standardQuotas } from "../../account/quotas.ts";

const STOPPED = 5000;
const RUNNING = 200;

/** Counts reads and writes. */
class CountingStore extends MemoryStore {
  reads = 0;
  writes = 0;

  override get(kind: string, id: string) {
    this.reads++;
    return super.get(kind, id);
  }

  override list(listing: Listing) {
    this.reads++;
    return super.list(listing);
  }

  override commit(writes: Write[]) {
    this.writes++;
    return super.commit(writes);
  }
}

test("a second of 5,000 stopped and 200 running Pods reads a handful of lists and writes nothing", async () => {
  const store = new CountingStore();
  await using world = await setupPods({
    machine: { capacity: { ceilings: true } },
    store,
    quotas: { ...standardQuotas(2), pods: 10_000 },
  });
  const body = { name: "new", image: "host:/app", cpu: { id: "cpu3c", vcpuCount: 2 } };
  for (let i = 0; i < RUNNING; i++) await world.call("POST", "/v2/pods", { body });
  await world.settle();
  for (let i = 0; i < STOPPED; i++) await putPod(world, {}, `stopped${i}`);
  expect(world.running()).toHaveLength(RUNNING);
  await world.pass(12);

  [store.reads, store.writes] = [0, 0];
  await world.pass(5);
  // Once a second the server reads the instances, waiting Pods and timers; every few seconds it reads idle Pods and what Pods left.
  expect(store.reads).toBeLessThan(100);
  expect(store.writes).toBeLessThan(10);

  const page = (await world.call("GET", "/v2/pods?limit=100")).json;
  expect([page.pods.length, page.pagination.hasNextPage]).toEqual([100, true]);
});
