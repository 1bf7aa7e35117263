/** Signing in by an identity provider, a real one: who comes in, in which role, and who no longer does. */
import { describe, expect, test } from "vitest";
import { TestBrowser } from "../../../tests/browser.ts";
import { RealProvider } from "../../../tests/identity/real-provider.ts";
import {
  auditOf,
  BEGIN,
  begin,
  browserAt,
  FINISH,
  finishAt,
  PUBLIC,
  setupSigningOn,
  signOnWith,
} from "../../../tests/identity/signing-on.ts";
import { invited, PASSWORD, signedInOwner } from "../../../tests/people.ts";
import { setup } from "../../../tests/world.ts";
import { PROVIDER_ATTEMPTS_OF_AN_ADDRESS } from "./attempts.ts";
import { SIGN_IN_MS } from "./sign-in-state.ts";

const ME = "/v2/account/me";
const ADA = { email: "ada@example.com", email_verified: true, name: "Ada", groups: ["ml"] };
const SECRET = { body: { name: "token", value: "v" } };

const reasonOf = ({ status, headers }: { status: number; headers: Headers }) => [status, headers.get("x-reason-code")];

describe("a sign-in by the provider", () => {
  test("makes a person in the account and role that their groups give, for twelve hours", async () => {
    await using there = await setupSigningOn({ people: { ada: ADA } });
    const { world, research } = there;
    expect((await browserAt(world).call("GET", "/v2/account/sign-in")).json).toMatchObject({
      ...{ provider: { label: "Example" }, passwords: true },
    });
    const { browser, answer } = await there.enter("ada");
    expect(answer.json.me).toMatchObject({
      person: { email: "ada@example.com", name: "Ada", role: "member", passwordSet: false },
      session: { signedInBy: "provider" },
      account: { id: research.account, name: "research" },
      ownsInstallation: false,
    });
    const cookie = answer.headers.getSetCookie().find((one) => one.startsWith("__Host-millrace-session="));
    expect(cookie).toMatch(/; Path=\/; Max-Age=43200; HttpOnly; Secure; SameSite=Strict$/);
    expect((await browser.call("POST", "/v2/account/secrets", SECRET)).status).toBe(201);
    const people = await world.services.people.list(research);
    expect(people.map(({ doc }) => doc.provider?.subject)).toEqual(["ada", undefined]);
    expect(await auditOf(world, research.account)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          operation: "signInByProvider",
          actor: expect.objectContaining({ name: "ada@example.com" }),
        }),
        expect.objectContaining({ operation: "updatePerson", actor: { type: "system" } }),
      ]),
    );
    await world.clock.advance(12 * 3_600_000);
    expect(reasonOf(await browser.call("GET", ME))).toEqual([401, "session-ended"]);
  });

  test("finds the same person again, also under another email address and name", async () => {
    await using there = await setupSigningOn({ people: { ada: ADA } });
    const first = (await there.enter("ada")).answer.json.me.person.id;
    there.provider.people.set("ada", { ...ADA, email: "lovelace@example.com", name: "A. L." });
    expect((await there.enter("ada")).answer.json.me.person).toMatchObject({
      ...{ id: first, email: "lovelace@example.com", name: "A. L." },
    });
  });

  test("gives the operator's right to a group that has it, and what a viewer may to another", async () => {
    const people = {
      root: { ...ADA, groups: ["admins"] },
      guest: { ...ADA, email: "g@example.com", groups: ["guests"] },
    };
    await using there = await setupSigningOn({ people });
    const root = await there.enter("root");
    expect(root.answer.json.me).toMatchObject({ person: { role: "owner" }, ownsInstallation: true });
    const guest = await there.enter("guest");
    expect(guest.answer.json.me).toMatchObject({ person: { role: "viewer" }, scopes: ["read-only"] });
    expect(reasonOf(await guest.browser.call("POST", "/v2/account/secrets", SECRET))).toEqual([403, "scope-missing"]);
    expect((await guest.browser.call("GET", "/v2/pods")).status).toBe(200);
  });

  test("leads to the first account of the rules, or to another one that the person asks for", async () => {
    await using there = await setupSigningOn({ people: { ada: { ...ADA, groups: ["ml", "admins"] } } });
    const account = async (wanted?: string) =>
      (await there.enter("ada", undefined, wanted === undefined ? {} : { account: wanted })).answer;
    expect((await account()).json.me.account.name).toBe("default");
    expect((await account("research")).json.me.account.name).toBe("research");
    expect(reasonOf(await account("elsewhere"))).toEqual([403, "no-group"]);
  });

  test("ends at any node, wherever it began, and from two tabs at once", async () => {
    await using there = await setupSigningOn({ people: { ada: ADA } });
    const { world, signOn, provider } = there;
    await using other = await setup({ store: world.store, found: world, signOn, machine: "other" });
    const browser = browserAt(world);
    const [one, two] = [await begin(browser), await begin(browser)];
    expect(one.state).not.toBe(two.state);
    const elsewhere = browserAt(other);
    for (const [name, pair] of browser.cookies) elsewhere.cookies.set(name, pair);
    expect((await finishAt(elsewhere, await provider.signIn(one.url, "ada"))).status).toBe(200);
    expect((await finishAt(browser, await provider.signIn(two.url, "ada"))).status).toBe(200);
  });
});

