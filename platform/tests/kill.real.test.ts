/** A server killed with kill -9 under load: afterwards no accepted job is missing, and no answered result has changed. */
import { expect, test } from "vitest";
import { realClock } from "../src/kernel/clock.ts";
import { realRandom, SeededRandom } from "../src/kernel/random.ts";
import { freshDatabase } from "./database.ts";
import { Ledger, type LedgerWorker } from "./ledger.ts";
import { type Folder, millrace, ownerKey, type Server, startServer, temporaryFolder } from "./process.ts";
import { Wire } from "./wire.ts";

/** Each kill costs a restart. `MILLRACE_TEST_KILLS=20` runs the full test. */
const KILLS = Number(process.env.MILLRACE_TEST_KILLS ?? 4);
const ACKNOWLEDGEMENTS = 1000;
const HELD = 50;
const SUBMITTERS = 24;
const WORKERS = 4;
/** Each worker keeps this many jobs, so that every kill meets held jobs. */
const KEEPS = 15;
const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());

interface Load {
  ledger: Ledger;
  workers: LedgerWorker[];
}

/** Runs the whole test, against one server after another on the same data. */
async function surviveKills(folder: Folder, databaseUrl?: string): Promise<void> {
  const random = new SeededRandom(seed);
  const env: Record<string, string> = databaseUrl ? { MILLRACE_DATABASE_URL: databaseUrl } : {};
  const start = () => startServer(folder.path, { env });
  const load = await prepare(folder, start, databaseUrl);
  const begun = realClock.monotonic();
  const rounds: { acknowledged: number; held: number; startMs: number }[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const before = realClock.monotonic();
    await using server = await start();
    const startMs = realClock.monotonic() - before;
    using wire = new Wire(server.url);
    await load.ledger.check(wire, "fresh");
    await load.ledger.recover(wire, load.workers);
    const acknowledged = load.ledger.acknowledged;
    const held = await loadUntilKilled(server, wire, load, acknowledged + ACKNOWLEDGEMENTS + random.below(300));
    rounds.push({ acknowledged: load.ledger.acknowledged - acknowledged, held, startMs });
  }
  await using server = await start();
  using wire = new Wire(server.url);
  await load.ledger.check(wire, "fresh");
  await load.ledger.recover(wire, load.workers);
  await drain(server, wire, load, await ownerKey(folder.path));
  const checked = await load.ledger.check(wire, "all");
  for (const { acknowledged, held } of rounds) {
    expect(acknowledged).toBeGreaterThanOrEqual(ACKNOWLEDGEMENTS);
    expect(held).toBeGreaterThanOrEqual(HELD);
  }
  const seconds = ((realClock.monotonic() - begun) / 1000).toFixed(1);
  const slowest = Math.max(...rounds.map(({ startMs }) => startMs)).toFixed(0);
  console.log(
    `${KILLS} kills, ${load.ledger.acknowledged} acknowledgements, at least ${Math.min(...rounds.map(({ held }) => held))} jobs ` +
      `held at each kill; ${checked} jobs looked at in the end, none missing, none changed; ` +
      `slowest restart ${slowest} ms; ${seconds} s in all`,
  );
}

async function prepare(folder: Folder, start: () => Promise<Server>, database?: string): Promise<Load> {
  await using server = await start();
  const key = await ownerKey(folder.path);
  const body = { name: "ledger", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const endpoint = (await server.call("POST", "/v2/serverless", { key, body })).json.id as string;
  const { MILLRACE_WORKER_KEY } = await millrace({ data: folder.path, database }, "worker-env", endpoint);
  const workers = Array.from({ length: WORKERS }, (_, i) => ({
    name: `worker-${i}`,
    key: MILLRACE_WORKER_KEY,
    held: [],
    unanswered: [],
  }));
  return { ledger: new Ledger(endpoint, key), workers };
}

/** Everyone works until the server is killed, at the given number of answers. Returns how many jobs were held then. */
async function loadUntilKilled(server: Server, wire: Wire, { ledger, workers }: Load, until: number): Promise<number> {
  let heldAtKill = 0;
  const look = () => {
    const held = workers.reduce((sum, worker) => sum + worker.held.length, 0);
    if (server.process.killed || ledger.acknowledged < until || held < HELD) return;
    heldAtKill = held;
    server.process.kill("SIGKILL");
  };
  const loop = async (step: () => Promise<void>) => {
    while (!server.process.killed) {
      try {
        await step();
      } catch (error) {
        // A killed server leaves broken connections. Any other error is a fault.
        if (!server.process.killed) throw error;
        return;
      }
      look();
    }
  };
  await Promise.all([
    ...Array.from({ length: SUBMITTERS }, () => loop(() => ledger.submit(wire))),
    ...workers.map((worker) => loop(() => ledger.work(wire, worker, KEEPS))),
  ]);
  expect(await server.end("SIGKILL")).toBe("SIGKILL");
  return heldAtKill;
}

/** Works until nothing is left. Then the counters must agree with the ledger. */
async function drain(server: Server, wire: Wire, { ledger, workers }: Load, key: string): Promise<void> {
  const health = async () => (await server.call("GET", ledger.path("/health"), { key })).json.jobs;
  for (let left = 1; left > 0; ) {
    await Promise.all(workers.map((worker) => ledger.work(wire, worker, 0)));
    const { inQueue, inProgress } = await health();
    left = inQueue + inProgress;
  }
  expect((await health()).completed).toBe(ledger.reported);
}

test.concurrent(`ask 4: ${KILLS} kills on SQLite: everything answered is there, as it was answered (seed ${seed})`, async () => {
  await using folder = await temporaryFolder();
  await surviveKills(folder);
}, 600_000);

test.concurrent(`ask 4: ${KILLS} kills on PostgreSQL: everything answered is there, as it was answered (seed ${seed})`, async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  await surviveKills(folder, database.url);
}, 600_000);
