/** A world with one endpoint and workers that speak the public worker protocol over HTTP. */
import { type Answer, type CallOptions, setup, type World } from "./world.ts";

/** How long the server holds a worker's request. Tests find its timers by these lengths. */
export const HOLD_TAKE_MS = 20_000;
export const HOLD_STOP_MS = 25_000;

export interface TestWorker {
  id: string;
  key: string;
  /** Sends any request of the protocol, such as `GET job-take`. `job` is the last segment, if there is one. */
  ask(request: string, options?: CallOptions & { job?: string; query?: string }): Promise<Answer>;
  /** Returns the next job, or undefined if there is none within the hold. */
  take(): Promise<{ id: string; input: unknown } | undefined>;
  /** Posts a job-done body unchanged. */
  done(job: string, body: unknown): Promise<number>;
  chunk(job: string, output: unknown): Promise<number>;
  ping(jobs?: string[]): Promise<number>;
}

export interface JobWorld extends World {
  endpoint: string;
  /** Calls an operation of the endpoint, such as `/run`. */
  invoke: World["call"];
  submit(input?: object, rest?: object): Promise<string>;
  /** The record as `/status` shows it. */
  status(job: string): Promise<Answer["json"]>;
  worker(): Promise<TestWorker>;
  /** Makes a job that this worker has begun. */
  begun(worker: TestWorker, input?: object, rest?: object): Promise<string>;
}

export async function setupJobs(options: Parameters<typeof setup>[0] = {}): Promise<JobWorld> {
  const world = await setup(options);
  const created = await world.call("POST", "/v2/serverless", {
    body: { name: "echo", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] },
  });
  const endpoint = created.json.id as string;
  const invoke: World["call"] = (method, path, given) => world.call(method, `/v2/${endpoint}${path}`, given);
  const submit: JobWorld["submit"] = async (input = {}, rest = {}) =>
    (await invoke("POST", "/run", { body: { input, ...rest } })).json.id;
  return {
    ...world,
    endpoint,
    invoke,
    submit,
    status: async (job) => (await invoke("GET", `/status/${job}`)).json,
    async begun(worker, input, rest) {
      const id = await submit(input, rest);
      const taken = await worker.take();
      if (taken?.id !== id) throw new Error(`the worker was given ${taken?.id} instead of ${id}`);
      return id;
    },
    async worker() {
      const { id, key } = await world.services.workerKeys.issue(world.owner.account, endpoint);
      const post = async (path: string, body: unknown) => (await invoke("POST", path, { key, body })).status;
      return {
        id,
        key,
        ask(request, { job, query = "", ...options } = {}) {
          const [method, operation] = request.split(" ") as [string, string];
          const path = `/${operation}/${id}${job === undefined ? "" : `/${job}`}?gpu=none${query}`;
          return invoke(method, path, { key, ...options });
        },
        async take() {
          const { status, json } = await invoke("GET", `/job-take/${id}?gpu=none`, { key });
          return status === 200 ? json : undefined;
        },
        done: (job, body) => post(`/job-done/${id}/${job}?gpu=none&isStream=false`, body),
        chunk: (job, output) => post(`/job-stream/${id}/${job}?gpu=none&isStream=false`, { output }),
        ping: async (jobs = []) =>
          (await invoke("GET", `/ping/${id}?gpu=none&job_id=${jobs.join(",")}`, { key })).status,
      };
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

/** Yields the server-sent events of a response as they arrive. */
export async function* eventsOf(response: Response): AsyncGenerator<{ id?: string; event?: string; data: string }> {
  let text = "";
  for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
    text += part;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const data = field("data");
      if (data !== undefined) yield { id: field("id"), event: field("event"), data };
    }
  }
}
