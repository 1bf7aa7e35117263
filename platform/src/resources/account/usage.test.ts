/** What limits an account, and what it has of it, as the account itself and the owner of the installation see it. */
import { expect, test } from "vitest";
import { setupFleet } from "../../../tests/fleet-world.ts";
import { setup } from "../../../tests/world.ts";
import { FakeCompute } from "../../ports/compute/fake-compute.ts";
import { standardQuotas } from "./quotas.ts";

const CPU = { cpu: { id: "cpu3c", vcpuCount: 2 } };

/** One of everything that a quota counts, except Pods. */
const ONE_OF_EACH: [path: string, body: object][] = [
  ["/v2/account/secrets", { name: "token", value: "v" }],
  ["/v2/account/api-keys", { name: "laptop", scopes: ["read-only"] }],
  ["/v2/account/s3-keys", { name: "laptop" }],
  ["/v2/registries", { name: "hub", username: "me", password: "p" }],
  ["/v2/templates", { name: "shell", image: "busybox", category: "CPU" }],
  ["/v2/network-volumes", { name: "models", size: 30, dataCenter: "EU-RO-1" }],
];

test("each quota has its limit and what is used of it", async () => {
  await using world = await setupFleet({
    endpoint: { workers: { min: 2, max: 5 } },
    quotas: { ...standardQuotas(4), volumes: 7 },
  });
  const before = (await world.call("GET", "/v2/account")).json.limits.quotas;
  for (const [path, body] of ONE_OF_EACH) expect((await world.call("POST", path, { body })).status, path).toBe(201);
  await world.pass(1);
  const { quotas } = (await world.call("GET", "/v2/account")).json.limits;
  expect(quotas).toEqual({
    workers: { limit: expect.any(Number), used: 2 },
    gpus: { limit: null, used: 0 },
    vcpu: { limit: null, used: 4 },
    pods: { limit: 1000, used: 0 },
    volumes: { limit: 7, used: 1 },
    gb: { limit: null, used: 30 },
    endpoints: { limit: 1000, used: 1 },
    keys: { limit: 1000, used: before.keys.used + 1 },
    secrets: { limit: 1000, used: 1 },
    registries: { limit: 1000, used: 1 },
    templates: { limit: 1000, used: before.templates.used + 1 },
    s3keys: { limit: 100, used: 1 },
  });
});

test("Pods count from their creation", async () => {
  await using world = await setup({ compute: (clock) => new FakeCompute(clock) });
  await world.call("POST", "/v2/pods", { body: { name: "a", image: "busybox", ...CPU } });
  expect((await world.call("GET", "/v2/account")).json.limits.quotas.pods).toEqual({ limit: 1000, used: 1 });
});

test("the rate limits are those of the caller, with this request counted", async () => {
  await using world = await setup();
  await world.call("GET", "/v2/account");
  await world.clock.advance(10_000);
  const { json, headers } = await world.call("GET", "/v2/account");
  expect(json.limits.requests).toEqual([
    { window: "minute", seconds: 60, limit: 600, used: 2, resetSeconds: 50 },
    { window: "hour", seconds: 3600, limit: 18_000, used: 2, resetSeconds: 3590 },
    { window: "day", seconds: 86_400, limit: 200_000, used: 2, resetSeconds: 86_390 },
  ]);
  expect(headers.get("ratelimit")).toContain('"minute";r=598;t=50');
});

test("what another account has counts nowhere here", async () => {
  await using world = await setup();
  const key = await world.strangersKey();
  await world.call("POST", "/v2/account/secrets", { body: { name: "token", value: "v" } });
  expect((await world.call("GET", "/v2/account", { key })).json.limits.quotas.secrets.used).toBe(0);
});

test("the owner of the installation sees what an account has, in the account and not in the list", async () => {
  await using world = await setup();
  await world.call("POST", "/v2/account/secrets", { body: { name: "token", value: "v" } });
  const { json } = await world.call("GET", `/v2/installation/accounts/${world.owner.account}`);
  expect([json.used.secrets, json.limits.secrets]).toEqual([1, 1000]);
  expect((await world.call("GET", "/v2/installation/accounts")).json.accounts[0].used).toBeUndefined();
});
