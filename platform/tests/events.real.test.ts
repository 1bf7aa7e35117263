/** An account's event stream agrees with the lists under load and reconnects, on SQLite and on two nodes with PostgreSQL. */
import { test } from "vitest";
import { apiKeyText } from "../src/kernel/ids.ts";
import { realRandom } from "../src/kernel/random.ts";
import { freshDatabase } from "./database.ts";
import { walkEvents } from "./event-walk.ts";
import { startServer, temporaryFolder } from "./process.ts";

const key = apiKeyText(realRandom);
const env = {
  MILLRACE_API_KEY: key,
  MILLRACE_MASTER_KEY: Buffer.from(realRandom.bytes(32)).toString("base64"),
  MILLRACE_COMPUTE: "none",
  MILLRACE_RATE_LIMITS: "off",
};

function newSeed(): number {
  const seed = Number(process.env.MILLRACE_SEED ?? Date.now() % 1_000_000);
  console.log(`events walk: seed ${seed}`);
  return seed;
}

test("on SQLite", async () => {
  await using folder = await temporaryFolder();
  await using server = await startServer(folder.path, { env });
  await walkEvents({ seed: newSeed(), steps: 200, places: [{ url: server.url, key }] });
});

test("on two nodes that share PostgreSQL", async () => {
  await using database = await freshDatabase();
  await using first = await temporaryFolder();
  await using second = await temporaryFolder();
  const shared = { env: { ...env, MILLRACE_DATABASE_URL: database.url } };
  await using a = await startServer(first.path, shared);
  await using b = await startServer(second.path, shared);
  await walkEvents({ seed: newSeed(), steps: 200, places: [a, b].map(({ url }) => ({ url, key })) });
});
