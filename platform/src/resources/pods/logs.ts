/** Finds the log of a Pod on the node whose machine the Pod is on, or was on last. */
import type { LogLine, Logs, Query } from "../../ports/logs/logs.ts";
import { podLog } from "./model.ts";
import type { PodItem } from "./records.ts";

export interface PodLogAsked {
  pod: string;
  query: Query;
  gone: AbortSignal;
}

/** Reads the log of a Pod, on whichever node it is. */
export type ReadPodLog = (pod: PodItem, asked: PodLogAsked) => Promise<AsyncIterable<LogLine[]>>;

/** Logs on other nodes. */
interface PodLogsElsewhere {
  isHere(machine: string): boolean;
  followPod(machine: string, asked: PodLogAsked): Promise<AsyncIterable<LogLine[]>>;
}

export const podLogs =
  (logs: Logs, elsewhere?: PodLogsElsewhere): ReadPodLog =>
  async ({ id, doc }, asked) => {
    const machine = doc.last?.machine;
    if (elsewhere && machine !== undefined && !elsewhere.isHere(machine)) return elsewhere.followPod(machine, asked);
    return logs.follow(podLog(id), asked.query, asked.gone);
  };
