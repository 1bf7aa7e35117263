/** Settings that could never start or never end are refused in the request, instead of making a worker fail. */
import { describe, expect, test } from "vitest";
import { setup, type World } from "../../../tests/world.ts";

const ENDPOINTS = "/v2/serverless";
const CPU = { name: "text", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
const SECONDS = "must be a whole number of seconds from 1 to 86400";

/** The answers to creating an endpoint with these fields, and to changing an existing one to them. */
async function answers(world: World, fields: object, made: object = {}) {
  const { id } = (await world.call("POST", ENDPOINTS, { body: { ...CPU, ...made } })).json;
  return [
    await world.call("POST", ENDPOINTS, { body: { ...CPU, ...made, ...fields } }),
    await world.call("PATCH", `${ENDPOINTS}/${id}`, { body: fields }),
  ];
}

test.each([
  [{ ports: ["80/http", "65536/tcp"] }, ["$.ports[1]: must be a port from 1 to 65535"]],
  [{ ports: ["70001/tcp"] }, ["$.ports[0]: must be a port from 1 to 65535"]],
  [{ image: "host:relative/dir" }, ["$.image: 'host:' must be followed by an absolute path, such as host:/srv/app"]],
  [{ image: "host:" }, ["$.image: 'host:' must be followed by an absolute path, such as host:/srv/app"]],
  [{ image: "host:latest" }, ["$.image: 'host:' must be followed by an absolute path, such as host:/srv/app"]],
  [{ timeout: 4999 }, ["$.timeout: must be >= 5000"]],
  ...["soon", "0", "-5", "1.5", "86401", "1e3", " 30", "９"].map((text): [object, string[]] => [
    { env: { RUNPOD_INIT_TIMEOUT: text } },
    [`$.env.RUNPOD_INIT_TIMEOUT: ${SECONDS}`],
  ]),
  [{ env: { MILLRACE_INIT_TIMEOUT: "no" } }, [`$.env.MILLRACE_INIT_TIMEOUT: ${SECONDS}`]],
  [
    { env: { MILLRACE_INIT_TIMEOUT: "no", RUNPOD_INIT_TIMEOUT: "no" }, image: "host:", ports: ["99999/tcp"] },
    [
      "$.image: 'host:' must be followed by an absolute path, such as host:/srv/app",
      "$.ports[0]: must be a port from 1 to 65535",
      `$.env.MILLRACE_INIT_TIMEOUT: ${SECONDS}`,
      `$.env.RUNPOD_INIT_TIMEOUT: ${SECONDS}`,
    ],
  ],
])("422 for a new endpoint and for a change: %j", async (fields, errors) => {
  await using world = await setup();
  for (const { status, json } of await answers(world, fields)) expect([status, json.errors]).toEqual([422, errors]);
});

test.each([
  [{ ports: ["1/tcp", "65535/http"] }],
  [{ image: "host" }],
  [{ image: "host:/srv/app" }],
  [{ image: "hosted/app:1" }],
  [{ timeout: 5000 }],
  [{ env: { RUNPOD_INIT_TIMEOUT: "1", MILLRACE_INIT_TIMEOUT: "86400" } }],
  [{ env: { RUNPOD_INIT_TIMEOUT: "" } }],
  [{ env: { RUNPOD_INIT_TIMEOUT: "{{ MILLRACE_SECRET_patience }}0" } }],
])("taken: %j", async (fields) => {
  await using world = await setup();
  expect((await answers(world, fields)).map(({ status }) => status)).toEqual([201, 200]);
});

describe("where a load-balanced application listens", () => {
  test.each(["PORT", "PORT_HEALTH"])("400: nonsense in %s", async (name) => {
    await using world = await setup();
    for (const { status, json } of await answers(world, { env: { [name]: "http" } }, { type: "LOAD_BALANCER" }))
      expect([status, json.detail]).toEqual([400, `'${name}' must be a port from 1 to 65535.`]);
  });

  test("a secret in it is judged at the boot, and a queue-based endpoint may mean something else by it", async () => {
    await using world = await setup();
    const secret = { env: { PORT: "{{ MILLRACE_SECRET_port }}" } };
    const balanced = await answers(world, secret, { type: "LOAD_BALANCER" });
    const queued = await answers(world, { env: { PORT: "left" } });
    expect([...balanced, ...queued].map(({ status }) => status)).toEqual([201, 200, 201, 200]);
  });
});

test("what an older release let in does not stand in the way of other changes", async () => {
  await using world = await setup();
  const { id } = (await world.call("POST", ENDPOINTS, { body: CPU })).json;
  const record = (await world.store.get("endpoint", id))!;
  const old = { ...record.doc, ports: ["70000/tcp"], env: { RUNPOD_INIT_TIMEOUT: "soon" }, timeout: 1, image: "host:" };
  await world.store.commit([{ do: "patch", kind: "endpoint", id, set: old }]);
  const { status, json } = await world.call("PATCH", `${ENDPOINTS}/${id}`, { body: { name: "renamed" } });
  expect([status, json]).toEqual([200, expect.objectContaining({ name: "renamed", timeout: 1, image: "host:" })]);
});
