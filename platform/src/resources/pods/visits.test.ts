/** How long visits to ports last, and how many a Pod can have. */
import { expect, test } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
import { SeededRandom } from "../../kernel/random.ts";
import { Collection } from "../../ports/store/collection.ts";
import { MemoryStore } from "../../ports/store/memory-store.ts";
import { apiKeys, type KeptApiKey } from "../account/model.ts";
import { LINK_MS, PortVisits, VISIT_MS } from "./visits.ts";

const PORT = { pod: "abcdefghijklmn", port: 8888 };
const CALLER = { account: "a", user: "u", key: "k", grants: ["all"], exempt: false } as const;

async function setup() {
  const clock = new FakeClock();
  const store = new MemoryStore();
  const doc = { name: "key", digest: "d", userId: "u", scopes: ["all"] } as unknown as KeptApiKey;
  await new Collection(store, apiKeys).insert({ id: "k", account: "a", createdAt: 0, doc });
  return { clock, store, visits: new PortVisits({ store, clock, random: new SeededRandom(1) }) };
}

test("a visit lasts for a day, from the opening of its link on", async () => {
  const { clock, visits } = await setup();
  const { token, expiresAt } = await visits.invite(CALLER, PORT);
  expect(expiresAt).toBe(clock.now() + LINK_MS);
  await clock.advance(LINK_MS - 1);
  const visit = (await visits.open(token, PORT))!;
  await clock.advance(VISIT_MS - 1);
  expect(await visits.visitor(visit.token, PORT)).toMatchObject({ account: "a", user: "u", grants: ["pods:read"] });
  await clock.advance(1000);
  expect(await visits.visitor(visit.token, PORT)).toBeUndefined();
});

test("what is over goes with the next link, and beyond a hundred the oldest", async () => {
  const { clock, store, visits } = await setup();
  await visits.invite(CALLER, PORT);
  await clock.advance(LINK_MS);
  await visits.invite(CALLER, PORT);
  expect(await store.count({ kind: "port-visit" })).toBe(1);
  for (let i = 0; i < 120; i++) await visits.invite(CALLER, PORT);
  expect(await store.count({ kind: "port-visit" })).toBe(100);
});
