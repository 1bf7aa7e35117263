/** The waiting jobs of one endpoint, in the order in which they are handed out. */
import { Deque } from "./deque.ts";
import type { Job } from "./job.ts";
import type { LiveJob } from "./live-job.ts";

export class Lanes {
  #normal = new Deque<LiveJob>();
  #low = new Deque<LiveJob>();
  /** Jobs by what they do now, whether or not they are in a lane at this moment. */
  readonly count = { inQueue: 0, lowPriorityInQueue: 0, inProgress: 0 };

  put(job: LiveJob, place: "front" | "back"): void {
    job.waiting = true;
    const lane = job.policy.lowPriority ? this.#low : this.#normal;
    if (place === "front") lane.unshift(job);
    else lane.push(job);
  }

  /** The next waiting job; entries of jobs that have moved on since are passed over. */
  take(): LiveJob | undefined {
    for (const lane of [this.#normal, this.#low]) {
      for (let job = lane.shift(); job; job = lane.shift()) {
        if (!job.waiting) continue;
        job.waiting = false;
        return job;
      }
    }
    return undefined;
  }

  clear(): void {
    this.#normal = new Deque();
    this.#low = new Deque();
  }

  /** Follows a job from one state to another; undefined stands for not being here at all. */
  recount({ policy }: Pick<Job, "policy">, from: Job["state"] | undefined, to: Job["state"] | undefined): void {
    const low = policy.lowPriority ? 1 : 0;
    if (from === "IN_QUEUE") {
      this.count.inQueue--;
      this.count.lowPriorityInQueue -= low;
    }
    if (from === "IN_PROGRESS") this.count.inProgress--;
    if (to === "IN_QUEUE") {
      this.count.inQueue++;
      this.count.lowPriorityInQueue += low;
    }
    if (to === "IN_PROGRESS") this.count.inProgress++;
  }
}
