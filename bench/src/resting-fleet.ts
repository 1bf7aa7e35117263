/** A whole server on a fake machine with endpoints that have nothing to do: prints the CPU time of all its duties for each second. */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { SqliteStore } from "../../platform/src/adapters/sqlite/sqlite-store.ts";
import { holderName } from "../../platform/src/jobs/holder.ts";
import type { Listing, StoredRecord, UniqueKey } from "../../platform/src/ports/store/store.ts";
import { StoreAround } from "../../platform/src/ports/store/store-around.ts";
import { type FleetWorld, setupFleet } from "../../platform/tests/fleet-world.ts";

/** Workers ping this often, and count as alive for this long. */
const PING_S = 10;
const ALIVE_MS = 30_000;
const WORKERS_EACH = 2;
const AT_ONCE = 16;
/** By then the server has finished the work of its start, and the functions that run every ten seconds are compiled too. */
const WARM_UP_S = 300;

class CountingStore extends StoreAround {
  reads = 0;

  override get(kind: string, id: string): Promise<StoredRecord | undefined> {
    this.reads++;
    return super.get(kind, id);
  }

  override find(kind: string, key: UniqueKey): Promise<StoredRecord | undefined> {
    this.reads++;
    return super.find(kind, key);
  }

  override list(listing: Listing): Promise<StoredRecord[]> {
    this.reads++;
    return super.list(listing);
  }
}

const [folder, endpoints, seconds] = process.argv.slice(2);
await measure(folder!, Number(endpoints), Number(seconds));

async function measure(folder: string, endpoints: number, seconds: number): Promise<void> {
  const data = await mkdtemp(join(folder, "resting-"));
  try {
    // Writes are made on this thread, since the fake clock cannot see when another one is done.
    const store = new CountingStore(await SqliteStore.open(join(data, "millrace.db"), { thread: false }));
    const spacious = { vcpu: 1_000_000, memoryMb: 1_000_000_000, diskGb: 10_000_000 };
    const first = { workers: { min: WORKERS_EACH, max: WORKERS_EACH + 1 } };
    const world = await setupFleet({ store, rateLimits: "off", machine: { capacity: spacious }, endpoint: first });
    await fill(world, endpoints - 1);
    const workers = await allReady(world, endpoints * WORKERS_EACH);
    await pass(world, workers, WARM_UP_S);
    store.reads = 0;
    const cpuMs = await pass(world, workers, seconds);
    console.log(JSON.stringify({ workers: workers.length, cpuMs, readsPerSecond: store.reads / seconds }));
  } finally {
    await rm(data, { recursive: true, force: true });
  }
  // The machine, its workers and their server end with the process: taking them down one by one would take longer than the measurement.
  process.exit(0);
}

async function fill(world: FleetWorld, endpoints: number): Promise<void> {
  for (let done = 0; done < endpoints; done += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, endpoints - done) }, (_, i) => done + i);
    await Promise.all(some.map((number) => create(world, `resting-${number}`)));
  }
}

async function create(world: FleetWorld, name: string): Promise<void> {
  const workers = { min: WORKERS_EACH, max: WORKERS_EACH + 1 };
  const cpu = [{ id: "cpu3c", vcpuCount: 2 }];
  const { status, text } = await world.call("POST", "/v2/serverless", {
    body: { name, image: "host:/app", cpu, workers },
  });
  if (status !== 201) throw new Error(text);
}

interface Resting {
  id: string;
  endpoint: string;
}

/** Each worker asks for work once, so that it is ready. */
async function allReady(world: FleetWorld, expected: number): Promise<Resting[]> {
  for (let s = 0; s < 60 && world.started.length < expected; s++) await world.pass(1);
  const programs = world.running();
  for (let done = 0; done < programs.length; done += AT_ONCE)
    await Promise.all(programs.slice(done, done + AT_ONCE).map((program) => program.ping()));
  await world.settle();
  const records = await world.services.workerRecords.all();
  const ready = records.filter(({ doc }) => doc.state === "READY");
  if (ready.length !== expected || records.length !== expected)
    throw new Error(`${ready.length} of ${records.length} workers are ready, and ${expected} should be`);
  return ready.map(({ id, doc }) => ({ id, endpoint: doc.owner }));
}

/** The CPU time of each second in milliseconds, without the pings. Every worker must still be ready at the end. */
async function pass(world: FleetWorld, workers: readonly Resting[], seconds: number): Promise<number[]> {
  const spent: number[] = [];
  for (let second = 0; second < seconds; second++) {
    // A tenth of the workers pings in each second, as workers that were started at different times do.
    for (const [i, { id, endpoint }] of workers.entries())
      if (i % PING_S === second % PING_S) await world.queue.renew(holderName(endpoint, id), endpoint, ALIVE_MS);
    const before = process.cpuUsage();
    await world.pass(1);
    const { user, system } = process.cpuUsage(before);
    spent.push((user + system) / 1000);
  }
  const records = await world.services.workerRecords.all();
  const isWell = records.every(({ doc }) => doc.state === "READY" && !doc.hindrance);
  if (!isWell || records.length !== workers.length) throw new Error("a worker that does nothing was taken for lost");
  return spent;
}
