/** What comes of tokens and answers that are forged, foreign, old, late or endless. */
import { createHmac, type KeyObject } from "node:crypto";
import { expect, test } from "vitest";
import { HostileProvider } from "../../../tests/identity/hostile-provider.ts";
import { CLIENT } from "../../../tests/identity/real-provider.ts";
import { realClock } from "../../kernel/clock.ts";
import type { Asked } from "../../ports/identity/identity-provider.ts";
import { OpenIdProvider } from "./openid-provider.ts";

const ASKED: Asked = {
  ...{ state: "state", nonce: "nonce", verifier: "v".repeat(43) },
  redirectUri: "https://millrace.test/sign-in/provider",
};

async function open({ withinMs }: { withinMs?: number } = {}) {
  const there = await HostileProvider.open();
  there.nonce = ASKED.nonce;
  const logged: unknown[] = [];
  const settings = { issuer: there.issuer, ...CLIENT, scopes: "openid", groupsClaim: "groups", trustEmail: false };
  const log = { warn: (fields: object, text: string) => void logged.push(fields, text) };
  const provider = new OpenIdProvider(settings, { clock: realClock, log, ...(withinMs && { withinMs }) });
  const identify = (answer: Record<string, string> = {}) =>
    provider.identify(new URLSearchParams({ code: "c", state: "state", ...answer }), ASKED);
  return { there, provider, identify, logged, [Symbol.asyncDispose]: () => there[Symbol.asyncDispose]() };
}

const refusedFor = (why: string) =>
  expect.objectContaining({ reason: "provider-refused", message: expect.stringContaining(why) });
const awayFor = (why: string) =>
  expect.objectContaining({ reason: "provider-away", message: expect.stringContaining(why) });
const now = () => Math.floor(realClock.now() / 1000);

test("a token in which everything is right is taken", async () => {
  await using world = await open();
  expect(await world.identify()).toEqual({
    ...{ issuer: world.there.issuer, subject: "ada", email: "ada@example.com", emailVerified: true },
    ...{ name: undefined, groups: ["ml"] },
  });
});

test.each([
  ["with another nonce", { claims: { nonce: "of another sign-in" } }, "nonce"],
  ["without a nonce", { claims: { nonce: undefined } }, "nonce"],
  ["of another issuer", { claims: { iss: "https://evil.test" } }, "iss"],
  ["for another client", { claims: { aud: "somebody-else" } }, "aud"],
  [
    "for several clients, without the one that it was made for",
    { claims: { aud: [CLIENT.clientId, "b"] } },
    "untrusted audiences",
  ],
  ["that has expired", { claims: { exp: Math.floor(Date.now() / 1000) - 120 } }, "exp"],
  ["that is from the future", { claims: { nbf: Math.floor(Date.now() / 1000) + 600 } }, "nbf"],
  ["without a subject", { claims: { sub: undefined } }, "sub"],
  ["that nobody signed", { header: { alg: "none" }, sign: () => "" }, "alg"],
  ["whose key is not published", { header: { kid: "9" } }, "no applicable keys"],
])("a token %s is refused", async (_, token, why) => {
  await using world = await open();
  world.there.token = token;
  await expect(world.identify()).rejects.toEqual(refusedFor(why));
});

test("a token that another key signed is refused, also if the token brings that key", async () => {
  await using world = await open();
  const { privateKey: key, publicKey } = world.there.strangersKey();
  const jwk = publicKey.export({ format: "jwk" });
  const jku = `${world.there.issuer}/other-jwks`;
  world.there.instead.set("/other-jwks", (_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ keys: [jwk] }));
  });
  for (const header of [{}, { jwk }, { jku }]) {
    world.there.token = { key, header };
    await expect(world.identify()).rejects.toEqual(refusedFor("signature"));
  }
});

test("a token that a known text signed is refused: the client's secret, or the provider's public key in any form", async () => {
  await using world = await open();
  const hs256 = (secretOf: (published: KeyObject) => string | Buffer) => (signed: string, published: KeyObject) =>
    createHmac("sha256", secretOf(published)).update(signed).digest("base64url");
  for (const secretOf of [
    () => CLIENT.clientSecret,
    (published: KeyObject) => published.export({ type: "spki", format: "pem" }),
    (published: KeyObject) => published.export({ type: "spki", format: "der" }),
    (published: KeyObject) => JSON.stringify(published.export({ format: "jwk" })),
  ]) {
    world.there.token = { header: { alg: "HS256" }, sign: hs256(secretOf) };
    await expect(world.identify()).rejects.toEqual(refusedFor("alg"));
  }
});

test("clocks may differ by a minute", async () => {
  await using world = await open();
  world.there.token = { claims: { exp: now() - 30, nbf: now() + 30 } };
  expect((await world.identify()).subject).toBe("ada");
});