describe("groups are read at each sign-in", () => {
  test("another group is another role, and less right ends what is open", async () => {
    await using there = await setupSigningOn({ people: { ada: ADA } });
    const first = await there.enter("ada");
    there.provider.people.set("ada", { ...ADA, groups: ["guests"] });
    const second = await there.enter("ada");
    expect(second.answer.json.me.person).toMatchObject({ role: "viewer", id: first.answer.json.me.person.id });
    expect(reasonOf(await first.browser.call("GET", ME))).toEqual([401, "session-ended"]);
    expect((await second.browser.call("GET", ME)).status).toBe(200);
  });

  test("somebody whose groups lead nowhere is refused with the reason, and every session of theirs ends", async () => {
    await using there = await setupSigningOn({ people: { ada: ADA } });
    const { browser } = await there.enter("ada");
    there.provider.people.set("ada", { ...ADA, groups: ["chess"] });
    const { answer } = await there.enter("ada");
    expect(reasonOf(answer)).toEqual([403, "no-group"]);
    expect(answer.json.detail).toContain("you are in chess");
    expect(reasonOf(await browser.call("GET", ME))).toEqual([401, "session-ended"]);
    expect(await auditOf(there.world, there.research.account)).toContainEqual(
      expect.objectContaining({ operation: "signInByProvider", outcome: "refused" }),
    );
    there.provider.people.set("ada", { ...ADA, groups: undefined as never });
    expect((await there.enter("ada")).answer.json.detail).toContain("MILLRACE_OIDC_GROUPS_CLAIM");
  });

  test("an account without its last owner is not left behind", async () => {
    await using there = await setupSigningOn({
      people: { boss: { ...ADA, email: "boss@research.test", groups: ["guests"] } },
    });
    expect(reasonOf((await there.enter("boss")).answer)).toEqual([400, "last-owner"]);
  });

  test("a rule for an account that does not exist yet leads nowhere until it does", async () => {
    await using there = await setupSigningOn({ rules: "ml=later:owner", people: { ada: ADA } });
    expect(reasonOf((await there.enter("ada")).answer)).toEqual([403, "no-group"]);
    await there.world.services.accounts.create("later", "l@example.com");
    expect((await there.enter("ada")).answer.json.me).toMatchObject({ account: { name: "later" } });
  });
});

