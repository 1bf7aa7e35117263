/** Waits until the first worker of a new release is ready, and says meanwhile what it waits for. */
import { type Clock, sleep } from "@millrace/platform/kernel/clock.ts";
import { endpointOperations } from "@millrace/platform/resources/endpoints/operations.ts";
import type { Worker } from "@millrace/platform/resources/workers/model.ts";
import { workerOperations } from "@millrace/platform/resources/workers/operations.ts";
import type { ApiClient } from "../api.ts";
import { EXIT, Failure } from "../failure.ts";

export interface RolloutOptions {
  api: ApiClient;
  clock: Clock;
  signal: AbortSignal;
  endpoint: string;
  /** How many workers the endpoint keeps. Without any, one is started for the proof and ends again. */
  min: number;
  withinMs: number;
  say: (text: string) => void;
}

const LOOK_MS = 250;

/** Resolves with the worker that is ready. Throws the reason if the first start fails, or none is ready in time. */
export async function firstWorker(options: RolloutOptions): Promise<Worker> {
  const { api, endpoint, min } = options;
  const setMin = (count: number) =>
    api.call(endpointOperations.updateEndpoint, { params: { id: endpoint }, body: { workers: { min: count } } });
  if (min > 0) return untilReady(options);
  await setMin(1);
  try {
    return await untilReady(options);
  } finally {
    await setMin(0);
  }
}

async function untilReady({ api, clock, signal, endpoint, withinMs, say }: RolloutOptions): Promise<Worker> {
  const untilMs = clock.monotonic() + withinMs;
  let said = "";
  for (;;) {
    const { workers } = await api.call(workerOperations.listEndpointWorkers, { params: { id: endpoint } });
    const fresh = workers.filter(({ isStale }) => !isStale);
    const ready = fresh.find(({ status, reason }) => (status === "IDLE" || status === "RUNNING") && !reason);
    if (ready) return ready;
    const failed = fresh.find(({ status }) => status === "UNHEALTHY");
    if (failed) throw new Failure(`the first worker failed: ${failed.reason ?? "it ended"}`);
    const state = stateOf(fresh, workers.length - fresh.length);
    if (withoutTimes(state) !== withoutTimes(said)) say(state);
    said = state;
    if (signal.aborted)
      throw new Failure("interrupted; the endpoint is deployed, and its workers continue to start", EXIT.interrupted);
    if (clock.monotonic() > untilMs) throw new Failure(`no worker was ready in time: ${state}`, EXIT.waited);
    await sleep(clock, LOOK_MS);
  }
}

function stateOf([first]: readonly Worker[], old: number): string {
  if (first) return first.reason ?? WORDS[first.status] ?? first.status;
  return old > 0 ? `${old} ${old === 1 ? "worker" : "workers"} of the release before` : "a worker is planned";
}

const WORDS: Partial<Record<Worker["status"], string>> = {
  INITIALIZING: "a worker is starting",
  THROTTLED: "no machine has room for a worker",
};

const withoutTimes = (text: string) => text.replace(/\d+(?:\.\d+)? ?m?s\b/g, "");
