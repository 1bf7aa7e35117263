/** However many endpoints an account has, they do not delay another account's first job. This counts writes, not time. */

import { expect, test } from "vitest";
import { type FleetWorld, setupFleet } from "../../../../tests/fleet-world.ts";
import { turn } from "../../../kernel/clock.ts";
import { MemoryStore } from "../../../ports/store/memory-store.ts";
import type { Write } from "../../../ports/store/store.ts";
import { standardQuotas } from "../../account/quotas.ts";

const MANY = 200;
/** The writes that may come first: the round under way when the job arrives, and the round of the job itself. */
const FEW = 2 * 32;
const STANDARD = standardQuotas(4);

/** Delays writes of workers' records while it is shut, and notes whose records are written. */
class GatedStore extends MemoryStore {
  readonly written: string[] = [];
  #gate = Promise.withResolvers<void>();

  constructor() {
    super();
    this.open();
  }

  shut(): void {
    this.#gate = Promise.withResolvers();
  }

  open(): void {
    this.#gate.resolve();
  }

  override async commit(writes: Write[]) {
    const [first] = writes;
    const worker = first?.do === "insert" && first.record.kind === "instance" ? first.record : undefined;
    if (worker) {
      // Everything else continues while a commit is under way.
      await turn();
      await this.#gate.promise;
      this.written.push(worker.account);
    }
    return super.commit(writes);
  }
}

async function makeMany(world: FleetWorld, more: object): Promise<void> {
  const key = await world.strangersKey();
  for (let i = 0; i < MANY; i++) {
    const body = { name: `many-${i}`, image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }], ...more };
    expect((await world.call("POST", "/v2/serverless", { key, body })).status).toBe(201);
  }
}

/** Counts the records of others that were written before the first of this account. */
async function writtenBefore({ store, world }: { store: GatedStore; world: FleetWorld }): Promise<number> {
  const { account } = await world.services.accounts.firstOwner();
  const before = store.written.length;
  await world.submit();
  store.open();
  await world.settle();
  expect(store.written.filter((one) => one === account)).toHaveLength(1);
  return store.written.indexOf(account) - before;
}

test("endpoints that all were woken at once", async () => {
  const store = new GatedStore();
  await using world = await setupFleet({ store, rateLimits: "off", quotas: { ...STANDARD, workers: 4 } });
  await world.settle();
  store.shut();
  await makeMany(world, { workers: { min: 1, max: 1 } });
  expect(await writtenBefore({ store, world })).toBeLessThan(FEW);
  expect(store.written).toHaveLength(MANY + 1);
});

test("endpoints that the first look of a server finds", async () => {
  const store = new GatedStore();
  const before = await setupFleet({ store, rateLimits: "off" });
  await before.settle();
  store.shut();
  await makeMany(before, { workers: { min: 1, max: 1 } });
  // The writes that the previous server had under way never happen.
  store.shut();
  await using world = await before.crash();
  expect(await writtenBefore({ store, world })).toBeLessThan(FEW);
});
