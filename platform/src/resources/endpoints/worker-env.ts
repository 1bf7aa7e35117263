/** The variables that tell a worker where its endpoint is, under our own names and the established ones. */

interface WorkerPlace {
  /** Where the worker reaches the server, such as `http://127.0.0.1:7420`. */
  url: string;
  endpoint: string;
  worker: string;
  key: string;
}

/** Every URL already has a query: the public worker package appends `&name=value` to whatever it is given. */
export function workerEnv({ url, endpoint, worker, key }: WorkerPlace): Record<string, string> {
  const base = `${url}/v2/${endpoint}`;
  const at = (path: string) => `${base}/${path}?gpu=none`;
  const own = {
    MILLRACE_URL: url,
    MILLRACE_ENDPOINT_ID: endpoint,
    MILLRACE_WORKER_ID: worker,
    MILLRACE_WORKER_KEY: key,
  };
  return {
    ...own,
    RUNPOD_WEBHOOK_GET_JOB: at(`job-take/${worker}`),
    RUNPOD_WEBHOOK_POST_OUTPUT: at(`job-done/${worker}/$ID`),
    RUNPOD_WEBHOOK_POST_STREAM: at(`job-stream/${worker}/$ID`),
    RUNPOD_WEBHOOK_JOB_STREAM: at(`job-stream/${worker}/$ID`),
    RUNPOD_WEBHOOK_PING: at(`ping/${worker}`),
    RUNPOD_PING_INTERVAL: "10000",
    RUNPOD_AI_API_KEY: key,
    RUNPOD_POD_ID: worker,
    RUNPOD_POD_HOSTNAME: `${worker}-00000000`,
    RUNPOD_ENDPOINT_ID: endpoint,
    RUNPOD_ENDPOINT_BASE_URL: `${url}/v2`,
    RUNPOD_DEBUG_LEVEL: "INFO",
    RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: "true",
  };
}
