/** People of an account: who may change whom, that an owner is left, and that whoever is out is out at once. */
import { describe, expect, test } from "vitest";
import { TestBrowser } from "../../../tests/browser.ts";
import { invited, PASSWORD, signedInOwner } from "../../../tests/people.ts";
import { setup, type World } from "../../../tests/world.ts";
import type { AuditEntry } from "../audit/model.ts";

const PEOPLE = "/v2/account/people";
const ME = "/v2/account/me";
const SECRETS = "/v2/account/secrets";

const idOf = async (browser: TestBrowser): Promise<string> => (await browser.call("GET", ME)).json.person.id;
const reasonOf = ({ status, headers }: { status: number; headers: Headers }) => [status, headers.get("x-reason-code")];

describe("roles", () => {
  test.each([
    ["owner", 201, 200, 201],
    ["member", 201, 403, 403],
    ["viewer", 403, 403, 403],
  ] as const)(
    "a person who is %s: secrets %i, account %i, invitations %i",
    async (role, secret, account, invitation) => {
      await using world = await setup();
      const browser = await invited(world, { role });
      expect((await browser.call("GET", SECRETS)).status).toBe(200);
      expect((await browser.call("POST", SECRETS, { body: { name: "s", value: "v" } })).status).toBe(secret);
      expect((await browser.call("PATCH", "/v2/account", { body: { spendLimit: 5 } })).status).toBe(account);
      const asked = await browser.call("POST", "/v2/account/invitations", { body: { role: "viewer" } });
      expect(asked.status).toBe(invitation);
    },
  );

  test("nobody gives or takes away more than they may themselves", async () => {
    await using world = await setup();
    const key = await world.newKey({ scopes: ["read-only", "account:write"] });
    const member = await idOf(await invited(world, { role: "member" }));
    const invite = (role: string) => world.call("POST", "/v2/account/invitations", { key, body: { role } });
    expect((await invite("viewer")).status).toBe(201);
    for (const role of ["owner", "member"]) expect(reasonOf(await invite(role))).toEqual([403, "role-beyond"]);
    for (const id of [world.owner.user, member])
      expect(reasonOf(await world.call("PATCH", `${PEOPLE}/${id}`, { key, body: { disabled: true } }))).toEqual([
        403,
        "role-beyond",
      ]);
    expect(reasonOf(await world.call("DELETE", `${PEOPLE}/${member}`, { key }))).toEqual([403, "role-beyond"]);
  });

  test("a key that expires makes no person who stays", async () => {
    await using world = await setup();
    const key = await world.newKey({ expiresAt: world.clock.now() + 1000 });
    expect((await world.call("POST", "/v2/account/invitations", { key, body: { role: "viewer" } })).status).toBe(403);
  });

  test("a role that may do more counts with the next request; one that may do less signs out", async () => {
    await using world = await setup();
    const browser = await invited(world, { role: "viewer" });
    const path = `${PEOPLE}/${await idOf(browser)}`;
    await world.call("PATCH", path, { body: { role: "member" } });
    expect((await browser.call("POST", SECRETS, { body: { name: "s", value: "v" } })).status).toBe(201);
    await world.call("PATCH", path, { body: { role: "viewer" } });
    expect(reasonOf(await browser.call("GET", ME))).toEqual([401, "session-ended"]);
  });
});

describe("the last owner", () => {
  test.each([
    ["PATCH", { role: "member" }],
    ["PATCH", { disabled: true }],
    ["DELETE", undefined],
  ] as const)("cannot go: %s %o", async (method, body) => {
    await using world = await setup();
    const path = `${PEOPLE}/${world.owner.user}`;
    expect(reasonOf(await world.call(method, path, { body }))).toEqual([400, "last-owner"]);
    await invited(world, { role: "owner" });
    expect((await world.call(method, path, { body })).status).toBeLessThan(300);
  });

  test("is left when two owners put each other out at once", async () => {
    await using world = await setup();
    const first = await signedInOwner(world);
    const second = await invited(world, { role: "owner", by: first });
    const [one, two] = [await idOf(first), await idOf(second)];
    const answers = await Promise.all([
      first.call("DELETE", `${PEOPLE}/${two}`),
      second.call("DELETE", `${PEOPLE}/${one}`),
    ]);
    expect(answers.map(({ status }) => status).sort()).not.toEqual([204, 204]);
    expect((await world.call("GET", PEOPLE)).json.people).toHaveLength(1);
  });
});

