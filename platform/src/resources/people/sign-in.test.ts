/** Signing in: by a link, by a password and by an invitation; how often, and what those learn who are refused. */
import { describe, expect, test, vi } from "vitest";
import { TestBrowser } from "../../../tests/browser.ts";
import { invited, linkOf, PASSWORD, signedInOwner, tokenIn } from "../../../tests/people.ts";
import { setup, type World } from "../../../tests/world.ts";
import { ATTEMPTS_OF_AN_ADDRESS, ATTEMPTS_OF_AN_EMAIL } from "./attempts.ts";
import { LINK_MS } from "./links.ts";

const SIGN_IN = "/v2/account/sign-in";
const LINK = `${SIGN_IN}/link`;
const ME = "/v2/account/me";
const EMAIL = "ada@example.com";

async function withPassword(world: World): Promise<TestBrowser> {
  const browser = await signedInOwner(world);
  await browser.call("PATCH", ME, { body: { email: EMAIL, newPassword: PASSWORD } });
  return browser;
}

const signIn = (browser: TestBrowser, password = PASSWORD, email = EMAIL) =>
  browser.call("POST", SIGN_IN, { body: { email, password } });

const reasonOf = ({ status, headers }: { status: number; headers: Headers }) => [status, headers.get("x-reason-code")];

describe("a one-time link", () => {
  test("signs in as the owner of the first account, who then does what a key that holds `all` does", async () => {
    await using world = await setup();
    const browser = new TestBrowser(world.url);
    const { status, json, headers } = await browser.call("POST", LINK, { body: { token: await linkOf(world) } });
    expect(status).toBe(200);
    expect(json.me).toMatchObject({
      type: "person",
      person: { id: world.owner.user, email: "owner@localhost", role: "owner", passwordSet: false },
      session: { signedInBy: "link" },
      key: null,
      account: { id: world.owner.account, name: "default" },
      scopes: ["all"],
      ownsInstallation: true,
    });
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-millrace-session=[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; Secure; SameSite=Strict$/,
      ),
    ]);
    expect(headers.get("cache-control")).toBe("no-store");
    expect((await browser.call("GET", ME)).json).toEqual(json.me);
    const secret = { name: "token", value: "v" };
    expect((await browser.call("POST", "/v2/account/secrets", { body: secret })).status).toBe(201);
    expect((await browser.call("GET", "/v2/installation/nodes")).status).toBe(200);
  });

  test("begins a session that lasts as long as the settings say", async () => {
    await using world = await setup({ sessionDays: "2,1" });
    const browser = new TestBrowser(world.url);
    const { headers } = await browser.call("POST", LINK, { body: { token: await linkOf(world) } });
    expect(headers.getSetCookie()).toEqual([expect.stringContaining("; Max-Age=172800;")]);
  });

  test("is good once, also for many who come at the same time", async () => {
    await using world = await setup();
    const body = { token: await linkOf(world) };
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => new TestBrowser(world.url).call("POST", LINK, { body })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401]);
    expect(reasonOf(await new TestBrowser(world.url).call("POST", LINK, { body }))).toEqual([401, "link-used"]);
  });

  test("is good for ten minutes", async () => {
    await using world = await setup();
    const body = { token: await linkOf(world) };
    await world.clock.advance(LINK_MS);
    expect(reasonOf(await new TestBrowser(world.url).call("POST", LINK, { body }))).toEqual([401, "link-used"]);
  });

  test("is not used up by whoever looks at its address", async () => {
    await using world = await setup();
    const token = await linkOf(world);
    for (const path of ["/sign-in", LINK, `/sign-in?token=${token}`])
      await world.call("GET", path, { key: null, headers: { accept: "text/html" } });
    expect((await new TestBrowser(world.url).call("POST", LINK, { body: { token } })).status).toBe(200);
  });

  test("does not sign in somebody who is disabled", async () => {
    await using world = await setup();
    const token = await linkOf(world);
    await invited(world, { role: "owner" });
    await world.call("PATCH", `/v2/account/people/${world.owner.user}`, { body: { disabled: true } });
    expect(reasonOf(await new TestBrowser(world.url).call("POST", LINK, { body: { token } }))).toEqual([
      401,
      "link-used",
    ]);
  });
});

