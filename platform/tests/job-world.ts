/** A world with one endpoint and workers that speak the public worker protocol over HTTP. */
import { setup, type World } from "./world.ts";

export interface TestWorker {
  id: string;
  /** The next job, or undefined when there is none within the hold. */
  take(): Promise<{ id: string; input: unknown } | undefined>;
  /** Posts a job-done body as it is. */
  done(job: string, body: unknown): Promise<number>;
  chunk(job: string, output: unknown): Promise<number>;
  ping(jobs?: string[]): Promise<number>;
}

export interface JobWorld extends World {
  endpoint: string;
  /** Calls an operation of the endpoint, such as `/run`. */
  invoke: World["call"];
  submit(input?: object, rest?: object): Promise<string>;
  worker(): Promise<TestWorker>;
}

export async function setupJobs(options: Parameters<typeof setup>[0] = {}): Promise<JobWorld> {
  const world = await setup(options);
  const created = await world.call("POST", "/v2/serverless", {
    body: { name: "echo", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] },
  });
  const endpoint = created.json.id as string;
  const invoke: World["call"] = (method, path, given) => world.call(method, `/v2/${endpoint}${path}`, given);
  return {
    ...world,
    endpoint,
    invoke,
    async submit(input = {}, rest = {}) {
      return (await invoke("POST", "/run", { body: { input, ...rest } })).json.id;
    },
    async worker() {
      const { id, key } = await world.services.workerKeys.issue(world.owner.account, endpoint);
      const post = async (path: string, body: unknown) => (await invoke("POST", path, { key, body })).status;
      return {
        id,
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

/** Server-sent events of a response as they come. */
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
