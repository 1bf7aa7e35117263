/** Signing in as a person does: the link that the first start prints, `millrace open` beside a running server, a crash, and two nodes. */
import { describe, expect, test } from "vitest";
import { TestBrowser } from "./browser.ts";
import { freshDatabase } from "./database.ts";
import { PASSWORD, tokenIn } from "./people.ts";
import { filesHolding, millrace, type Server, startServer, temporaryFolder } from "./process.ts";

const ME = "/v2/account/me";
const LINK = "/v2/account/sign-in/link";
const EMAIL = "ada@example.com";

/** The link in the lines of a server that started for the first time. */
const linkIn = ({ lines }: Server): string =>
  /at (http\S+#\S+)$/.exec(lines.find((line) => line.startsWith("sign in"))!)![1]!;

async function byLink(server: Server, link: string): Promise<TestBrowser> {
  const browser = new TestBrowser(server.url);
  const { status } = await browser.call("POST", LINK, { body: { token: tokenIn(link) } });
  expect(status).toBe(200);
  return browser;
}

/** The same browser, at the address that the next server has. */
function movedTo({ url }: Server, { cookies, pageToken }: TestBrowser): TestBrowser {
  const browser = new TestBrowser(url);
  for (const [name, pair] of cookies) browser.cookies.set(name, pair);
  browser.pageToken = pageToken;
  return browser;
}

describe.each(["SQLite", "PostgreSQL"] as const)("on %s", (kind) => {
  test("the first link signs in, a password is set, and both outlive a kill; a second link comes from a command", async () => {
    await using folder = await temporaryFolder();
    await using database = kind === "PostgreSQL" ? await freshDatabase() : undefined;
    const env: Record<string, string> = database ? { MILLRACE_DATABASE_URL: database.url } : {};
    const place = { data: folder.path, database: database?.url };
    await using first = await startServer(folder.path, { env });
    expect(first.lines.at(-1)).toBe(`listening on ${first.url}`);
    expect(linkIn(first)).toMatch(new RegExp(`^${first.url}/sign-in#[\\w-]{43}$`));
    const browser = await byLink(first, linkIn(first));
    const set = await browser.call("PATCH", ME, { body: { email: EMAIL, newPassword: PASSWORD } });
    expect([set.status, set.json.person.passwordSet]).toEqual([200, true]);
    expect(await first.end("SIGKILL")).toBe("SIGKILL");

    await using second = await startServer(folder.path, { env });
    expect(second.lines.some((line) => line.startsWith("sign in"))).toBe(false);
    expect((await movedTo(second, browser).call("GET", ME)).json.person.email).toBe(EMAIL);
    const used = await new TestBrowser(second.url).call("POST", LINK, { body: { token: tokenIn(linkIn(first)) } });
    expect(used.status).toBe(401);
    const other = new TestBrowser(second.url);
    expect(
      (await other.call("POST", "/v2/account/sign-in", { body: { email: EMAIL, password: PASSWORD } })).status,
    ).toBe(200);
    const wrong = { email: EMAIL, password: "wrong horse battery" };
    expect((await other.call("POST", "/v2/account/sign-in", { body: wrong })).status).toBe(401);

    const { url, expiresAt } = await millrace(place, "open");
    expect(url).toMatch(new RegExp(`^${second.url}/sign-in#`));
    expect(Date.parse(expiresAt)).toBeGreaterThan(Date.now());
    const third = await byLink(second, url);
    expect((await third.call("GET", ME)).json.session.signedInBy).toBe("link");
    if (kind === "SQLite")
      for (const secret of [PASSWORD, browser.pageToken!]) expect(await filesHolding(folder.path, secret)).toEqual([]);
  });
});

test("somebody who is removed through one node is out on the other with the next request", async () => {
  await using database = await freshDatabase();
  await using one = await temporaryFolder();
  await using two = await temporaryFolder();
  const env = { MILLRACE_DATABASE_URL: database.url, MILLRACE_MASTER_KEY: Buffer.alloc(32, 7).toString("base64") };
  await using first = await startServer(one.path, { env });
  await using second = await startServer(two.path, { env });
  const owner = await byLink(first, linkIn(first));
  const invitation = (await owner.call("POST", "/v2/account/invitations", { body: { role: "member" } })).json;
  const member = new TestBrowser(second.url);
  const body = { token: tokenIn(invitation.url), email: "mo@example.com", password: PASSWORD };
  const { json } = await member.call("POST", "/v2/account/sign-in/invitation", { body });
  for (let i = 0; i < 3; i++) expect((await member.call("GET", "/v2/account/secrets")).status).toBe(200);
  expect((await owner.call("DELETE", `/v2/account/people/${json.me.person.id}`)).status).toBe(204);
  const { status, headers } = await member.call("GET", "/v2/account/secrets");
  expect([status, headers.get("x-reason-code")]).toEqual([401, "session-ended"]);
});
