/** Spans of real workers when the server is killed with kill -9: each worker's spans have no gap, no overlap, and no false open end. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { SqliteStore } from "../src/adapters/sqlite/sqlite-store.ts";
import { stay } from "../src/kernel/clock.ts";
import { realRandom, SeededRandom } from "../src/kernel/random.ts";
import { type KeptSpan, spans } from "../src/metering/span.ts";
import { Collection } from "../src/ports/store/collection.ts";
import { isOver, LOOK_MS, type Place, place, submit, TRIES } from "./worker-place.ts";

/** Each kill costs a restart. `MILLRACE_TEST_KILLS=50` runs the full test. */
const KILLS = Number(process.env.MILLRACE_TEST_KILLS ?? 3);
const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());
/** Long enough to reach from the middle of a start to a frozen worker. */
const LONGEST_LIFE_MS = 2500;

async function spansOf(at: Place): Promise<Map<string, KeptSpan[]>> {
  await using store = await SqliteStore.open(join(at.data, "store.db"), { thread: false });
  const found: { number: number; doc: KeptSpan }[] = [];
  for await (const { id, doc } of new Collection(store, spans).all())
    found.push({ number: Number(id.split(".").at(-1)), doc });
  const byInstance = Map.groupBy(found, ({ doc }) => doc.instance);
  return new Map(
    [...byInstance].map(([instance, all]) => {
      const inOrder = all.toSorted((a, b) => a.number - b.number);
      expect(inOrder.map(({ number }) => number)).toEqual(inOrder.map((_, i) => i + 1));
      return [instance, inOrder.map(({ doc }) => doc)];
    }),
  );
}

function expectNoGap(line: readonly KeptSpan[]): void {
  for (const [i, { from, to }] of line.entries()) {
    if (to !== null) expect(to).toBeGreaterThanOrEqual(from);
    if (i > 0) expect(from).toBe(line[i - 1]!.to);
  }
  expect(line.slice(0, -1).filter(({ to }) => to === null)).toEqual([]);
}

const openIn = (lines: Map<string, KeptSpan[]>) =>
  [...lines].filter(([, line]) => line.at(-1)!.to === null).map(([instance]) => instance);

/** The workers whose programs run, according to the API. */
async function runningOf(at: Place, endpoints: readonly string[]): Promise<string[]> {
  const lists = await Promise.all(endpoints.map((id) => at.call("GET", `/v2/serverless/${id}/workers`)));
  type Shown = { id: string; startedAt: string | null; status: string };
  const shown = lists.flatMap(({ json }) => json.workers as Shown[]);
  return shown.filter(({ startedAt, status }) => startedAt && status !== "UNHEALTHY").map(({ id }) => id);
}

test.concurrent(`${KILLS} kills (seed ${seed})`, async ({ onTestFailed }) => {
  const random = new SeededRandom(seed);
  await using at = await place({ onFailure: onTestFailed });
  const frozen = { flashboot: "FLASHBOOT", workers: { min: 0, max: 2, idleTimeout: 1 } };
  const endpoints = [
    await at.endpoint(frozen),
    await at.endpoint({ workers: { min: 1, max: 1 } }),
    await at.endpoint({ env: { EXIT_AT_START: "7" } }),
  ];
  for (let kill = 0; kill < KILLS; kill++) {
    for (const endpoint of endpoints) if (random.below(2) === 0) await submit(at, endpoint, { ms: random.below(400) });
    await stay(random.below(LONGEST_LIFE_MS));
    const [victim] = random.below(4) === 0 ? await at.workers() : [];
    if (victim !== undefined) process.kill(victim, "SIGKILL");
    await at.restart("SIGKILL");
  }
  const last = await submit(at, endpoints[0]!);
  await at.until(endpoints[0]!, last, isOver);
  // A worker that is starting or ending right now may be before or after its commit. So the two reads must agree.
  for (let tries = 0; ; tries++) {
    const before = await runningOf(at, endpoints);
    const open = openIn(await spansOf(at));
    const after = await runningOf(at, endpoints);
    const isStill = before.toSorted().join() === after.toSorted().join();
    if (isStill && open.toSorted().join() === after.toSorted().join()) break;
    if (tries === TRIES) expect(open.toSorted()).toEqual(after.toSorted());
    await stay(LOOK_MS);
  }
  expect(await at.server.end("SIGTERM")).toBe(0);
  const lines = await spansOf(at);
  for (const line of lines.values()) expectNoGap(line);
  expect(openIn(lines)).toEqual([]);
  expect(lines.size).toBeGreaterThan(0);
  const all = [...lines.values()].flat();
  console.log(
    `${KILLS} kills, ${lines.size} workers, ${all.length} spans, ${all.filter(({ free }) => free).length} free`,
  );
}, 600_000);
