/** Signing in on the command line by a code that a person approves in the console. */
import { expect, test } from "vitest";
import { TestBrowser } from "../../../tests/browser.ts";
import { browserAt, setupSigningOn } from "../../../tests/identity/signing-on.ts";
import { invited, PASSWORD, signedInOwner } from "../../../tests/people.ts";
import { setup, type World } from "../../../tests/world.ts";
import { CODES_OF_A_PERSON, CODES_OF_AN_ADDRESS } from "./attempts.ts";
import { CODE_MS } from "./code-logins.ts";

const CODES = "/v2/account/sign-in/codes";
const COLLECT = `${CODES}/collect`;
const LOOK = "/v2/account/codes/look";
const ANSWER = "/v2/account/codes/answer";
const ME = "/v2/account/me";

const reasonOf = ({ status, headers }: { status: number; headers: Headers }) => [status, headers.get("x-reason-code")];
const OVER = [401, "code-over"];

/** A command line, which says where it is as a page would. */
const ask = async (world: World, device = "laptop") =>
  (await new TestBrowser(world.url).call("POST", CODES, { body: { device } })).json;
const collect = (world: World, deviceCode: string) =>
  new TestBrowser(world.url).call("POST", COLLECT, { body: { deviceCode } });
const answer = (browser: TestBrowser, userCode: string, approve = true) =>
  browser.call("POST", ANSWER, { body: { userCode, approve } });

