/** Commands on keys use the operations of the API: they refuse what the API refuses and may do what the owner may. */
import { standardQuotas } from "@millrace/platform/resources/account/quotas.ts";
import { expect, test } from "vitest";
import { setup } from "../../platform/tests/world.ts";
import { keyOperations } from "./operations.ts";

const all = { scopes: ["all"] };

test("a key that a command makes is one for the API, and may be exempt", async () => {
  await using world = await setup();
  const perform = await keyOperations(world.services, undefined);
  const { key, exempt } = await perform("createApiKey", { body: () => ({ ...all, exempt: true }) });
  expect(exempt).toBe(true);
  expect((await world.call("GET", "/v2/account/secrets", { key })).status).toBe(200);
});

test("what does not fit, lies in the past or is too much for the account is refused as by the API", async () => {
  await using world = await setup({ quotas: { ...standardQuotas(1), keys: 2 } });
  const perform = await keyOperations(world.services, undefined);
  const make = (body: object) => perform("createApiKey", { body: () => body });
  await expect(make({ ...all, name: "" })).rejects.toMatchObject({ code: "invalid" });
  await expect(make({ ...all, expiresAt: "2020-01-01T00:00:00Z" })).rejects.toMatchObject({ code: "rule-broken" });
  await make(all);
  await expect(make(all)).rejects.toMatchObject({ code: "over-quota" });
});

test("keys are those of the account that is named, and no other's", async () => {
  await using world = await setup();
  await world.services.accounts.create("team", "t@localhost");
  const [own, theirs] = await Promise.all([undefined, "team"].map((account) => keyOperations(world.services, account)));
  const { id } = await own!("createApiKey", { body: () => all });
  await expect(theirs!("deleteApiKey", { params: { id } })).rejects.toMatchObject({ code: "not-found" });
  expect((await theirs!("listApiKeys")).apiKeys).toEqual([]);
  await own!("deleteApiKey", { params: { id } });
});

test("what a command changes is in the audit log of the account, and what it reads is not", async () => {
  await using world = await setup();
  const perform = await keyOperations(world.services, undefined);
  const { id } = await perform("createApiKey", { body: () => ({ ...all, name: "ci" }) });
  await perform("listApiKeys");
  const [entry, ...others] = (await world.call("GET", "/v2/account/audit")).json.entries;
  expect(others).toEqual([]);
  expect(entry).toMatchObject({
    actor: { type: "cli", id: null },
    operation: "createApiKey",
    resource: { type: "api-keys", id },
    address: null,
    fields: ["scopes", "name"],
    outcome: "done",
  });
});
