/** What the operator decides about an account by API: whether it is suspended, how much it may send, its name and its keys. */
import { expect, test } from "vitest";
import { TestBrowser } from "../../../tests/browser.ts";
import { setupFleet } from "../../../tests/fleet-world.ts";
import { tokenIn } from "../../../tests/people.ts";
import { CPU_POD } from "../../../tests/pod-world.ts";
import { setup, type World } from "../../../tests/world.ts";

const ACCOUNTS = "/v2/installation/accounts";

async function team(world: World, name = "team-a") {
  const { id, key } = (await world.call("POST", ACCOUNTS, { body: { name } })).json;
  const patch = (body: object) => world.call("PATCH", `${ACCOUNTS}/${id}`, { body });
  return { id, key, patch, at: `${ACCOUNTS}/${id}` };
}

test("the keys of a suspended account are refused at once, with what the operator says, and work again afterwards", async () => {
  await using world = await setup();
  const { key, patch } = await team(world);
  expect((await world.call("GET", "/v2/account", { key })).status).toBe(200);
  const { json } = await patch({ suspended: true, suspendedReason: "invoice 7 is open" });
  expect(json).toMatchObject({
    suspended: true,
    suspendedReason: "invoice 7 is open",
    refusalCode: "account-suspended",
  });
  const refused = await world.call("GET", "/v2/account", { key });
  expect([refused.status, refused.headers.get("x-reason-code")]).toEqual([403, "account-suspended"]);
  expect(refused.json.detail).toContain("invoice 7 is open");
  expect((await patch({ suspended: false })).json).toMatchObject({
    ...{ suspended: false, suspendedAt: null, suspendedReason: null, refusal: null },
  });
  expect((await world.call("GET", "/v2/account", { key })).status).toBe(200);
});

test("a suspended account's people and their tickets are refused too", async () => {
  await using world = await setup();
  const { id, key, patch } = await team(world);
  const { url } = (await world.call("POST", "/v2/account/invitations", { key, body: { role: "owner" } })).json;
  const browser = new TestBrowser(world.url);
  const person = { token: tokenIn(url), email: "ada@team.test", password: "correct horse" };
  await browser.call("POST", "/v2/account/sign-in/invitation", { body: person });
  const { session } = (await browser.call("GET", "/v2/account/me")).json;
  expect(await world.services.terminalTickets.standing(session.id)).toMatchObject({ account: id });
  await patch({ suspended: true });
  await world.clock.advance(1000);
  const refused = await browser.call("GET", "/v2/account/me");
  expect([refused.status, refused.headers.get("x-reason-code")]).toEqual([403, "account-suspended"]);
  expect(await world.services.terminalTickets.standing(session.id)).toBeUndefined();
});

test("a person of a suspended account can sign out, and stays signed out when it is resumed", async () => {
  await using world = await setup();
  const { key, patch } = await team(world);
  const { url } = (await world.call("POST", "/v2/account/invitations", { key, body: { role: "owner" } })).json;
  const browser = new TestBrowser(world.url);
  const person = { token: tokenIn(url), email: "ada@team.test", password: "correct horse" };
  await browser.call("POST", "/v2/account/sign-in/invitation", { body: person });
  await patch({ suspended: true });
  await world.clock.advance(1000);
  expect((await browser.call("GET", "/v2/account/me")).status).toBe(403);
  const headers = browser.headers();
  expect((await browser.call("POST", "/v2/account/sign-out")).status).toBe(204);
  await patch({ suspended: false });
  await world.clock.advance(1000);
  const ended = await world.call("GET", "/v2/account/me", { key: null, headers });
  expect([ended.status, ended.headers.get("x-reason-code")]).toEqual([401, "session-ended"]);
});

test("the first account cannot be suspended, and a reason needs a suspension", async () => {
  await using world = await setup();
  const first = await world.call("PATCH", `${ACCOUNTS}/${world.owner.account}`, { body: { suspended: true } });
  expect([first.status, first.json.detail]).toEqual([400, expect.stringContaining("cannot be suspended")]);
  const { patch } = await team(world);
  const lonely = await patch({ suspendedReason: "why" });
  expect([lonely.status, lonely.json.detail]).toEqual([
    400,
    expect.stringContaining("needs an account that is suspended"),
  ]);
});

test("nothing new starts in a suspended account, and what runs continues", async () => {
  await using world = await setupFleet();
  const { id, key, patch } = await team(world);
  const pod = (await world.call("POST", "/v2/pods", { key, body: CPU_POD })).json;
  await world.pass(3);
  await patch({ suspended: true });
  await world.pass(3);
  expect((await world.store.get("pod", pod.id))?.doc).toMatchObject({ status: "RUNNING" });
  await patch({ suspended: false });
  await world.call("POST", `/v2/pods/${pod.id}/action`, { key, body: { action: "stop" } });
  await patch({ suspended: true });
  await expect(world.services.spending.assert(id)).rejects.toMatchObject({ reason: "account-suspended" });
});