describe("somebody who is out", () => {
  const ways: [string, (world: World, id: string) => Promise<unknown>][] = [
    ["removed", (world, id) => world.call("DELETE", `${PEOPLE}/${id}`)],
    ["disabled", (world, id) => world.call("PATCH", `${PEOPLE}/${id}`, { body: { disabled: true } })],
    ["signed out by an owner", (world, id) => world.call("DELETE", `${PEOPLE}/${id}/sessions`)],
  ];

  test.each(ways)("because %s has no session from then on", async (_how, put) => {
    await using world = await setup();
    const browser = await invited(world, { role: "member" });
    const id = await idOf(browser);
    await put(world, id);
    expect(reasonOf(await browser.call("GET", SECRETS))).toEqual([401, "session-ended"]);
  });

  test("and comes back in has to sign in again", async () => {
    await using world = await setup();
    const browser = await invited(world, { role: "member", email: "m@example.com" });
    const path = `${PEOPLE}/${await idOf(browser)}`;
    await world.call("PATCH", path, { body: { disabled: true } });
    await world.call("PATCH", path, { body: { disabled: false } });
    expect((await browser.call("GET", ME)).status).toBe(401);
    const body = { email: "m@example.com", password: PASSWORD };
    expect((await new TestBrowser(world.url).call("POST", "/v2/account/sign-in", { body })).status).toBe(200);
  });

  test.each([
    [false, 200],
    [true, 401],
  ])("leaves the API keys, unless they are revoked (%s)", async (revokeKeys, status) => {
    await using world = await setup();
    const browser = await invited(world, { role: "member" });
    const { key } = (await browser.call("POST", "/v2/account/api-keys", { body: { scopes: ["secrets:read"] } })).json;
    await world.call("DELETE", `${PEOPLE}/${await idOf(browser)}?revokeKeys=${revokeKeys}`);
    expect((await world.call("GET", SECRETS, { key })).status).toBe(status);
  });
});

describe("own sessions", () => {
  test("are listed, ended one by one, all but this one, and everywhere", async () => {
    await using world = await setup();
    const [one, two, three] = [await signedInOwner(world), await signedInOwner(world), await signedInOwner(world)];
    const { sessions } = (await one.call("GET", "/v2/account/sessions")).json;
    expect(sessions).toHaveLength(3);
    expect(sessions.filter(({ current }: { current: boolean }) => current)).toHaveLength(1);
    expect(sessions[0]).toMatchObject({ address: "127.0.0.1", signedInBy: "link" });
    const { id } = (await two.call("GET", ME)).json.session;
    expect((await one.call("DELETE", `/v2/account/sessions/${id}`)).status).toBe(204);
    expect((await two.call("GET", ME)).status).toBe(401);
    await one.call("DELETE", "/v2/account/sessions?others=true");
    expect([(await three.call("GET", ME)).status, (await one.call("GET", ME)).status]).toEqual([401, 200]);
    await one.call("DELETE", "/v2/account/sessions");
    expect([one.cookie, (await one.call("GET", ME)).status]).toEqual([undefined, 401]);
  });

  test("of another person do not exist", async () => {
    await using world = await setup();
    const [owner, member] = [await signedInOwner(world), await invited(world, { role: "member" })];
    const { id } = (await owner.call("GET", ME)).json.session;
    expect((await member.call("DELETE", `/v2/account/sessions/${id}`)).status).toBe(404);
    expect((await owner.call("GET", ME)).status).toBe(200);
  });

  test("end after a week without use, and not while they are used", async () => {
    await using world = await setup();
    const [used, idle] = [await signedInOwner(world), await signedInOwner(world)];
    world.clock.jump(6 * 86_400_000);
    await used.call("GET", ME);
    // The last use is written within a minute.
    await world.clock.advance(60_000);
    world.clock.jump(86_400_000);
    expect([(await used.call("GET", ME)).status, (await idle.call("GET", ME)).status]).toEqual([200, 401]);
  });
});

describe("the audit log", () => {
  const SESSIONS = "/v2/account/sessions";

  /** What the log has of ended sessions, the newest first. */
  async function told(world: World) {
    const { entries } = (await world.call("GET", "/v2/account/audit")).json as { entries: AuditEntry[] };
    return entries
      .filter(({ operation }) => operation.startsWith("endSession"))
      .map(({ operation, outcome, actor, resource }) => [operation, outcome, actor.type, actor.id, resource]);
  }

  test("names the person who ended a session, and which one", async () => {
    await using world = await setup();
    const [here, there] = [await signedInOwner(world), await signedInOwner(world)];
    const { id } = (await there.call("GET", ME)).json.session;
    expect((await here.call("DELETE", `${SESSIONS}/${id}`)).status).toBe(204);
    expect((await there.call("GET", ME)).status).toBe(401);
    expect(await told(world)).toEqual([["endSession", "done", "person", world.owner.user, { type: "sessions", id }]]);
  });

  test.each([
    ["?others=true", 200],
    ["", 401],
  ])("has one entry for all sessions that were ended together (%s)", async (query, afterwards) => {
    await using world = await setup();
    const browsers = await Promise.all([1, 2, 3].map(() => signedInOwner(world)));
    expect((await browsers[0]!.call("DELETE", `${SESSIONS}${query}`)).status).toBe(204);
    const states = await Promise.all(browsers.map(async (browser) => (await browser.call("GET", ME)).status));
    expect(states).toEqual([afterwards, 401, 401]);
    expect(await told(world)).toEqual([
      ["endSessions", "done", "person", world.owner.user, { type: "sessions", id: null }],
    ]);
  });

  test("has nothing of sessions that were not ended: another person's, and those that are not there", async () => {
    await using world = await setup();
    const [owner, viewer] = [await signedInOwner(world), await invited(world)];
    const { id } = (await owner.call("GET", ME)).json.session;
    for (const one of [id, "aaaaaaaaaaaaaa"])
      expect((await viewer.call("DELETE", `${SESSIONS}/${one}`)).status).toBe(404);
    expect((await owner.call("GET", ME)).status).toBe(200);
    expect(await told(world)).toEqual([]);
  });
});
