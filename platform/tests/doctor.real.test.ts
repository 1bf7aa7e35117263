/** What `millrace doctor` says about a real PostgreSQL: one that can be used, and what is wrong with others. */
import { expect, test } from "vitest";
import { lookAtDatabase } from "../src/composition/look-at-database.ts";
import { realClock } from "../src/kernel/clock.ts";
import { settingsFrom } from "../src/settings/settings.ts";
import { freshDatabase } from "./database.ts";

test("a PostgreSQL is well, or its fault is named: another database, another clock", async () => {
  await using database = await freshDatabase();
  const look = (url: string, offMs = 0) =>
    lookAtDatabase(settingsFrom({ MILLRACE_DATABASE_URL: url }), {
      ...realClock,
      now: () => realClock.now() + offMs,
    });
  expect(await look(database.url)).toMatchObject({
    ...{
      state: "ok",
      says: expect.stringMatching(/^PostgreSQL \d+.*; this machine's clock is \d+ ms (behind|ahead of) PostgreSQL's$/),
    },
  });
  const away = new URL(database.url);
  away.pathname = "/no_such_database";
  expect(await look(away.href)).toMatchObject({ state: "fail", says: expect.stringContaining("no such database") });
  const ahead = await look(database.url, 10_000);
  expect(ahead).toMatchObject({ state: "warn", mend: expect.stringContaining("Turn on NTP") });
  expect(ahead.says).toMatch(/clock is (9|10|11)\.\d s ahead of PostgreSQL's, so jobs may end early/);
  expect(await look(database.url, -120_000)).toMatchObject({
    ...{ state: "fail", says: expect.stringMatching(/clock is 1[12]\d\.\d s behind PostgreSQL's$/) },
  });
});