test("an account has rate limits of its own, also where the installation has none, and returns to those of the installation", async () => {
  await using world = await setup();
  const { key, patch } = await team(world);
  const { json } = await patch({ requestLimits: { minute: 2, hour: 100, day: 1000 } });
  expect(json.requestLimits).toEqual({ minute: 2, hour: 100, day: 1000 });
  const statuses = [];
  for (let n = 0; n < 3; n++) statuses.push((await world.call("GET", "/v2/account/me", { key })).status);
  expect(statuses).toEqual([200, 200, 429]);
  expect((await patch({ requestLimits: null })).json.requestLimits).toBeNull();
  expect((await world.call("GET", "/v2/account/me", { key })).status).toBe(200);
  expect((await patch({ requestLimits: { minute: 0, hour: 1, day: 1 } })).status).toBe(422);
});

test("an account is renamed, unless the name is taken, and two changes at once both happen", async () => {
  await using world = await setup();
  const { at, patch } = await team(world);
  await team(world, "team-b");
  expect((await patch({ name: "Team-B" })).status).toBe(409);
  await Promise.all([patch({ name: "lab" }), patch({ quotas: { pods: 5 } }), patch({ quotas: { gpus: 2 } })]);
  expect((await world.call("GET", at)).json).toMatchObject({ name: "lab", quotas: { pods: 5, gpus: 2 } });
});

test("sending back what was read of an account changes nothing, not even the webhook of which only the origin is shown", async () => {
  await using world = await setup();
  const { at, id, patch } = await team(world);
  await patch({ spendWebhook: "https://hooks.test/spend?token=t", suspended: true, suspendedReason: "late" });
  const before = await world.store.get("account", id);
  const { name, suspended, suspendedReason, requestLimits, spendWebhook, quotas } = (await world.call("GET", at)).json;
  expect(spendWebhook).toBe("https://hooks.test");
  await world.clock.advance(60_000);
  await patch({ name, suspended, suspendedReason, requestLimits, spendWebhook, quotas });
  expect(await world.store.get("account", id)).toEqual(before);
});

test("a payment with a reference is credited once, however often it is sent, and never with another amount", async () => {
  await using world = await setup();
  const { at } = await team(world);
  const credit = (body: object) => world.call("POST", `${at}/credit`, { body });
  const sent = await Promise.all([1, 2, 3].map(() => credit({ amount: 25, reference: "invoice-7" })));
  expect(sent.map(({ status, json }) => [status, json.balance])).toEqual([1, 2, 3].map(() => [200, 25]));
  const other = await credit({ amount: 26, reference: "invoice-7" });
  expect([other.status, other.json.detail]).toEqual([409, expect.stringContaining("'invoice-7' was already credited")]);
  expect((await credit({ amount: 5, reference: "invoice-8" })).json.balance).toBe(30);
});

test("the operator lists, makes and revokes keys of an account, and no key is ever shown again", async () => {
  await using world = await setup();
  const { at, key: first } = await team(world);
  const made = await world.call("POST", `${at}/keys`, { body: { name: "ci", scopes: ["read-only"], exempt: true } });
  expect([made.status, made.json]).toMatchObject([201, { name: "ci", scopes: ["read-only"], exempt: true }]);
  const { key, id } = made.json;
  expect((await world.call("GET", "/v2/account/me", { key })).json.account.name).toBe("team-a");
  const listed = await world.call("GET", `${at}/keys`);
  expect(listed.json.apiKeys.map(({ name }: { name: string }) => name).toSorted()).toEqual(["ci", "owner"]);
  expect(JSON.stringify(listed.json)).not.toContain(key);
  expect(JSON.stringify(listed.json)).not.toContain(first);
  expect((await world.call("DELETE", `${at}/keys/${id}`)).status).toBe(204);
  expect((await world.call("GET", "/v2/account/me", { key })).status).toBe(401);
});

test("keys of one account are not found in another, and an operator's key that expires makes none that lasts longer", async () => {
  await using world = await setup();
  const a = await team(world);
  const b = await team(world, "team-b");
  const [{ id }] = (await world.call("GET", `${a.at}/keys`)).json.apiKeys;
  expect((await world.call("DELETE", `${b.at}/keys/${id}`)).status).toBe(404);
  expect((await world.call("GET", `${ACCOUNTS}/zzzzzzzzzzzzzz/keys`)).status).toBe(404);
  const expiring = await world.newKey({ scopes: ["all"], expiresAt: world.clock.now() + 60_000 });
  const longer = await world.call("POST", `${a.at}/keys`, { key: expiring, body: { scopes: ["all"] } });
  expect([longer.status, longer.json.detail]).toEqual([403, expect.stringContaining("expire no later")]);
});
