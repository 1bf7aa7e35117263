/** Every kind of held request, when the server is killed or shuts down: no client hangs, and asking again works. */
import { get } from "node:http";
import { expect, test } from "vitest";
import { eventsOf } from "./job-world.ts";
import { millrace, ownerKey, type Server, startServer, temporaryFolder } from "./process.ts";
import type { Answer } from "./world.ts";

/** A server with a worker that has two jobs and reports them, and one endpoint without workers. */
async function setup(folder: string) {
  const server = await startServer(folder);
  const key = await ownerKey(folder);
  const create = async (name: string) => {
    const body = { name, image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    return (await server.call("POST", "/v2/serverless", { key, body })).json.id as string;
  };
  const [endpoint, idle] = [await create("busy"), await create("idle")];
  const { MILLRACE_WORKER_KEY: workerKey } = await millrace(folder, "worker-env", endpoint);
  const on = (at: Server) => ({
    client: (method: string, path: string, body?: object) => at.call(method, `/v2/${endpoint}${path}`, { key, body }),
    worker: (method: string, path: string, body?: unknown) =>
      at.call(method, `/v2/${endpoint}${path}`, { key: workerKey, body }),
    runsync: () =>
      at.call("POST", `/v2/${idle}/runsync`, { key, body: { input: {} }, headers: { "idempotency-key": "k" } }),
    events: (job: string, after?: string) =>
      fetch(`${at.url}/v2/${endpoint}/stream/${job}`, {
        headers: {
          ...{ authorization: `Bearer ${key}`, accept: "text/event-stream" },
          ...(after === undefined ? {} : { "last-event-id": after }),
        },
      }),
  });
  const { client, worker } = on(server);
  const jobs: string[] = [];
  for (let i = 0; i < 2; i++) {
    jobs.push((await client("POST", "/run", { input: {} })).json.id);
    await worker("GET", "/job-take/w0");
  }
  const [job, stopped] = jobs as [string, string];
  const restart = () => startServer(folder, { args: ["--port", new URL(server.url).port] });
  return { server, on, job, stopped, restart };
}

type Asking = ReturnType<Awaited<ReturnType<typeof setup>>["on"]>;

/** Every kind of request that can be held, by name. */
const held = ({ client, worker, runsync }: Asking, job: string): { [name: string]: Promise<Answer> } => ({
  take: worker("GET", "/job-take/w1"),
  exchange: worker("POST", "/job-exchange/w2?take=1&wait=60000", ""),
  stop: worker("GET", "/job-stop/w0"),
  statusSync: client("GET", `/status-sync/${job}?wait=300000`),
  stream: client("GET", `/stream/${job}?wait=300000`),
  runsync: runsync(),
});

/** Sends requests on connections of their own, one after another. Once they are answered, everything sent before has arrived. */
async function allHeard({ url }: Server): Promise<void> {
  for (let round = 0; round < 3; round++)
    await new Promise((resolve, reject) => {
      const sent = get(`${url}/v2/openapi.json`, { agent: false }, (response) =>
        response.resume().once("end", resolve),
      );
      sent.once("error", reject);
    });
}

test("ask 14: held requests break off with a killed server, and the next server answers them when they are asked again", async () => {
  await using folder = await temporaryFolder();
  const { server, on, job, stopped, restart } = await setup(folder.path);
  const before = on(server);
  await before.worker("POST", `/job-stream/w0/${job}`, { output: "first" });
  const events = eventsOf(await before.events(job));
  const { id: seen } = (await events.next()).value!;
  // Streamed output is returned once, so from now on there is none to return.
  await before.client("GET", `/stream/${job}`);
  const settled = Promise.allSettled([...Object.values(held(before, job)), events.next()]);
  await allHeard(server);
  await server.end("SIGKILL");
  expect((await settled).map(({ status }) => status)).toEqual(Array(7).fill("rejected"));

  await using second = await restart();
  const after = on(second);
  await after.worker("GET", `/ping/w0?job_id=${job},${stopped}`);
  const again = held(after, job);
  const eventsAgain = eventsOf(await after.events(job, seen));
  const taken = (await after.client("POST", "/run", { input: {} })).json.id;
  const exchanged = (await after.client("POST", "/run", { input: {} })).json.id;
  const texts = [(await again.take!).text, (await again.exchange!).text].join();
  expect([taken, exchanged].map((id) => texts.includes(id))).toEqual([true, true]);
  await after.client("POST", `/cancel/${stopped}`);
  expect((await again.stop!).json).toEqual({ jobsToStop: [stopped] });
  await after.worker("POST", `/job-stream/w0/${job}`, { output: "second" });
  expect((await again.stream!).json.stream).toMatchObject([{ output: "second" }]);
  expect(JSON.parse((await eventsAgain.next()).value!.data).output).toBe("second");
  await after.worker("POST", `/job-done/w0/${job}`, { output: "done" });
  expect((await again.statusSync!).json).toMatchObject({ status: "COMPLETED", output: "done" });
  expect(await second.end("SIGTERM")).toBe(0);
  expect((await again.runsync!).json.status).toBe("IN_QUEUE");
});

test("ask 14: held requests are answered by a server that ends in order, each with what there is", async () => {
  await using folder = await temporaryFolder();
  const { server, on, job } = await setup(folder.path);
  const asking = on(server);
  const answers = held(asking, job);
  await allHeard(server);
  expect(await server.end("SIGTERM")).toBe(0);
  const statuses = Object.entries(answers).map(async ([name, answer]) => [name, (await answer).status]);
  expect(Object.fromEntries(await Promise.all(statuses))).toEqual({
    ...{ take: 204, exchange: 204, stop: 204, statusSync: 200, stream: 200, runsync: 200 },
  });
});