describe("people who were here before", () => {
  test("are linked by an email address that the provider has verified, and then sign in there alone", async () => {
    await using there = await setupSigningOn({ rules: "ml=default:member", people: { ada: ADA } });
    const { world } = there;
    const before = await invited(world, { role: "viewer", email: "Ada@example.com" });
    const { person } = (await before.call("GET", ME)).json;
    const { browser, answer } = await there.enter("ada");
    expect(answer.json.me.person).toMatchObject({ id: person.id, role: "member", passwordSet: true });
    const byPassword = { body: { email: "ada@example.com", password: PASSWORD } };
    const refusal = await browserAt(world).call("POST", "/v2/account/sign-in", byPassword);
    expect(reasonOf(refusal)).toEqual([403, "provider-only"]);
    for (const body of [{ email: "other@example.com" }, { newPassword: PASSWORD }])
      expect(reasonOf(await browser.call("PATCH", ME, { body }))).toEqual([403, "provider-only"]);
    expect((await browser.call("PATCH", ME, { body: { name: "Countess" } })).status).toBe(200);
  });

  test("are signed out when they are linked: whoever else took the address does not get the role", async () => {
    await using there = await setupSigningOn({ rules: "ml=default:owner", people: { ada: ADA } });
    const { world } = there;
    const eve = await invited(world, { role: "viewer", email: "eve@example.com" });
    const body = { email: "ada@example.com", currentPassword: PASSWORD };
    expect((await eve.call("PATCH", ME, { body })).status).toBe(200);
    const { browser, answer } = await there.enter("ada");
    expect(answer.json.me.person).toMatchObject({ email: "ada@example.com", role: "owner" });
    expect(reasonOf(await eve.call("GET", ME))).toEqual([401, "session-ended"]);
    expect((await browser.call("GET", ME)).status).toBe(200);
    expect((await there.enter("ada")).answer.status).toBe(200);
    expect((await browser.call("GET", ME)).status).toBe(200);
  });

  test("are not taken over by an address that nobody verified, nor by another one of the provider's people", async () => {
    const people = { eve: { ...ADA, email_verified: false, groups: ["ml"] }, ada: ADA, eva: ADA };
    await using there = await setupSigningOn({ rules: "ml=default:member", people });
    const before = await invited(there.world, { role: "owner", email: "ada@example.com" });
    const { person } = (await before.call("GET", ME)).json;
    const eve = (await there.enter("eve")).answer.json.me.person;
    expect(eve.id).not.toBe(person.id);
    expect(eve.email).toMatch(/^eve@127\.0\.0\.1:\d+$/);
    const ada = (await there.enter("ada")).answer.json.me.person;
    expect(ada.id).toBe(person.id);
    expect((await there.enter("eva")).answer.json.me.person.id).not.toBe(person.id);
  });

  test("count as verified where the operator trusts the provider's addresses", async () => {
    const people = { ada: { ...ADA, email_verified: false } };
    await using there = await setupSigningOn({ trustEmail: true, people });
    expect((await there.enter("ada")).answer.json.me.person.email).toBe("ada@example.com");
  });

  test("are the only ones let in where new people are not made, and the disabled are not", async () => {
    await using there = await setupSigningOn({ rules: "ml=default:member", newPeople: false, people: { ada: ADA } });
    const { world } = there;
    expect(reasonOf((await there.enter("ada")).answer)).toEqual([403, "person-unknown"]);
    const before = await invited(world, { role: "viewer", email: "ada@example.com" });
    const { id } = (await before.call("GET", ME)).json.person;
    expect((await there.enter("ada")).answer.status).toBe(200);
    await world.call("PATCH", `/v2/account/people/${id}`, { body: { disabled: true } });
    expect(reasonOf((await there.enter("ada")).answer)).toEqual([403, "person-disabled"]);
  });

  test("one first sign-in from many browsers at once makes one person", async () => {
    await using there = await setupSigningOn({ people: { ada: ADA } });
    const all = await Promise.all(Array.from({ length: 5 }, () => there.enter("ada")));
    expect(all.map(({ answer }) => answer.status)).toEqual([200, 200, 200, 200, 200]);
    expect(new Set(all.map(({ answer }) => answer.json.me.person.id)).size).toBe(1);
  });
});

describe("an answer of the provider", () => {
  test("is good once, in the browser that asked, within ten minutes", async () => {
    await using there = await setupSigningOn({ people: { ada: ADA } });
    const { world, provider } = there;
    const browser = browserAt(world);
    const back = await provider.signIn((await begin(browser)).url, "ada");
    const stranger = browserAt(world);
    expect(reasonOf(await finishAt(stranger, back))).toEqual([401, "provider-refused"]);
    await begin(stranger);
    expect(reasonOf(await finishAt(stranger, back))).toEqual([401, "provider-refused"]);
    expect((await finishAt(browser, back)).status).toBe(200);
    const again = await finishAt(browser, back);
    expect([...reasonOf(again), again.json.detail]).toEqual([
      401,
      "provider-refused",
      expect.stringContaining("used before"),
    ]);
    const late = await provider.signIn((await begin(browser)).url, "ada");
    await world.clock.advance(SIGN_IN_MS);
    expect(reasonOf(await finishAt(browser, late))).toEqual([401, "provider-refused"]);
  });

  test("with a code of another sign-in is refused by the provider, because the verifier differs", async () => {
    await using there = await setupSigningOn({ people: { ada: ADA, eve: { ...ADA, email: "eve@example.com" } } });
    const { world, provider } = there;
    const [victim, attacker] = [browserAt(world), browserAt(world)];
    const stolen = await provider.signIn((await begin(victim)).url, "ada");
    const own = await provider.signIn((await begin(attacker)).url, "eve");
    own.searchParams.set("code", stolen.searchParams.get("code")!);
    expect(reasonOf(await finishAt(attacker, own))).toEqual([401, "provider-refused"]);
  });

  test("that says no is told in the provider's word, and never in words from the address", async () => {
    await using there = await setupSigningOn();
    const browser = browserAt(there.world);
    const { state } = await begin(browser);
    const said = { state, iss: there.provider.issuer, error: "access_denied", error_description: "call 555" };
    const body = { answer: new URLSearchParams(said).toString() };
    const refusal = await browser.call("POST", FINISH, { body });
    expect(reasonOf(refusal)).toEqual([401, "provider-refused"]);
    expect(refusal.json.detail).toContain("'access_denied'");
    expect(refusal.text).not.toContain("555");
  });

  test("is refused from a page of another origin, and attempts are limited", async () => {
    await using there = await setupSigningOn();
    const { url } = there.world;
    expect(reasonOf(await new TestBrowser(url, "https://evil.test").call("POST", BEGIN))).toEqual([
      403,
      "foreign-page",
    ]);
    const browser = browserAt(there.world);
    for (let i = 0; i < PROVIDER_ATTEMPTS_OF_AN_ADDRESS; i++)
      await browser.call("POST", FINISH, { body: { answer: "state=x" } });
    expect(reasonOf(await browser.call("POST", BEGIN))).toEqual([429, "too-many-attempts"]);
  });
});

