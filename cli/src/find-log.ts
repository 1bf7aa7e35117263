/** Finds whose log a word means: that of an endpoint, a Pod, a worker or a job. */
import { jobOperations } from "@millrace/platform/jobs/operations.ts";
import { requestPath } from "@millrace/platform/kernel/request-path.ts";
import { endpointOperations } from "@millrace/platform/resources/endpoints/operations.ts";
import { podOperations } from "@millrace/platform/resources/pods/operations.ts";
import { workerOperations } from "@millrace/platform/resources/workers/operations.ts";
import type { ApiClient, Called } from "./api.ts";
import { EXIT, Failure, Refusal } from "./failure.ts";
import { byIdOrName, listed } from "./names.ts";

export interface FoundLog {
  path: string;
  /** Whether the lines are those of several workers. */
  hasMany: boolean;
  /** The time of the lines that are meant, where it is not all of the log. */
  since?: string;
  until?: string;
}

export async function findLog(api: ApiClient, thing: string, endpoint: string | undefined): Promise<FoundLog> {
  if (endpoint !== undefined) {
    const { id } = await byIdOrName(api, endpointOperations.listEndpoints, endpoint, (id) =>
      api.call(endpointOperations.getEndpoint, { params: { id } }),
    );
    return (await ofJob(api, id, thing)) ?? ofWorker(id, thing);
  }
  const { getEndpointLogs } = workerOperations;
  const [ofEndpoint, ofPod] = await Promise.all([
    idOf(api, endpointOperations, "getEndpoint", "listEndpoints", thing),
    idOf(api, podOperations, "getPod", "listPods", thing),
  ]);
  if (ofEndpoint) return { path: requestPath(getEndpointLogs.path, { params: { id: ofEndpoint } }), hasMany: true };
  if (ofPod) return { path: requestPath(podOperations.getPodLogs.path, { params: { id: ofPod } }), hasMany: false };
  const found = await amongWorkersAndJobs(api, thing);
  if (found) return found;
  throw new Failure(
    `there is no endpoint, Pod, worker or job '${thing}'. A worker that has ended needs --endpoint too.`,
    EXIT.notFound,
  );
}

/** Undefined where there is none, or where the key may not see such things. */
async function idOf<Ops extends Record<string, Called>>(
  api: ApiClient,
  operations: Ops,
  get: keyof Ops,
  list: keyof Ops,
  thing: string,
): Promise<string | undefined> {
  const read = (id: string) => api.call(operations[get]!, { params: { id } });
  return orNone(async () => ((await byIdOrName(api, operations[list], thing, read)) as { id: string }).id);
}

async function orNone<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal && (error.status === 404 || error.status === 403)) return undefined;
    throw error;
  }
}

const ofWorker = (id: string, workerId: string): FoundLog => ({
  ...{ path: requestPath(workerOperations.getWorkerLogs.path, { params: { id, workerId } }), hasMany: false },
});

async function amongWorkersAndJobs(api: ApiClient, thing: string): Promise<FoundLog | undefined> {
  const { endpoints = [] } = (await orNone(() => listed(api, endpointOperations.listEndpoints))) ?? {};
  for (const { id } of endpoints as { id: string }[]) {
    const { workers } = await api.call(workerOperations.listEndpointWorkers, { params: { id } });
    if (workers.some((worker) => worker.id === thing)) return ofWorker(id, thing);
    const found = await ofJob(api, id, thing);
    if (found) return found;
  }
  return undefined;
}

interface Details {
  workerId?: string;
  startedAt?: string;
  completedAt?: string;
  status: string;
}

/** The log of the worker that ran a job, for the time of the run. */
async function ofJob(api: ApiClient, endpoint: string, job: string): Promise<FoundLog | undefined> {
  const ask = { params: { endpoint_id: endpoint, job_id: job } };
  const details = (await orNone(() => api.call(jobOperations.getJobDetails, ask))) as Details | undefined;
  if (!details) return undefined;
  const { workerId, startedAt, completedAt, status } = details;
  if (workerId === undefined || startedAt === undefined)
    throw new Failure(`the job is ${status}, and no worker has run it yet: there is no log of it`);
  return { ...ofWorker(endpoint, workerId), since: startedAt, ...(completedAt && { until: completedAt }) };
}
