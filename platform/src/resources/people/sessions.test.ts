/** How long sessions of people last. */
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
import { SeededRandom } from "../../kernel/random.ts";
import { Collection } from "../../ports/store/collection.ts";
import { MemoryStore } from "../../ports/store/memory-store.ts";
import { sessionDays as parseSessionDays } from "../../settings/setting-values.ts";
import { users } from "../account/model.ts";
import { Sessions, type SessionTimes } from "./sessions.ts";

const DAY_MS = 86_400_000;

async function setup() {
  const [store, clock] = [new MemoryStore(), new FakeClock(0)];
  const parts = { store, clock, random: new SeededRandom(1) };
  const person = { id: "u1", account: "a1" };
  await new Collection(store, users).insert({ ...person, createdAt: 0, doc: { email: "ada@example.com" } });
  const sessionsWith = (sessionTimes?: SessionTimes) => new Sessions({ ...parts, sessionTimes });
  const from = { address: undefined, userAgent: undefined };
  const begin = async (sessions: Sessions) => {
    const { session, write } = sessions.begin(person, "password", from);
    await store.commit([write]);
    return session.id;
  };
  return { clock, store, sessionsWith, begin };
}

test("a session ends after 30 days, and after 7 without use", async () => {
  const { clock, sessionsWith, begin } = await setup();
  const sessions = sessionsWith();
  const [used, unused] = [await begin(sessions), await begin(sessions)];
  for (let day = 1; day < 30; day++) {
    await clock.advance(DAY_MS);
    await sessions.noteUse(used, clock.now());
    expect(await sessions.byId(used)).toBeDefined();
    expect((await sessions.byId(unused)) !== undefined).toBe(day < 7);
  }
  await clock.advance(DAY_MS);
  expect(await sessions.byId(used)).toBeUndefined();
});

test("a shorter time in the settings also ends sessions that began before, and their records go", async () => {
  const { clock, store, sessionsWith, begin } = await setup();
  const id = await begin(sessionsWith());
  await clock.advance(2 * DAY_MS);
  const sessions = sessionsWith(parseSessionDays("2,1"));
  expect(await sessions.byId(id)).toBeUndefined();
  await sessions.sweep();
  expect(await store.list({ kind: "session", limit: 10 })).toEqual([]);
});

describe("the setting", () => {
  test("is two numbers of days", () => {
    expect(parseSessionDays("90, 14")).toEqual({ mostMs: 90 * DAY_MS, idleMs: 14 * DAY_MS });
  });

  test.each(["30", "7,30", "0,0", "366,7", "30,7,1", "a,b", "-1,1"])("'%s' is refused with what it takes", (text) => {
    expect(() => parseSessionDays(text)).toThrow("must be two numbers of days from 1 to 365, such as 30,7");
  });
});