test("a provider that is away is named at sign-in, links still work, and it is used once it is back", async () => {
  const provider = await RealProvider.open({ ada: ADA });
  await using world = await setup({ signOn: signOnWith(provider.issuer, { rules: "ml=operator" }) });
  const browser = browserAt(world);
  const refusal = await browser.call("POST", BEGIN);
  expect(reasonOf(refusal)).toEqual([503, "provider-away"]);
  expect((await (await signedInOwner(world)).call("GET", ME)).status).toBe(200);
  provider.register(PUBLIC);
  expect((await finishAt(browser, await provider.signIn((await begin(browser)).url, "ada"))).status).toBe(200);
  await provider[Symbol.asyncDispose]();
});

test("keys that the provider has replaced a moment ago are in nobody's way", async () => {
  await using there = await setupSigningOn({ people: { ada: ADA } });
  for (let i = 0; i < 2; i++) {
    expect((await there.enter("ada")).answer.status).toBe(200);
    there.provider.rotate();
  }
});

test("sign-out ends the session here and leads to the provider's own sign-out", async () => {
  await using there = await setupSigningOn({ people: { ada: ADA } });
  const { browser } = await there.enter("ada");
  const { json } = await browser.call("POST", "/v2/account/sign-out");
  const url = new URL(json.url);
  expect(url.origin).toBe(there.provider.issuer);
  expect(url.searchParams.get("post_logout_redirect_uri")).toBe(`${PUBLIC}/sign-in`);
  expect((await fetch(url)).status).toBe(200);
  expect((await browser.call("GET", ME)).status).toBe(401);
});

test("without passwords, neither they nor invitations sign anybody in, and links do", async () => {
  await using there = await setupSigningOn({ passwordSignIn: "off", people: { ada: ADA } });
  const { world } = there;
  const browser = browserAt(world);
  const refused = [403, "passwords-off"];
  expect((await browser.call("GET", "/v2/account/sign-in")).json.passwords).toBe(false);
  const password = { email: "ada@example.com", password: PASSWORD };
  expect(reasonOf(await browser.call("POST", "/v2/account/sign-in", { body: password }))).toEqual(refused);
  const invitation = { ...password, token: "A".repeat(43) };
  expect(reasonOf(await browser.call("POST", "/v2/account/sign-in/invitation", { body: invitation }))).toEqual(refused);
  const owner = await signedInOwner(world);
  const set = { email: "o@example.com", newPassword: PASSWORD };
  expect(reasonOf(await owner.call("PATCH", ME, { body: set }))).toEqual(refused);
});

test("a server without a provider says so", async () => {
  await using world = await setup();
  const browser = browserAt(world);
  expect((await browser.call("GET", "/v2/account/sign-in")).json.provider).toBeNull();
  expect(reasonOf(await browser.call("POST", BEGIN))).toEqual([400, "provider-off"]);
});

test("at another address than the public one the browser is told where to go", async () => {
  await using there = await setupSigningOn();
  const refusal = await new TestBrowser(there.world.url).call("POST", BEGIN);
  expect(reasonOf(refusal)).toEqual([400, "foreign-page"]);
  expect(refusal.json.detail).toContain(PUBLIC);
});
