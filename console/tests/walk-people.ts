/** Steps of the walk about people: the first link, a password, a viewer, keys, signing out and in. */
import { expect } from "vitest";
import { person, type Troubles } from "./chromium.ts";
import { button, heading, OWNER, VIEWER, visit, type Walk } from "./walk.ts";

const linkIn = (lines: readonly string[]) => /(http\S+\/sign-in#\S+)/.exec(lines.join("\n"))![1]!;

/** By the link that the first start printed, pasted into a tab that asks for one. Returns the link. */
export async function enterByLink({ at, page }: Pick<Walk, "at" | "page">): Promise<string> {
  const link = linkIn(at.server.lines);
  await page.goto(at.server.url);
  await heading(page, "Sign in by link").waitFor();
  await page.goto(link);
  await page.waitForURL(`${at.server.url}/`);
  return link;
}

export async function firstLink({ at, page, context }: Walk): Promise<void> {
  const link = await enterByLink({ at, page });
  expect(await page.evaluate("location.hash")).toBe("");

  const again = await context.newPage();
  await again.goto(link);
  await heading(again, "This link is no longer good").waitFor();
  await again.getByText("./millrace open").waitFor();
  expect(again.url()).toBe(`${at.server.url}/sign-in`);
  await again.close();
}

export async function setPassword({ page }: Walk): Promise<void> {
  await page.getByRole("link", { name: "Set a password" }).click();
  await page.getByLabel("Email").fill(OWNER.email);
  await page.getByLabel("New password").fill("short");
  await button(page, "Set password").click();
  await page.getByText("10").first().waitFor();
  await page.getByLabel("New password").fill(OWNER.password);
  await button(page, "Set password").click();
  await button(page, "Change password").waitFor();
  expect(await page.getByText("You signed in by link").count()).toBe(0);
}

/** The viewer comes by link, sees what there is, and can change nothing. */
export async function inviteViewer(walk: Walk, troubles: Troubles): Promise<void> {
  const { at, page, browser } = walk;
  await visit(walk, "/account/people");
  await button(page, "Invite").click();
  await page.getByRole("radio", { name: /viewer/i }).click();
  await button(page, "Make the link").click();
  const url = await page.locator("pre", { hasText: "/invitation#" }).innerText();
  await button(page, "I have copied it").click();

  const { context, page: theirs } = await person(browser, troubles);
  // A file that is missing once, as during an update of the server, costs a reload and not the invitation.
  await context.route(/assets\/invitation-/, (route) => route.abort(), { times: 1 });
  await theirs.goto(url);
  await theirs.getByLabel("Email").fill(VIEWER.email);
  await theirs.getByLabel("Password").fill(VIEWER.password);
  await button(theirs, /^Join/).click();
  await theirs.waitForURL(`${at.server.url}/`);
  await theirs.goto(`${at.server.url}/secrets`);
  await heading(theirs, "Secrets").waitFor();
  expect(await theirs.getByRole("link", { name: "Create secret" }).count()).toBe(0);
  // One that stays missing is said, and a reload finds it once it is there.
  const keysPage = /assets\/api-keys-/;
  await context.route(keysPage, (route) => route.abort());
  await theirs.goto(`${at.server.url}/account/keys`);
  await theirs.getByText("There is a new version of the console").waitFor();
  await context.unroute(keysPage);
  await button(theirs, "Reload").click();
  expect(await button(theirs, "Create API key").first().getAttribute("aria-disabled")).toBe("true");
  // Also past the page's own word, the server refuses.
  const status = await theirs.evaluate(`fetch("/v2/account/secrets", {
    method: "POST",
    headers: { "content-type": "application/json", "x-millrace-page": localStorage.getItem("millrace.page") },
    body: JSON.stringify({ name: "X", value: "y" }),
  }).then(({ status }) => status)`);
  expect(status).toBe(403);

  // Whoever is disabled is out at once, also on the page that is open.
  await page.reload();
  await button(page, `Actions for ${VIEWER.email}`).click();
  await page.getByRole("menuitem", { name: "Disable" }).click();
  await button(page, "Disable").click();
  await page.getByText("Disabled", { exact: true }).waitFor();
  await heading(theirs, "Sign in").waitFor();
  await theirs.getByText("Your session has ended").waitFor();
  await context.close();
}

export async function makeKey({ at, page, ...walk }: Walk): Promise<void> {
  await visit({ at, page, ...walk }, "/account/keys?do=create");
  await page.getByLabel("Name").fill("walker");
  await button(page, "Read-only").click();
  await button(page, "Create key").click();
  await page.getByText("walker is ready").waitFor();
  const key = await page.locator("pre").first().innerText();
  await button(page, "I have copied it").click();
  const used = await at.server.call("GET", "/v2/account/secrets", { key });
  expect(used.status).toBe(200);
  const refused = await at.server.call("POST", "/v2/account/secrets", { key, body: { name: "X", value: "y" } });
  expect(refused.status).toBe(403);
  await button(page, "Revoke walker").click();
  await button(page, "Revoke").last().click();
  await page.getByText("walker was revoked").waitFor();
  expect((await at.server.call("GET", "/v2/account/secrets", { key })).status).toBe(401);
}

/** One tab signs out, the other follows, and the way back leads to where one was, but to no other site. */
export async function signOutAndIn({ at, page, context, ...walk }: Walk): Promise<void> {
  await visit({ at, page, ...walk }, "/secrets");
  const other = await context.newPage();
  await other.goto(`${at.server.url}/account`);
  await button(other, "Sign out").first().click();
  await other.getByText("You are signed out.").waitFor();
  await other.close();
  await page.getByText("You signed out in another tab.").waitFor();
  await page.getByLabel("Email").fill(OWNER.email);
  await page.getByLabel("Password").fill("not the password");
  await button(page, "Sign in").click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Password").fill(OWNER.password);
  await button(page, "Sign in").click();
  await page.waitForURL(`${at.server.url}/secrets`);
  await heading(page, "Secrets").waitFor();
}
