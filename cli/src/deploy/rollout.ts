/** Waits until the first worker of a new release is ready, and says meanwhile what it waits for. */

import { jobOperations } from "@millrace/platform/jobs/operations.ts";
import { type Clock, sleep } from "@millrace/platform/kernel/clock.ts";
import { floating } from "@millrace/platform/kernel/floating.ts";
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import type { Worker } from "@millrace/platform/resources/workers/model.ts";
import { workerOperations } from "@millrace/platform/resources/workers/operations.ts";
import type { ApiClient } from "../api.ts";
import { EXIT, Failure, Refusal } from "../failure.ts";

export interface RolloutOptions {
  api: ApiClient;
  clock: Clock;
  signal: AbortSignal;
  endpoint: Pick<Endpoint, "id" | "type" | "workers">;
  withinMs: number;
  say: (text: string) => void;
}

const LOOK_MS = 250;
/** A job may live no shorter. */
const SHORTEST_TTL_MS = 10_000;

/** Resolves with the worker that is ready. Throws the reason if the first start fails, or none is ready in time. */
export async function firstWorker(options: RolloutOptions): Promise<Worker> {
  const { workers, type } = options.endpoint;
  if ((workers.min ?? 0) > 0) return untilReady(options);
  await using _ = type === "LOAD_BALANCER" ? await demandByRequest(options) : await demandByJob(options);
  return await untilReady(options);
}

/**
 * An endpoint that keeps no workers starts one for work. If this process is killed, the job is the only thing that is left, and it ends by
 * its time to live. A changed number of workers would stay.
 */
async function demandByJob({ api, endpoint, withinMs }: RolloutOptions): Promise<AsyncDisposable> {
  const params = { endpoint_id: endpoint.id };
  const body = { input: {}, policy: { ttl: Math.max(SHORTEST_TTL_MS, withinMs), retries: 0 } };
  const { id } = (await api.call(jobOperations.runJob, { params, body })) as { id: string };
  return {
    async [Symbol.asyncDispose]() {
      await api.call(jobOperations.cancelJob, { params: { ...params, job_id: id } }).catch(overAlready);
    },
  };
}

/** The worker may have done the job, or failed at it. Neither is what a deployment asks. */
function overAlready(error: unknown): void {
  if (!(error instanceof Refusal)) throw error;
}

/** A balanced endpoint has no jobs. A request waits for a worker, and ends with its connection. */
async function demandByRequest({ api, endpoint, withinMs }: RolloutOptions): Promise<AsyncDisposable> {
  const ended = new AbortController();
  floating(api.send(`/v2/${endpoint.id}/ping`, { signal: ended.signal, silenceMs: withinMs }), () => {});
  return {
    async [Symbol.asyncDispose]() {
      ended.abort();
    },
  };
}

async function untilReady({ api, clock, signal, endpoint: { id }, withinMs, say }: RolloutOptions): Promise<Worker> {
  const untilMs = clock.monotonic() + withinMs;
  let said = "";
  for (;;) {
    const { workers } = await api.call(workerOperations.listEndpointWorkers, { params: { id } });
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
