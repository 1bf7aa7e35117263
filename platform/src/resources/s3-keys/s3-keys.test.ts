/** S3 keys: their secrets are shown once and never listed, their number is bounded, and a new master key reseals them. */
import { expect, test } from "vitest";
import { setup } from "../../../tests/world.ts";
import { standardQuotas } from "../account/quotas.ts";

const S3_KEYS = "/v2/account/s3-keys";

test("a new key shows its secret this once, and lists show all but that", async () => {
  await using world = await setup();
  const { status, json } = await world.call("POST", S3_KEYS, { body: { name: "laptop" } });
  expect([status, json]).toEqual([
    201,
    {
      id: expect.stringMatching(/^[a-z0-9]{14}$/),
      name: "laptop",
      accessKeyId: expect.stringMatching(/^MLR[A-Z2-7]{17}$/),
      secretAccessKey: expect.stringMatching(/^[\w-]{40}$/),
      createdAt: "2026-01-01T00:00:00.000Z",
    },
  ]);
  const { secretAccessKey, ...shown } = json;
  expect((await world.call("GET", S3_KEYS)).json).toEqual({ s3Keys: [shown] });
  const found = await world.services.s3Keys.find(json.accessKeyId);
  expect(found).toMatchObject({ account: world.owner.account, secret: secretAccessKey });
  expect(JSON.stringify(await world.store.list({ kind: "s3-key", limit: 10 }))).not.toContain(secretAccessKey);
  expect(world.logged.join()).not.toContain(secretAccessKey);
});

test("a deleted key is found no more", async () => {
  await using world = await setup();
  const { id, accessKeyId } = (await world.call("POST", S3_KEYS, { body: {} })).json;
  expect(await world.services.s3Keys.find(accessKeyId)).toBeDefined();
  expect((await world.call("DELETE", `${S3_KEYS}/${id}`)).status).toBe(204);
  expect(await world.services.s3Keys.find(accessKeyId)).toBeUndefined();
});

test("a key that expires cannot make one that does not", async () => {
  await using world = await setup();
  const expiresAt = world.clock.now() + 60_000;
  const key = await world.newKey({ scopes: ["network-volumes:write"], expiresAt });
  const { status, json } = await world.call("POST", S3_KEYS, { key, body: {} });
  expect([status, json.detail]).toEqual([403, expect.stringContaining("an S3 key does not")]);
});

test("who may not write volumes cannot make a key that does", async () => {
  await using world = await setup();
  const key = await world.newKey({ scopes: ["network-volumes:read", "api-keys:write"] });
  expect((await world.call("POST", S3_KEYS, { key, body: {} })).status).toBe(403);
  expect((await world.call("GET", S3_KEYS, { key })).status).toBe(200);
});

test("an account has no more of them than its quota", async () => {
  await using world = await setup({ quotas: { ...standardQuotas(1), s3keys: 1 } });
  await world.call("POST", S3_KEYS, { body: {} });
  const { status, json } = await world.call("POST", S3_KEYS, { body: {} });
  expect([status, json.detail]).toEqual([403, expect.stringContaining("1 S3 keys, and may have 1 (quota 's3keys')")]);
});

test("every sealed secret is there to be sealed anew", async () => {
  await using world = await setup();
  const { id } = (await world.call("POST", S3_KEYS, { body: {} })).json;
  const seen: string[] = [];
  const changed = await world.services.s3Keys.reseal((sealed, key) => {
    seen.push(key);
    return sealed;
  });
  expect([changed, seen]).toEqual([1, [id]]);
});