test("gives a session with the person's role, listed with the others, named in the audit log, and ended like them", async () => {
  await using world = await setup();
  const browser = await invited(world, { role: "member" });
  const { deviceCode, userCode, url } = await ask(world);
  expect(userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  expect(url).toBe(`https://millrace.test/code#${userCode}`);
  expect((await collect(world, deviceCode)).status).toBe(204);
  const seen = await browser.call("POST", LOOK, { body: { userCode } });
  expect(seen.json).toMatchObject({ device: "laptop", address: "127.0.0.1" });
  expect((await answer(browser, userCode.replace("-", "").toLowerCase())).status).toBe(204);
  const { key, me } = (await collect(world, deviceCode)).json;
  expect(key).toMatch(/^mls_[\w-]{43}$/);
  expect(me).toMatchObject({ type: "person", person: { role: "member" }, session: { signedInBy: "code" } });
  expect((await world.call("GET", ME, { key })).json).toEqual(me);
  const { sessions } = (await browser.call("GET", "/v2/account/sessions")).json;
  expect(sessions[0]).toMatchObject({ userAgent: "millrace login on laptop", signedInBy: "code", current: false });
  const { entries } = (await world.call("GET", "/v2/account/audit")).json;
  expect(entries).toContainEqual(
    expect.objectContaining({
      operation: "signInByCode",
      actor: expect.objectContaining({ name: "member@example.com" }),
    }),
  );
  await browser.call("DELETE", `/v2/account/sessions/${sessions[0].id}`);
  await world.clock.advance(1000);
  expect(reasonOf(await world.call("GET", ME, { key }))).toEqual([401, "session-ended"]);
});

test("works once, for ten minutes, and also for many who ask at the same time", async () => {
  await using world = await setup();
  const browser = await signedInOwner(world);
  const { deviceCode, userCode } = await ask(world);
  await answer(browser, userCode);
  const answers = await Promise.all(Array.from({ length: 5 }, () => collect(world, deviceCode)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401]);
  expect(reasonOf(await collect(world, deviceCode))).toEqual(OVER);
  const late = await ask(world);
  await world.clock.advance(CODE_MS);
  expect(reasonOf(await collect(world, late.deviceCode))).toEqual(OVER);
  expect(reasonOf(await answer(browser, late.userCode))).toEqual(OVER);
});

test("is answered once, and a refused one gives nothing", async () => {
  await using world = await setup();
  const [browser, other] = [await signedInOwner(world), await invited(world)];
  const { deviceCode, userCode } = await ask(world);
  expect((await answer(browser, userCode, false)).status).toBe(204);
  expect(reasonOf(await answer(other, userCode))).toEqual(OVER);
  expect(reasonOf(await collect(world, deviceCode))).toEqual(OVER);
});

test("is approved by a person in the console alone: by no key, and by no session that itself came from a code", async () => {
  await using world = await setup();
  const browser = await signedInOwner(world);
  const first = await ask(world);
  expect(reasonOf(await world.call("POST", ANSWER, { body: { userCode: first.userCode, approve: true } }))).toEqual([
    403,
    "person-only",
  ]);
  await answer(browser, first.userCode);
  const { key } = (await collect(world, first.deviceCode)).json;
  const second = await ask(world);
  const body = { userCode: second.userCode, approve: true };
  expect(reasonOf(await world.call("POST", ANSWER, { key, body }))).toEqual([403, "person-only"]);
});

test("a key of a command line is no cookie, and the secret of a cookie is no key", async () => {
  await using world = await setup();
  const browser = await signedInOwner(world);
  const { deviceCode, userCode } = await ask(world);
  await answer(browser, userCode);
  const { key } = (await collect(world, deviceCode)).json;
  const thief = new TestBrowser(world.url);
  thief.cookies.set("__Host-millrace-session", `__Host-millrace-session=${key}`);
  expect((await thief.call("GET", ME)).status).toBe(401);
  const secret = browser.cookie!.split("=")[1]!;
  for (const stolen of [secret, `mls_${secret}`])
    expect((await world.call("GET", ME, { key: stolen })).status).toBe(401);
});

test("ends with the person: removed, disabled, or with a lesser role", async () => {
  await using world = await setup();
  const change = async (id: string, role: string) =>
    world.call("PATCH", `/v2/account/people/${id}`, { body: { role } });
  const browser = await invited(world, { role: "member" });
  const { id } = (await browser.call("GET", ME)).json.person;
  const { deviceCode, userCode } = await ask(world);
  await answer(browser, userCode);
  const { key } = (await collect(world, deviceCode)).json;
  expect((await world.call("GET", ME, { key })).status).toBe(200);
  await change(id, "viewer");
  await world.clock.advance(1000);
  expect((await world.call("GET", ME, { key })).status).toBe(401);
  const waiting = await ask(world);
  const again = await invited(world, { role: "viewer", email: "again@example.com" });
  await answer(again, waiting.userCode);
  await world.call("PATCH", `/v2/account/people/${(await again.call("GET", ME)).json.person.id}`, {
    body: { disabled: true },
  });
  expect(reasonOf(await collect(world, waiting.deviceCode))).toEqual(OVER);
});

test.each([
  ["signs out everywhere", "DELETE", "/v2/account/sessions", undefined],
  ["sets a new password", "PATCH", ME, { currentPassword: PASSWORD, newPassword: `${PASSWORD} staple` }],
] as const)("gives nothing once the person %s, also if it was approved before", async (_what, method, path, body) => {
  await using world = await setup();
  const left = await invited(world, { role: "member" });
  const { deviceCode, userCode } = await ask(world);
  expect((await answer(left, userCode)).status).toBe(204);
  const here = new TestBrowser(world.url);
  await here.call("POST", "/v2/account/sign-in", { body: { email: "member@example.com", password: PASSWORD } });
  expect((await here.call(method, path, { ...(body && { body }) })).status).toBeLessThan(300);
  expect(reasonOf(await left.call("GET", ME))).toEqual([401, "session-ended"]);
  expect(reasonOf(await collect(world, deviceCode))).toEqual(OVER);
});

test("lasts no longer than the sign-in by the provider that approved it", async () => {
  await using there = await setupSigningOn({
    people: { ada: { email: "a@b.c", email_verified: true, groups: ["ml"] } },
  });
  const { world } = there;
  const { browser } = await there.enter("ada");
  await world.clock.advance(11 * 3_600_000);
  const { deviceCode, userCode } = (await browserAt(world).call("POST", CODES, { body: {} })).json;
  await answer(browser, userCode);
  const { key } = (await collect(world, deviceCode)).json;
  expect((await world.call("GET", ME, { key })).status).toBe(200);
  await world.clock.advance(3_600_000);
  expect((await world.call("GET", ME, { key })).status).toBe(401);
});

test("codes are limited for each address, and tries for each person", async () => {
  await using world = await setup();
  const browser = await signedInOwner(world);
  for (let i = 0; i < CODES_OF_A_PERSON; i++) expect(reasonOf(await answer(browser, "BBBB-BBBB"))).toEqual(OVER);
  expect(reasonOf(await answer(browser, "BBBB-BBBB"))).toEqual([429, "too-many-attempts"]);
  for (let i = 0; i < CODES_OF_AN_ADDRESS; i++) await ask(world);
  const refused = await new TestBrowser(world.url).call("POST", CODES, { body: {} });
  expect(reasonOf(refused)).toEqual([429, "too-many-attempts"]);
  const foreign = new TestBrowser(world.url, "https://evil.test");
  expect(reasonOf(await foreign.call("POST", CODES, { body: {} }))).toEqual([403, "foreign-page"]);
});
