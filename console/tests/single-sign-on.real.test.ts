/** Single sign-on with a real provider: a person in a real browser, their role by groups, the command line, and two nodes on PostgreSQL. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TestBrowser } from "../../platform/tests/browser.ts";
import { freshDatabase } from "../../platform/tests/database.ts";
import { CLIENT, RealProvider } from "../../platform/tests/identity/real-provider.ts";
import { launcher, run, startServer, temporaryFolder } from "../../platform/tests/process.ts";
import { missingBrowser, person, startBrowser, Troubles } from "./chromium.ts";
import { findings } from "./findings.ts";
import { untilConsoleIsBuilt } from "./place.ts";
import { button, heading } from "./walk.ts";

const ADA = { email: "ada@example.com", email_verified: true, name: "Ada", groups: ["guests"] };

/** Nodes of one installation share it. */
const MILLRACE_MASTER_KEY = Buffer.alloc(32, 7).toString("base64");

const environment = ({ issuer }: RealProvider) => ({
  MILLRACE_OIDC_ISSUER: issuer,
  MILLRACE_OIDC_CLIENT_ID: CLIENT.clientId,
  MILLRACE_OIDC_CLIENT_SECRET: CLIENT.clientSecret,
  MILLRACE_OIDC_SCOPES: "openid email profile groups",
  MILLRACE_OIDC_GROUPS: "guests=default:viewer; ml=default:member; admins=operator",
  MILLRACE_OIDC_LABEL: "Example",
});

test("a person signs in by the provider, may do what their groups give, approves a command line, and is kept out", async ({
  skip,
}) => {
  skip(missingBrowser !== undefined, missingBrowser);
  await using provider = await RealProvider.open({ ada: ADA });
  await using folder = await temporaryFolder();
  await using server = await startServer(folder.path, { env: environment(provider) });
  provider.register(server.url);
  // Until then, every path is a page that loads itself anew.
  await untilConsoleIsBuilt();
  await using browser = await startBrowser();
  const troubles = new Troubles();
  const { page, context } = await person(browser, troubles);
  const loaded: string[] = [];
  page.on("domcontentloaded", () => loaded.push(page.url()));

  await page.goto(`${server.url}/sign-in`);
  await button(page, "Sign in with Example").waitFor();
  expect(await findings(page)).toEqual([]);

  // A link to a page leads by way of the provider to that page, and its code is not in the address.
  const signIn = async (path: string) => {
    await page.goto(server.url + path);
    await button(page, "Sign in with Example").click();
    await page.waitForURL(`${provider.issuer}/**`);
    if (await page.locator("input[name=login]").count()) {
      await page.locator("input[name=login]").fill("ada");
      await page.locator("input[name=password]").fill("x");
      await page.locator("button[type=submit]").click();
    }
    if (page.url().startsWith(provider.issuer)) await page.locator("button[type=submit]").click();
  };
  await signIn("/secrets");
  await page.waitForURL(`${server.url}/secrets`);
  await heading(page, "Secrets").waitFor();
  // The page that was asked for, and the one that the provider leads back to, once each.
  const ofServer = loaded.filter((url) => url.startsWith(server.url)).map((url) => new URL(url).pathname);
  expect(ofServer).toEqual(["/sign-in", "/secrets", "/sign-in/provider"]);
  expect(await page.getByRole("link", { name: "Create secret" }).count()).toBe(0);
  const write = `fetch("/v2/account/secrets", {
    method: "POST",
    headers: { "content-type": "application/json", "x-millrace-page": localStorage.getItem("millrace.page") },
    body: JSON.stringify({ name: "X", value: "y" }),
  }).then(({ status }) => status)`;
  expect(await page.evaluate(write)).toBe(403);

  // A command line asks by a code, and gets what the person may do.
  const env = { PATH: process.env.PATH ?? "", HOME: folder.path, XDG_CONFIG_HOME: folder.path };
  const login = spawn(launcher, ["login", server.url, "--name", "work"], { env, stdio: ["ignore", "pipe", "pipe"] });
  let [said, done] = ["", ""];
  login.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  login.stdout.setEncoding("utf8").on("data", (text: string) => {
    done += text;
  });
  while (!said.includes("Waiting")) await once(login.stderr, "data");
  await page.goto(/(http\S+\/code#\S+)/.exec(said)![1]!);
  await button(page, "Continue").click();
  await button(page, "Approve").click();
  await page.getByText("Go back to your terminal").waitFor();
  await once(login, "close");
  expect(done).toContain("as ada@example.com (viewer, until ");
  await page.goto(`${server.url}/account`);
  await page.getByText("millrace login on ").first().waitFor();

  // Signed out here, they are asked again; with another group they may do more.
  await button(page, "Sign out").first().click();
  await page.waitForURL(`${provider.issuer}/**`);
  provider.people.set("ada", { ...ADA, groups: ["ml"] });
  provider.rotate();
  await signIn("/secrets");
  await page.waitForURL(`${server.url}/secrets`);
  await page.getByRole("link", { name: "Create secret" }).first().waitFor();

  // Out of every group, they are refused with the reason, and what was open ends.
  const other = await context.browser()!.newContext();
  other.setDefaultTimeout(120_000);
  provider.people.set("ada", { ...ADA, groups: ["chess"] });
  const theirs = new TestBrowser(server.url);
  const { url } = (await theirs.call("POST", "/v2/account/sign-in/provider/begin")).json;
  const back = await provider.signIn(url, "ada");
  const stolen = await other.newPage();
  await stolen.goto(back.href);
  await heading(stolen, "This tab did not ask for that").waitFor();
  expect(stolen.url()).toBe(`${server.url}/sign-in/provider`);
  const body = { answer: back.search.slice(1) };
  const refused = await theirs.call("POST", "/v2/account/sign-in/provider", { body });
  expect([refused.status, refused.json.detail]).toEqual([403, expect.stringContaining("you are in chess")]);
  await page.getByText("Your session has ended").waitFor();
  await other.close();
  expect(troubles.seen).toEqual([]);
});

test("bad settings stop the server with the reason, and a provider that is away does not", async () => {
  await using folder = await temporaryFolder();
  const failing = startServer(folder.path, { env: { MILLRACE_OIDC_ISSUER: "https://id.test" } });
  await expect(failing).rejects.toThrow("MILLRACE_OIDC_ISSUER needs MILLRACE_OIDC_CLIENT_ID beside it");
  const provider = await RealProvider.open();
  await provider[Symbol.asyncDispose]();
  await using server = await startServer(folder.path, { env: environment(provider) });
  const refusal = await new TestBrowser(server.url).call("POST", "/v2/account/sign-in/provider/begin");
  expect([refusal.status, refusal.json.detail]).toEqual([503, expect.stringContaining("ECONNREFUSED")]);
  const { stdout } = await run(launcher, ["doctor", "--json", "--data", join(folder.path, "none")], {
    env: environment(provider),
  });
  const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; says: string }[] };
  expect(checks.find(({ name }) => name === "single sign-on")).toMatchObject({
    ...{ state: "fail", says: expect.stringContaining("ECONNREFUSED") },
  });
});

