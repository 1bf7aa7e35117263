/** Templates and endpoints change concurrently. In the end each follower has what its template says, on every store. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { setup } from "../../../tests/world.ts";
import { SqliteStore } from "../../adapters/sqlite/sqlite-store.ts";
import type { Caller } from "../../kernel/caller.ts";
import { isProblem } from "../../kernel/problem.ts";
import { realRandom, SeededRandom } from "../../kernel/random.ts";
import { MemoryStore } from "../../ports/store/memory-store.ts";
import type { Store } from "../../ports/store/store.ts";

interface Opened extends AsyncDisposable {
  store: Store;
}

async function onDisk(): Promise<Opened> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-following-"));
  const store = await SqliteStore.open(join(folder, "store.db"), { thread: false });
  return {
    store,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

const inMemory = async (): Promise<Opened> => ({ store: new MemoryStore(), async [Symbol.asyncDispose]() {} });

const FOLLOWS = { follows: true };
const WAVES = 8;
const AT_ONCE = 15;

test.each([
  ["in memory", inMemory],
  ["in SQLite", onDisk],
])("%s", async (_where, open) => {
  const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());
  console.log(`MILLRACE_TEST_SEED=${seed}`);
  const random = new SeededRandom(seed);
  await using opened = await open();
  await using world = await setup({ store: opened.store });
  const { endpoints, templates, releaseRecords } = world.services;
  const caller: Caller = { ...world.owner, key: "k", grants: ["all"], exempt: false };
  const created = ["s", "t"].map((name) => templates.create(caller, { name, image: "i:0", serverless: true }));
  const ids = (await Promise.all(created)).map(({ id }) => id);
  const made = await Promise.all(
    ids.map((templateId, i) => endpoints.create(caller, { name: `e${i}`, templateId }, FOLLOWS)),
  );
  const known = made.map(({ id }) => id);

  const acts = [
    async () => {
      const { id } = await endpoints.create(caller, { name: "n", templateId: random.pick(ids) }, FOLLOWS);
      known.push(id);
    },
    () => templates.update(caller, random.pick(ids), { image: `i:${random.below(1000)}` }, { reaches: true }),
    () => templates.update(caller, random.pick(ids), { env: { A: `${random.below(1000)}` } }, { reaches: true }),
    () => endpoints.update(caller, random.pick(known), { templateId: random.pick(ids) }, FOLLOWS),
    () => endpoints.update(caller, random.pick(known), { workers: { max: 3 + random.below(9) } }),
    () => endpoints.update(caller, random.pick(known), { disk: 1 + random.below(99) }),
    () => endpoints.remove(caller, random.pick(known)),
  ];
  const unlessGone = (error: unknown) => {
    if (!isProblem(error, "not-found")) throw error;
  };
  for (let wave = 0; wave < WAVES; wave++)
    await Promise.all(Array.from({ length: AT_ONCE }, () => random.pick(acts)().catch(unlessGone)));

  let following = 0;
  for await (const item of endpoints.all()) {
    const { id, doc } = item;
    const versions = await releaseRecords.before({ ...item, release: doc.release }, doc.release + 1, 1000);
    expect(versions.map((release) => release.doc.version)).toEqual(Array.from(versions, (_, i) => doc.release - i));
    expect(versions).toHaveLength(doc.release);
    if (!doc.follows) continue;
    following++;
    const { image, env, disk } = (await templates.visible(caller, doc.template!)).doc;
    expect({ id, image: doc.image, env: doc.env, disk: doc.disk }).toEqual({ id, image, env, disk });
  }
  console.log(`${following} follow in the end`);
});
