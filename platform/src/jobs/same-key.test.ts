/** A submission with a key that is in use, at the moment when the job with that key expires. */
import { expect, test } from "vitest";
import { here, submission } from "../../tests/engine-world.ts";
import { idle } from "../../tests/idle.ts";
import { FakeClock } from "../kernel/clock.ts";
import { SeededRandom } from "../kernel/random.ts";
import { MemoryQueue } from "../ports/queue/memory-queue.ts";
import { MemorySignals } from "../ports/signals/memory-signals.ts";
import { Engine } from "./engine.ts";
import { RETENTION_MS } from "./retention.ts";

/** The next job that is found by its key expires before anyone can read it. */
class SlowQueue extends MemoryQueue {
  readonly clock: FakeClock;

  constructor(clock: FakeClock) {
    super(clock);
    this.clock = clock;
  }

  override async enqueue(...given: Parameters<MemoryQueue["enqueue"]>): ReturnType<MemoryQueue["enqueue"]> {
    const enqueued = await super.enqueue(...given);
    if (enqueued[0]!.known) await this.clock.advance(RETENTION_MS.run);
    return enqueued;
  }
}

test("it becomes a job of its own, and is not told that there is none", async () => {
  const clock = new FakeClock();
  const failed = (error: unknown) => {
    throw error;
  };
  const parts = {
    queue: new SlowQueue(clock),
    signals: new MemorySignals(),
    clock,
    random: new SeededRandom(1),
    failed,
  };
  const engine = new Engine(parts);
  const idempotency = { key: "k", digest: "d" };
  const first = await engine.submit(submission({}, idempotency));
  await engine.cancel("ep", first.id);
  const id = engine.newId("run");
  const known: string[] = [];
  const waiting = { waitMs: 1000, gone: here, known: (id: string) => known.push(id) };
  const answer = engine.submitAndWait(submission({}, idempotency), waiting, id);
  await idle();
  await clock.advance(1000);
  const { job } = await answer;
  expect([job.id, job.state, known]).toEqual([id, "IN_QUEUE", [id]]);
});
