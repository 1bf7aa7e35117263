/** The job engine in memory, on a virtual disk whose flushes a test can hold and release one by one. */

import { Engine, type Submission } from "../src/jobs/engine.ts";
import { holderName } from "../src/jobs/holder.ts";
import { readReport } from "../src/jobs/report.ts";
import type { WarmUps } from "../src/jobs/warm-up.ts";
import { WorkerDesk } from "../src/jobs/worker-desk.ts";
import type { WorkerEvents } from "../src/jobs/worker-events.ts";
import { FakeClock } from "../src/kernel/clock.ts";
import { SeededRandom } from "../src/kernel/random.ts";
import { EmbeddedQueue } from "../src/ports/queue/embedded-queue.ts";
import type { Queue } from "../src/ports/queue/queue.ts";
import { MemorySignals } from "../src/ports/signals/memory-signals.ts";
import { idle } from "./idle.ts";
import { openDisk } from "./simulation/disk.ts";
import { withStandbys } from "./standby-queue.ts";

export const worker = (name: string) => ({ endpoint: "ep", worker: holderName("ep", name) });

/** A client that never hangs up. */
export const here = new AbortController().signal;

export const report = (id: string, text: string, attempt?: number) => ({
  id,
  report: readReport(text),
  ...(attempt === undefined ? {} : { attempt }),
});

export function submission(
  terms: Partial<Submission["terms"]> = {},
  idempotency?: Submission["idempotency"],
): Submission {
  return {
    endpoint: { id: "ep", executionTimeoutMs: 600_000 },
    mode: "run",
    body: '{"input":{}}',
    terms: { errorRetries: 0, lowPriority: false, webhooks: [], hasCredential: false, ...terms },
    ...(idempotency ? { idempotency } : {}),
  };
}

interface Options {
  events?: WorkerEvents;
  warmUps?: WarmUps;
  /** The queue begins jobs as they are inserted, for workers that wait. */
  beginsAtOnce?: boolean;
  /** Whether callers of the endpoints take turns. */
  isShared?: () => boolean;
}

export async function jobWorld({ events, warmUps, beginsAtOnce = false, isShared = () => false }: Options = {}) {
  const clock = new FakeClock();
  const waiting: (() => void)[] = [];
  let isHeld = false;
  const { journal } = await openDisk("memory").open(async (_, commit) => {
    if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
    return commit();
  });
  const signals = new MemorySignals();
  /** Starts a server on what the disk has. */
  const start = () => {
    const embedded = new EmbeddedQueue(journal, clock);
    const queue: Queue = beginsAtOnce ? withStandbys(embedded) : embedded;
    const parts = { queue, signals, clock, random: new SeededRandom(1), failed: () => undefined };
    const engine = new Engine(parts);
    /** One more desk on the same queue, as on another node. */
    const newDesk = () => new WorkerDesk({ ...parts, waiters: engine.waiters, events, warmUps, isShared });
    return { queue, engine, newDesk, desk: newDesk() };
  };
  return {
    clock,
    signals,
    start,
    ...start(),
    /** From now on flushes wait for `flush`. */
    hold() {
      isHeld = true;
    },
    /** Makes the waiting flush, and lets everything that depends on it happen. */
    async flush() {
      await idle();
      waiting.shift()!();
      await idle();
    },
  };
}