test("an answer of another provider, of another sign-in, or with two codes is refused before anything is asked", async () => {
  await using world = await open();
  let asked = 0;
  world.there.instead.set("/token", (_, response) => {
    asked++;
    response.writeHead(500).end();
  });
  for (const answer of [{ iss: "https://evil.test" }, { state: "other" }] as Record<string, string>[])
    await expect(world.identify(answer)).rejects.toMatchObject({ reason: "provider-refused" });
  const doubled = new URLSearchParams([
    ...([
      ["code", "a"],
      ["code", "b"],
      ["state", "state"],
    ] as [string, string][]),
  ]);
  await expect(world.provider.identify(doubled, ASKED)).rejects.toMatchObject({ reason: "provider-refused" });
  expect(asked).toBe(0);
});

test("what it says elsewhere about another person is not taken", async () => {
  await using world = await open();
  world.there.token = { claims: { groups: undefined } };
  world.there.userInfo = { groups: ["admins"] };
  expect((await world.identify()).groups).toEqual(["admins"]);
  world.there.userInfo = { sub: "eve", groups: ["admins"] };
  await expect(world.identify()).rejects.toMatchObject({ reason: "provider-refused" });
});

test("that an address is verified counts only for the address beside it", async () => {
  await using world = await open();
  const said = async (claims: object, userInfo: object) => {
    world.there.token = { claims: { groups: undefined, email: undefined, email_verified: undefined, ...claims } };
    world.there.userInfo = { groups: ["ml"], ...userInfo };
    const { email, emailVerified } = await world.identify();
    return [email, emailVerified];
  };
  const [mine, theirs] = ["eve@example.com", "ada@example.com"];
  expect(await said({ email: theirs }, { email: mine, email_verified: true })).toEqual([theirs, false]);
  expect(await said({ email: theirs }, { email_verified: true })).toEqual([theirs, false]);
  expect(await said({ email_verified: true }, { email: theirs })).toEqual([theirs, false]);
  expect(await said({ email: mine }, { email: mine, email_verified: true })).toEqual([mine, true]);
  expect(await said({}, { email: mine, email_verified: true })).toEqual([mine, true]);
});

test.each([
  ["another issuer", { issuer: "https://evil.test" }],
  ["a program in place of a page", { authorization_endpoint: "javascript:alert(1)" }],
  ["no keys", { jwks_uri: undefined }],
  ["a sign-out that is no page", { end_session_endpoint: "data:text/html,x" }],
])("a provider that names %s is not used", async (_, metadata) => {
  await using world = await open();
  world.there.metadata = metadata;
  await expect(world.provider.authorizationUrl(ASKED)).rejects.toMatchObject({ reason: "provider-away" });
  expect(await world.provider.signOutUrl("https://millrace.test/sign-in")).toBeUndefined();
});

test("an answer without end is cut off, and a redirect leads nowhere", async () => {
  await using world = await open();
  world.there.instead.set("/token", (_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const write = () => {
      while (!response.destroyed && response.write(" ".repeat(65_536)));
    };
    response.on("drain", write);
    write();
  });
  await expect(world.identify()).rejects.toEqual(awayFor("sent more than"));
  world.there.instead.set("/token", (_, response) => {
    response.writeHead(307, { location: `${world.there.issuer}/jwks` }).end();
  });
  await expect(world.identify()).rejects.toMatchObject({ reason: "provider-away" });
});

test.each(["head", "body"])("an answer whose %s does not come in time is not waited for", async (part) => {
  await using world = await open({ withinMs: 200 });
  world.there.instead.set("/token", (_, response) => {
    if (part === "body") response.writeHead(200, { "content-type": "application/json" }).write("{");
  });
  await expect(world.identify()).rejects.toEqual(awayFor("did not answer within"));
});

test("a provider that refuses this server says so, and nothing secret is in the log", async () => {
  await using world = await open();
  world.there.instead.set("/token", (_, response) => {
    response.writeHead(401, { "content-type": "application/json" }).end('{"error":"invalid_client"}');
  });
  await expect(world.identify()).rejects.toEqual(awayFor("invalid_client"));
  world.there.instead.delete("/token");
  world.there.token = { claims: { nonce: "wrong", email: "private@example.com" } };
  await expect(world.identify()).rejects.toMatchObject({ reason: "provider-refused" });
  const text = JSON.stringify(world.logged);
  expect(text).toContain(world.there.issuer);
  for (const secret of [CLIENT.clientSecret, "private@example.com", ASKED.verifier]) expect(text).not.toContain(secret);
});

test("groups are found below dots and under names with dots, within bounds", async () => {
  const { identityOf } = await import("./claims.ts");
  const groups = (groupsClaim: string, claims: object) =>
    identityOf({ issuer: "https://a.test", groupsClaim, trustEmail: false }, { sub: "s", ...claims }).groups;
  expect(groups("realm_access.roles", { realm_access: { roles: ["a", 1, "b"] } })).toEqual(["a", "b"]);
  expect(groups("https://a.test/groups", { "https://a.test/groups": "one" })).toEqual(["one"]);
  expect(groups("constructor.name", {})).toBeUndefined();
  expect(groups("groups", { groups: Array.from({ length: 20_000 }, (_, i) => `g${i}`) })).toHaveLength(10_000);
  expect(groups("groups", { groups: ["x".repeat(1000)] })).toEqual([]);
});
