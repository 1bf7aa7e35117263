/** The lanes of all endpoints that the embedded queue knows, and the workers that they need. */
import { Lanes } from "./lanes.ts";
import type { Demand } from "./queue.ts";

export class LaneBook extends Map<string, Lanes> {
  of(endpoint: string): Lanes {
    let lanes = this.get(endpoint);
    if (!lanes) {
      lanes = new Lanes(endpoint);
      this.set(endpoint, lanes);
    }
    return lanes;
  }

  demand(most: number): Demand[] {
    return [...this.values()]
      .filter(({ counts }) => counts.inQueue + counts.inProgress > 0)
      .map((lanes) => ({ endpoint: lanes.endpoint, ...lanes.counts, waitingSince: waitingSince(lanes, most) }));
  }
}

/** The cost depends on the number of jobs to report, not on the length of the queue. */
function waitingSince(lanes: Lanes, most: number): number[] {
  const { inQueue, lowPriorityInQueue } = lanes.counts;
  const wanted = Math.min(most, inQueue - lowPriorityInQueue);
  if (wanted <= 0) return [];
  const since: number[] = [];
  for (const { queuedAt } of lanes.waiting()) {
    since.push(queuedAt);
    if (since.length === wanted) break;
  }
  return since.sort((a, b) => a - b);
}
