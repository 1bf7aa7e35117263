/** The program of a simulated worker: it asks any node for jobs, works on them, pings, and reports. */
import { holderName } from "../../../src/jobs/holder.ts";
import { readReport } from "../../../src/jobs/report.ts";
import type { InstanceSpec } from "../../../src/ports/compute/compute.ts";
import type { FakeInstance } from "../../../src/ports/compute/fake-instance.ts";
import type { Claimed } from "../../../src/ports/queue/queue.ts";
import { ask } from "./network.ts";
import type { FleetWorld } from "./world.ts";

const HOLD_TAKE_MS = 4000;
const PATIENCE_MS = 8000;
const PING_MS = 5000;
const REPORTS = 5;

export function runWorker(world: FleetWorld, instance: FakeInstance, spec: InstanceSpec): void {
  const { random } = world;
  const call = { endpoint: spec.owner, worker: holderName(spec.owner, instance.id) };
  const busy = new Set<string>();
  const sleep = (ms: number) => new Promise<void>((resolve) => instance.after(ms, resolve));

  async function work({ job }: Claimed): Promise<void> {
    if (job.holder !== call.worker) world.trace.broken(`was given to ${call.worker}, and ${job.holder} has it`, job.id);
    busy.add(job.id);
    await sleep(random.below(random.pick([50, 3000])));
    const report = readReport(random.chance(0.1) ? '{"error":"no"}' : `{"output":"${instance.id}"}`);
    for (let tries = REPORTS; tries > 0; tries--) {
      const answer = await ask(world, ({ jobs }) => jobs.desk.report(call, [{ id: job.id, report }]), PATIENCE_MS);
      if (typeof answer === "object" && "value" in answer) break;
      await sleep(1000);
    }
    busy.delete(job.id);
  }

  async function takeForever(): Promise<void> {
    while (!instance.exited) {
      const gone = new AbortController();
      const taking = { limit: 1, waitMs: HOLD_TAKE_MS, gone: gone.signal };
      const answer = await ask(world, ({ jobs }) => jobs.desk.take(call, taking), PATIENCE_MS, gone);
      // The answer reaches the program only while it is not frozen.
      await sleep(0);
      if (typeof answer === "object" && "value" in answer) for (const claimed of answer.value) await work(claimed);
      else await sleep(500);
    }
  }

  async function pingOften(): Promise<void> {
    while (!instance.exited) {
      await sleep(PING_MS);
      void ask(world, ({ jobs }) => jobs.desk.ping(call, new Set(busy), "1.12.0"), PATIENCE_MS);
    }
  }

  if (random.chance(world.isQuiet ? 0 : world.mix.faults.programEnds / 50)) {
    instance.after(random.below(2000), () => instance.exit({ code: 1 }));
    return;
  }
  instance.after(random.below(1500), () => {
    void takeForever();
    void pingOften();
  });
}