test("on two nodes, a sign-in and a code that begin at one end at the other, and one person is made", async () => {
  const PUBLIC = "https://millrace.test";
  await using provider = await RealProvider.open({ ada: { ...ADA, groups: ["admins"] } });
  await using database = await freshDatabase();
  await using folders = new AsyncDisposableStack();
  const shared = { MILLRACE_DATABASE_URL: database.url, MILLRACE_PUBLIC_URL: PUBLIC, MILLRACE_MASTER_KEY };
  const env = { ...environment(provider), ...shared };
  const start = async () => {
    const folder = folders.use(await temporaryFolder());
    return folders.use(await startServer(folder.path, { env }));
  };
  const [one, two] = [await start(), await start()];
  provider.register(PUBLIC);
  const enter = async () => {
    const at = new TestBrowser(one.url, PUBLIC);
    const { url } = (await at.call("POST", "/v2/account/sign-in/provider/begin")).json;
    const back = await provider.signIn(url, "ada");
    const then = new TestBrowser(two.url, PUBLIC);
    for (const [name, pair] of at.cookies) then.cookies.set(name, pair);
    const body = { answer: back.search.slice(1) };
    const answer = await then.call("POST", "/v2/account/sign-in/provider", { body });
    expect([answer.status, answer.json.me?.ownsInstallation], answer.text).toEqual([200, true]);
    expect((await at.call("POST", "/v2/account/sign-in/provider", { body })).status).toBe(401);
    return { browser: then, id: answer.json.me.person.id };
  };
  const both = await Promise.all([enter(), enter(), enter()]);
  expect(new Set(both.map(({ id }) => id)).size).toBe(1);
  const asking = new TestBrowser(one.url, PUBLIC);
  const { deviceCode, userCode } = (await asking.call("POST", "/v2/account/sign-in/codes", { body: {} })).json;
  const approve = { body: { userCode, approve: true } };
  expect((await both[0]!.browser.call("POST", "/v2/account/codes/answer", approve)).status).toBe(204);
  const { key } = (await asking.call("POST", "/v2/account/sign-in/codes/collect", { body: { deviceCode } })).json;
  for (const server of [one, two]) expect((await server.call("GET", "/v2/account/me", { key })).status).toBe(200);
});
