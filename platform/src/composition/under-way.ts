/** What a server has under way, in words for the person who shuts it down. */
import { stay } from "../kernel/clock.ts";
import type { Compute } from "../ports/compute/compute.ts";
import type { Queue } from "../ports/queue/queue.ts";

export interface UnderWay {
  jobs: number;
  workers: number;
  pods: number;
}

/** A person who presses Ctrl-C does not wait longer than this for the numbers. */
const COUNTED_WITHIN_MS = 1000;

/** Resolves with undefined if the numbers are not known in time. */
export function countUnderWay(queue: Queue, computes: readonly Compute[]): Promise<UnderWay | undefined> {
  const count = async (): Promise<UnderWay> => {
    const [demand, lists] = await Promise.all([
      queue.demand(0),
      Promise.all(computes.map((compute) => compute.list())),
    ]);
    const alive = lists.flat().filter(({ state }) => state !== "exited");
    return {
      jobs: demand.reduce((sum, { inProgress }) => sum + inProgress, 0),
      workers: alive.filter(({ kind }) => kind === "worker").length,
      pods: alive.filter(({ kind }) => kind === "pod").length,
    };
  };
  return Promise.race([count().catch(() => undefined), stay(COUNTED_WITHIN_MS).then(() => undefined)]);
}

const some = (count: number, one: string, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

export function endingText(under: UnderWay | undefined): string {
  const again = "Ctrl-C again ends at once. Accepted work is kept either way.";
  if (!under) return `ending; waiting for requests and workers of this machine. ${again}`;
  const { jobs, workers, pods } = under;
  const waits = [
    ...(jobs > 0 ? [`${some(jobs, "job")} in progress, which may end or go back to the queue`] : []),
    ...(workers > 0 ? [`${some(workers, "worker")} of this machine to end`] : []),
  ];
  const waiting =
    waits.length > 0 ? `waiting for ${waits.join(", and for ")}` : "no job is in progress and no worker runs";
  const going = pods > 0 ? ` ${some(pods, "Pod goes", "Pods go")} on without the server.` : "";
  return `ending; ${waiting}.${going} ${again}`;
}
