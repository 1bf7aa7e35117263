/** A server on PostgreSQL whose clock is wrong says so in its log and its metrics. */
import { expect, test } from "vitest";
import { realClock } from "../src/kernel/clock.ts";
import { apiKeyText } from "../src/kernel/ids.ts";
import { realRandom } from "../src/kernel/random.ts";
import { serve } from "../src/main.ts";
import { settingsFrom } from "../src/settings/settings.ts";
import { freshDatabase } from "./database.ts";
import { temporaryFolder } from "./process.ts";
import { call } from "./world.ts";

test("a server that is two minutes behind its database warns once, and shows the difference", async () => {
  await using database = await freshDatabase();
  await using folder = await temporaryFolder();
  const key = apiKeyText(realRandom);
  const settings = settingsFrom({
    ...{ MILLRACE_DATA: folder.path, MILLRACE_DATABASE_URL: database.url, MILLRACE_API_KEY: key },
    ...{ MILLRACE_PORT: "0", MILLRACE_COMPUTE: "none", MILLRACE_LEAVE_S: "0" },
  });
  const warned = Promise.withResolvers<string>();
  const warnings: string[] = [];
  const warn = (_fields: object, text: string) => {
    warnings.push(text);
    if (text.includes("clock")) warned.resolve(text);
  };
  const clock = { ...realClock, now: () => realClock.now() - 120_000 };
  await using server = await serve(settings, { clock, log: { info() {}, warn, error() {} } });
  expect(await warned.promise).toMatch(
    /^this server's clock is 1[12]\d\.\d s behind the database's, and the time limits/,
  );
  const { text } = await call(server.url, "GET", "/metrics", { key });
  expect(Number(/^millrace_clock_ahead_seconds (\S+)$/m.exec(text)![1])).toBeCloseTo(-120, -1);
  expect(warnings.filter((line) => line.includes("clock"))).toHaveLength(1);
});