describe("a password", () => {
  test("is set by whoever came by a link, and signs in from then on", async () => {
    await using world = await setup();
    expect((await world.call("GET", SIGN_IN, { key: null })).json.passwordSet).toBe(false);
    const first = await withPassword(world);
    expect((await first.call("GET", ME)).json.person).toMatchObject({ email: EMAIL, passwordSet: true });
    expect((await world.call("GET", SIGN_IN, { key: null })).json.passwordSet).toBe(true);
    const other = new TestBrowser(world.url);
    const { status, json } = await signIn(other, PASSWORD, "ADA@example.com");
    expect([status, json.me.session.signedInBy]).toEqual([200, "password"]);
  });

  test("needs an email address that somebody can sign in with", async () => {
    await using world = await setup();
    const browser = await signedInOwner(world);
    const refused = await browser.call("PATCH", ME, { body: { newPassword: PASSWORD } });
    expect([refused.status, refused.json.detail]).toEqual([
      400,
      "A password needs an email address to sign in with: send 'email' too.",
    ]);
  });

  test.each(["aaaaaaaaaaaa", `my ${EMAIL}`])("'%s' is refused as too easy", async (newPassword) => {
    await using world = await setup();
    const browser = await signedInOwner(world);
    const refused = await browser.call("PATCH", ME, { body: { email: EMAIL, newPassword } });
    expect(reasonOf(refused)).toEqual([400, "weak-password"]);
  });

  test("that is wrong, an email that nobody has and a person who is disabled get the same answer", async () => {
    await using world = await setup();
    await withPassword(world);
    await invited(world, { role: "viewer", email: "v@example.com" });
    const { people } = (await world.call("GET", "/v2/account/people")).json;
    const { id } = people.find(({ role }: { role: string }) => role === "viewer");
    await world.call("PATCH", `/v2/account/people/${id}`, { body: { disabled: true } });
    const browser = new TestBrowser(world.url);
    const wrong = await signIn(browser, "wrong horse battery");
    expect(reasonOf(wrong)).toEqual([401, "sign-in-failed"]);
    for (const [email, password] of [
      ["nobody@example.com", PASSWORD],
      ["v@example.com", PASSWORD],
      ["owner@localhost", PASSWORD],
    ] as const) {
      const refused = await signIn(browser, password, email);
      expect([refused.status, refused.text]).toEqual([401, wrong.text]);
    }
  });

  test("is looked at as often for an email that nobody has as for one that somebody has", async () => {
    await using world = await setup();
    await withPassword(world);
    const { passwords } = world;
    const before = passwords.asked;
    await signIn(new TestBrowser(world.url), "wrong horse battery");
    const forSomebody = passwords.asked - before;
    await signIn(new TestBrowser(world.url), "wrong horse battery", "nobody@example.com");
    expect(passwords.asked - before).toBe(2 * forSomebody);
  });

  test("that is wrong is refused without waiting for the audit log, whose write would tell that the email is known", async () => {
    await using world = await setup();
    await withPassword(world);
    const { promise: written, resolve: write } = Promise.withResolvers<void>();
    using refused = vi.spyOn(world.services.audit, "refused").mockReturnValue(written);
    expect(reasonOf(await signIn(new TestBrowser(world.url), "wrong horse battery"))).toEqual([401, "sign-in-failed"]);
    expect(refused).toHaveBeenCalledOnce();
    write();
  });

  test("is tried so often for an email in a quarter of an hour, and no more, also by many at once", async () => {
    await using world = await setup();
    await withPassword(world);
    const tries = Array.from({ length: ATTEMPTS_OF_AN_EMAIL + 5 }, () =>
      signIn(new TestBrowser(world.url), "wrong horse battery"),
    );
    const statuses = (await Promise.all(tries)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(ATTEMPTS_OF_AN_EMAIL);
    const refused = await signIn(new TestBrowser(world.url));
    expect(reasonOf(refused)).toEqual([429, "too-many-attempts"]);
    expect(Number(refused.headers.get("retry-after"))).toBe(900);
    await world.clock.advance(900_000);
    expect((await signIn(new TestBrowser(world.url))).status).toBe(200);
  });

  test("is tried so often from an address, whichever emails are tried", async () => {
    await using world = await setup();
    await withPassword(world);
    for (let i = 0; i < ATTEMPTS_OF_AN_ADDRESS; i++)
      expect((await signIn(new TestBrowser(world.url), PASSWORD, `p${i}@example.com`)).status).toBe(401);
    expect(reasonOf(await signIn(new TestBrowser(world.url)))).toEqual([429, "too-many-attempts"]);
    // A proxy on the same machine asks for many.
    const behind = await new TestBrowser(world.url).call("POST", SIGN_IN, {
      body: { email: EMAIL, password: PASSWORD },
      headers: { "x-forwarded-for": "198.51.100.1, 203.0.113.9" },
    });
    expect(behind.status).toBe(200);
  });

  test("counts in whichever form a keyboard writes it", async () => {
    await using world = await setup();
    const browser = await signedInOwner(world);
    await browser.call("PATCH", ME, { body: { email: EMAIL, newPassword: "cafe\u0301 et croissant" } });
    expect((await signIn(new TestBrowser(world.url), "caf\u00e9 et croissant")).status).toBe(200);
  });

  test("never appears in an answer, the log, or what is kept", async () => {
    await using world = await setup();
    const browser = await withPassword(world);
    await signIn(new TestBrowser(world.url), "wrong horse battery");
    const kept = await Promise.all(
      ["user", "session", "audit-entry"].map((kind) => world.store.list({ kind, limit: 100 })),
    );
    const everything = JSON.stringify([kept, world.logged]);
    for (const secret of [PASSWORD, "wrong horse", browser.pageToken!, browser.cookie!.split("=")[1]!])
      expect(everything).not.toContain(secret);
  });
});

describe("changing one's own password", () => {
  test("takes the present one, and ends every other session", async () => {
    await using world = await setup();
    await withPassword(world);
    const [here, there] = [new TestBrowser(world.url), new TestBrowser(world.url)];
    await signIn(here);
    await signIn(there);
    const newPassword = "another fine battery";
    const wrong = { newPassword, currentPassword: "wrong horse battery" };
    expect(reasonOf(await here.call("PATCH", ME, { body: { newPassword } }))).toEqual([403, "wrong-password"]);
    expect(reasonOf(await here.call("PATCH", ME, { body: wrong }))).toEqual([403, "wrong-password"]);
    expect((await there.call("GET", ME)).status).toBe(200);
    expect((await here.call("PATCH", ME, { body: { newPassword, currentPassword: PASSWORD } })).status).toBe(200);
    expect((await here.call("GET", ME)).status).toBe(200);
    expect(reasonOf(await there.call("GET", ME))).toEqual([401, "session-ended"]);
    expect((await signIn(there)).status).toBe(401);
    expect((await signIn(there, newPassword)).status).toBe(200);
  });

  test("takes none within ten minutes of a sign-in by link, and does later", async () => {
    await using world = await setup();
    await withPassword(world);
    const browser = await signedInOwner(world);
    expect((await browser.call("PATCH", ME, { body: { newPassword: "another fine battery" } })).status).toBe(200);
    await world.clock.advance(LINK_MS);
    const later = await browser.call("PATCH", ME, { body: { newPassword: "a third fine battery" } });
    expect(reasonOf(later)).toEqual([403, "wrong-password"]);
  });

  test("another email takes it too, and a name does not", async () => {
    await using world = await setup();
    await withPassword(world);
    const browser = new TestBrowser(world.url);
    await signIn(browser);
    expect((await browser.call("PATCH", ME, { body: { email: "b@example.com" } })).status).toBe(403);
    expect((await browser.call("PATCH", ME, { body: { name: "Ada" } })).json.person.name).toBe("Ada");
  });

  test("an email that somebody else signs in with is taken", async () => {
    await using world = await setup();
    const browser = await withPassword(world);
    await invited(world, { email: "v@example.com" });
    const { status } = await browser.call("PATCH", ME, { body: { email: "V@example.com" } });
    expect(status).toBe(409);
  });
});

describe("an invitation", () => {
  test("shows what it is for, and makes a person of that role who is signed in", async () => {
    await using world = await setup();
    const owner = await withPassword(world);
    const made = await owner.call("POST", "/v2/account/invitations", { body: { role: "viewer" } });
    expect([made.status, made.json.invitedBy, made.json.email]).toEqual([201, EMAIL, null]);
    const token = tokenIn(made.json.url);
    expect(made.json.url).toBe(`https://millrace.test/invitation#${token}`);
    const browser = new TestBrowser(world.url);
    const seen = await browser.call("POST", "/v2/account/invitations/look", { body: { token } });
    expect(seen.json).toMatchObject({ account: { name: "default" }, role: "viewer", email: null, invitedBy: EMAIL });
    const body = { token, email: "v@example.com", password: PASSWORD, name: "Vi" };
    const { status, json } = await browser.call("POST", `${SIGN_IN}/invitation`, { body });
    expect([status, json.me.person]).toEqual([
      200,
      expect.objectContaining({ role: "viewer", name: "Vi", passwordSet: true }),
    ]);
    expect((await browser.call("GET", "/v2/account/secrets")).status).toBe(200);
    const refused = await browser.call("POST", "/v2/account/secrets", { body: { name: "s", value: "v" } });
    expect([refused.status, refused.json.detail]).toEqual([403, "Your role lacks the scope 'secrets:write'."]);
    const again = { ...body, email: "w@example.com" };
    expect(reasonOf(await browser.call("POST", `${SIGN_IN}/invitation`, { body: again }))).toEqual([
      401,
      "invitation-used",
    ]);
    expect((await owner.call("GET", "/v2/account/invitations")).json.invitations).toEqual([]);
  });

  test("that names an email is for that one alone", async () => {
    await using world = await setup();
    const made = await world.call("POST", "/v2/account/invitations", {
      body: { role: "viewer", email: "v@example.com" },
    });
    const body = { token: tokenIn(made.json.url), email: "w@example.com", password: PASSWORD };
    const browser = new TestBrowser(world.url);
    expect((await browser.call("POST", `${SIGN_IN}/invitation`, { body })).status).toBe(400);
    expect(
      (await browser.call("POST", `${SIGN_IN}/invitation`, { body: { ...body, email: "V@example.com" } })).status,
    ).toBe(200);
  });

  test("with an email that somebody signs in with is refused, and can be used with another", async () => {
    await using world = await setup();
    await withPassword(world);
    const made = await world.call("POST", "/v2/account/invitations", { body: { role: "viewer" } });
    const body = { token: tokenIn(made.json.url), email: EMAIL, password: PASSWORD };
    const browser = new TestBrowser(world.url);
    expect((await browser.call("POST", `${SIGN_IN}/invitation`, { body })).status).toBe(409);
    expect(
      (await browser.call("POST", `${SIGN_IN}/invitation`, { body: { ...body, email: "w@example.com" } })).status,
    ).toBe(200);
  });

  test.each(["its time", "a withdrawal", "the end of who invited", "the fall of who invited"])(
    "ends with %s",
    async (by) => {
      await using world = await setup();
      const inviter = await invited(world, { role: "owner", email: "second@example.com" });
      const made = await inviter.call("POST", "/v2/account/invitations", {
        body: { role: "owner", expiresInHours: 2 },
      });
      const { id } = (await inviter.call("GET", ME)).json.person;
      if (by === "its time") await world.clock.advance(2 * 3_600_000);
      if (by === "a withdrawal") await world.call("DELETE", `/v2/account/invitations/${made.json.id}`);
      if (by === "the end of who invited") await world.call("DELETE", `/v2/account/people/${id}`);
      if (by === "the fall of who invited")
        await world.call("PATCH", `/v2/account/people/${id}`, { body: { role: "viewer" } });
      const body = { token: tokenIn(made.json.url), email: "x@example.com", password: PASSWORD };
      const browser = new TestBrowser(world.url);
      expect(reasonOf(await browser.call("POST", `${SIGN_IN}/invitation`, { body }))).toEqual([401, "invitation-used"]);
    },
  );
});

test("where a browser would not keep the cookie, the sign-in says so and leaves the link as it is", async () => {
  await using world = await setup({ publicUrl: "" });
  const token = await linkOf(world);
  const host = "millrace.lan:7420";
  const plain = (more: string, body: string) =>
    world.raw(
      `POST ${LINK} HTTP/1.1\r\nHost: ${host}\r\n${more}Content-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
  const refused = await plain(`Origin: http://${host}\r\n`, JSON.stringify({ token }));
  expect(refused).toMatch(/^HTTP\/1.1 400/);
  expect(refused).toContain("X-Reason-Code: needs-https");
  expect(refused).toContain("Browsers keep a session over https");
  expect(refused).not.toContain("Set-Cookie");
  const state = await world.raw(`GET ${SIGN_IN} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  expect(state).toContain('"possible":false');
  expect(await plain(`Origin: https://${host}\r\n`, JSON.stringify({ token }))).toMatch(/^HTTP\/1.1 200/);
});

test("sign-ins, and those that failed for an email that is known, are in the audit log", async () => {
  await using world = await setup();
  const owner = await withPassword(world);
  await signIn(new TestBrowser(world.url), "wrong horse battery");
  await signIn(new TestBrowser(world.url), PASSWORD, "nobody@example.com");
  await signIn(new TestBrowser(world.url));
  await owner.call("POST", "/v2/account/sign-out");
  const { entries } = (await world.call("GET", "/v2/account/audit")).json;
  type Entry = { operation: string; outcome: string; actor: { type: string; name: string }; fields: string[] };
  const told = entries.map(({ operation, outcome, actor, fields }: Entry) =>
    [operation, outcome, actor.type, actor.name, fields.join()].join(" ").trim(),
  );
  expect(told).toEqual([
    `signOut done person ${EMAIL}`,
    `signIn done person ${EMAIL}`,
    `signIn refused person ${EMAIL}`,
    "updateMe done person owner@localhost email,newPassword",
    "signInByLink done person owner@localhost",
  ]);
});
