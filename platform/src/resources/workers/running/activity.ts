/** Knows when workers last began or ended a job, as far as this node has seen it. */
import type { Balancer } from "../../../balancing/balancer.ts";
import { holderName } from "../../../jobs/holder.ts";
import type { WorkerDesk } from "../../../jobs/worker-desk.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { OwnMachine } from "../../../machines/own-machine.ts";
import type { WorkerRecords } from "../records.ts";

export interface ActivityParts {
  records: WorkerRecords;
  own: readonly Pick<OwnMachine, "id">[];
  balancer: Balancer;
  desk: WorkerDesk;
  clock: Clock;
}

export class Activity {
  readonly #parts: ActivityParts;

  constructor(parts: ActivityParts) {
    this.#parts = parts;
  }

  /** A worker that works on a job is active now, even if the job is no longer its own. */
  of(endpoint: string, worker: string): number | undefined {
    const { balancer, desk, clock } = this.#parts;
    const call = { endpoint, worker: holderName(endpoint, worker) };
    if (desk.overruns.mayHoldUp(call)) return clock.now();
    return balancer.occupations(endpoint).get(worker)?.idleSince ?? desk.activeAt(call.worker);
  }

  /** The activity of the workers on this node's machines, for the node that plans. */
  async here(): Promise<Record<string, number>> {
    const { records, own } = this.#parts;
    const workers = (await Promise.all(own.map(({ id }) => records.ofMachine(id)))).flat();
    const seen = workers.map(({ id, doc }) => [id, this.of(doc.owner, id)] as const);
    return Object.fromEntries(seen.filter((one): one is [string, number] => one[1] !== undefined));
  }
}
