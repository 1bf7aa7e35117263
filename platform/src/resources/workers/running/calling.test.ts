/** A worker that the fleet started can call the platform for as long as it lives. */
import { expect, test } from "vitest";
import { type FleetWorld, type Program, setupFleet } from "../../../../tests/fleet-world.ts";
import { call } from "../../../../tests/world.ts";

async function started(world: FleetWorld): Promise<Program> {
  await world.submit();
  await world.settle();
  return world.running()[0]!;
}

/** Makes a request with the variables that the program has. */
const ask = ({ env }: Program, method: string, path: string, body?: object) =>
  call(env.RUNPOD_ENDPOINT_BASE_URL!, method, path, { key: env.RUNPOD_API_KEY!, body });

test("its variables lead to the endpoints of its account", async () => {
  await using world = await setupFleet();
  const worker = await started(world);
  expect(worker.env).toMatchObject({
    RUNPOD_ENDPOINT_BASE_URL: `${world.url}/v2`,
    MILLRACE_ENDPOINT_BASE_URL: `${world.url}/v2`,
    MILLRACE_API_KEY: worker.env.RUNPOD_API_KEY,
    ...{ RUNPOD_DC_ID: "EU-RO-1", MILLRACE_DC_ID: "EU-RO-1", RUNPOD_VOLUME_ID: "", RUNPOD_PUBLIC_IP: "203.0.113.5" },
  });
  expect((await ask(worker, "POST", `/${world.endpoint}/run`, { input: {} })).json.status).toBe("IN_QUEUE");
  expect((await ask(worker, "GET", "/serverless")).status).toBe(403);
});

test("its key ends with it", async () => {
  await using world = await setupFleet();
  const worker = await started(world);
  expect((await ask(worker, "GET", `/${world.endpoint}/health`)).status).toBe(200);
  worker.instance.exit({ code: 1 });
  await world.settle();
  expect((await ask(worker, "GET", `/${world.endpoint}/health`)).status).toBe(401);
});

test("its key is still good after a crash of the server", async () => {
  const before = await setupFleet();
  const worker = await started(before);
  await using world = await before.crash();
  const { status } = await world.call("GET", `/v2/${world.endpoint}/health`, { key: worker.env.RUNPOD_API_KEY! });
  expect(status).toBe(200);
});

test("a key that its endpoint names, also as a secret, stands in place of its own", async () => {
  await using world = await setupFleet({ endpoint: { env: { RUNPOD_API_KEY: "{{ MILLRACE_SECRET_mine }}" } } });
  await world.call("POST", "/v2/account/secrets", { body: { name: "mine", value: "mlr_of_my_own" } });
  expect((await started(world)).env.RUNPOD_API_KEY).toBe("mlr_of_my_own");
});

test("it is listed in the data center that it was told", async () => {
  await using world = await setupFleet();
  await started(world);
  const { workers } = (await world.call("GET", `/v2/serverless/${world.endpoint}/workers`)).json;
  expect(workers).toMatchObject([{ dataCenterId: "EU-RO-1" }]);
});
