/** A world with one queue-based endpoint, and what its workers and clients need. */
import { workerEnv } from "../src/resources/endpoints/worker-env.ts";
import { type Answer, type CallOptions, setup, type World } from "./world.ts";

export interface EndpointWorld extends World {
  endpoint: string;
  /** Variables for a worker with a new key. The given name becomes its id. */
  workerVariables(worker?: string): Promise<Record<string, string>>;
  /** Calls under `/v2/{endpoint}`. */
  invoke(method: string, path: string, options?: CallOptions): Promise<Answer>;
}

export async function setupEndpoint(): Promise<EndpointWorld> {
  const world = await setup({ rateLimits: "off" });
  const body = { name: "queue", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const created = await world.call("POST", "/v2/serverless", { body });
  if (created.status !== 201) throw new Error(`the endpoint was not made: ${created.text}`);
  const endpoint = created.json.id as string;
  return {
    ...world,
    endpoint,
    async workerVariables(worker) {
      const issued = await world.services.workerKeys.issue(world.owner.account, endpoint);
      return workerEnv({ ...issued, url: world.url, endpoint, worker: worker ?? issued.id });
    },
    invoke: (method, path, options) => world.call(method, `/v2/${endpoint}${path}`, options),
  };
}
