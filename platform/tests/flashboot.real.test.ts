/** FlashBoot on real processes: an idle worker's program is frozen, and the next job continues it where it was. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { LOOK_MS, type Place, place, submit, TRIES } from "./worker-place.ts";

const FLASHBOOT = { flashboot: "FLASHBOOT", workers: { max: 1, idleTimeout: 1 } };

async function ran(at: Place, endpoint: string): Promise<{ worker: string; begun: number }> {
  const job = await submit(at, endpoint);
  const { status, output } = await at.until(endpoint, job, ({ status }) => status === "COMPLETED");
  expect(status).toBe("COMPLETED");
  return output;
}

async function untilFrozen(at: Place, endpoint: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const { workers } = (await at.call("GET", `/v2/serverless/${endpoint}/workers`)).json;
    if (workers.some(({ frozen }: { frozen?: boolean }) => frozen) && (await isStill(at))) return;
    if (tries === TRIES) throw new Error(`no worker is frozen: ${JSON.stringify(workers)}`);
    await stay(LOOK_MS);
  }
}

/** A process that is frozen uses no CPU time. */
async function isStill(at: Place): Promise<boolean> {
  const [pid] = await at.workers();
  const spent = async () => (await readFile(`/proc/${pid}/stat`, "utf8")).split(" ").slice(13, 15).join();
  const before = await spent();
  await stay(LOOK_MS);
  return before === (await spent());
}

/** Long enough that a worker on a busy machine reads the answer to its poll in time. */
const POLL_MS = 6000;

test.concurrent("a worker is frozen when it is idle, and runs the next job in the same process", async ({
  onTestFailed,
}) => {
  await using at = await place({ onFailure: onTestFailed });
  const endpoint = await at.endpoint(FLASHBOOT);
  const first = await ran(at, endpoint);
  const before = await at.workers();
  await untilFrozen(at, endpoint);
  expect(await ran(at, endpoint)).toMatchObject({ worker: first.worker, begun: 2 });
  expect(await at.workers()).toEqual(before);
});

test.concurrent("a worker that was frozen for longer than its own timer for a poll loses no job", async ({
  onTestFailed,
}) => {
  await using at = await place({ onFailure: onTestFailed });
  const endpoint = await at.endpoint({ ...FLASHBOOT, env: { TAKE_TIMEOUT_MS: String(POLL_MS) } });
  const first = await ran(at, endpoint);
  for (const begun of [2, 3]) {
    await untilFrozen(at, endpoint);
    await stay(POLL_MS + 300);
    expect(await ran(at, endpoint)).toMatchObject({ worker: first.worker, begun });
  }
  expect((await at.call("GET", `/v2/${endpoint}/health`)).json.jobs).toMatchObject({ completed: 3, retried: 0 });
});

test.concurrent("after kill -9 of the server a frozen worker is found again, and SIGTERM leaves no process", async ({
  onTestFailed,
}) => {
  await using at = await place({ onFailure: onTestFailed });
  const endpoint = await at.endpoint(FLASHBOOT);
  const first = await ran(at, endpoint);
  await untilFrozen(at, endpoint);
  await at.restart("SIGKILL");
  expect(await ran(at, endpoint)).toMatchObject({ worker: first.worker, begun: 2 });
  await untilFrozen(at, endpoint);
  expect(await at.server.end("SIGTERM")).toBe(0);
  expect(await at.workers()).toEqual([]);
});
