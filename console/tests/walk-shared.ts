/** Steps of the walk about a public endpoint: its owner shares it, another account calls it from the page, and both see what it cost. */
import { expect } from "vitest";
import { person, type Troubles } from "./chromium.ts";
import { button, heading, visit, type Walk } from "./walk.ts";

const GUEST = { email: "guest@example.com", password: "a password of a guest" };
const NAME = "team-echo";

export async function shareAndCall(walk: Walk, troubles: Troubles): Promise<void> {
  const { at, page, browser } = walk;
  const endpoint = await at.endpoint({ name: "lent" });
  await share(walk);
  // Nothing of this may be seen by the guest.
  expect((await at.call("POST", `/v2/${endpoint}/runsync`, { input: { of: "the owner" } })).status).toBe(200);

  const { json: account } = await at.call("POST", "/v2/installation/accounts", { name: "Friends" });
  const { json: invitation } = await at.server.call("POST", "/v2/account/invitations", {
    key: account.key,
    body: { role: "owner" },
  });
  const { context, page: theirs } = await person(browser, troubles);
  await theirs.goto(invitation.url);
  await theirs.getByLabel("Email").fill(GUEST.email);
  await theirs.getByLabel("Password").fill(GUEST.password);
  await button(theirs, /^Join/).click();
  await theirs.waitForURL(`${at.server.url}/`);
  const guest = { ...walk, page: theirs };
  await callAsGuest(guest);
  await visit(guest, "/billing");
  await theirs.getByText("$0.50").first().waitFor();
  await context.close();

  await visit(walk, `/public-endpoints/${NAME}`);
  const row = page.getByRole("row", { name: /Friends/ });
  await row.getByText("$0.50").waitFor();
  await button(page, "Stop sharing").click();
  await button(page, "Delete").last().click();
  await heading(page, "Public endpoints").waitFor();
  expect((await at.call("DELETE", `/v2/serverless/${endpoint}`)).status).toBe(204);
}

async function share(walk: Walk): Promise<void> {
  const { page } = walk;
  await visit(walk, "/public-endpoints");
  await page.getByRole("link", { name: "Share an endpoint" }).first().click();
  await heading(page, "Share an endpoint").waitFor();
  await page.getByLabel("Endpoint", { exact: true }).click();
  await page.getByRole("option", { name: /lent/ }).click();
  await page.getByLabel("Name", { exact: true }).fill(NAME);
  await page.getByLabel(/^Title/).fill("Echo for everyone");
  await page.getByRole("switch", { name: "Everyone" }).click();
  await page.getByLabel(/^Per request/).fill("0.5");
  await button(page, "Share an endpoint").click();
  await heading(page, "Echo for everyone").waitFor();
}

/** Finds it in the list, runs a job, and sees that job alone. */
async function callAsGuest(walk: Walk): Promise<void> {
  const { page } = walk;
  await visit(walk, "/public-endpoints");
  await page.getByRole("row", { name: /team-echo/ }).click();
  await heading(page, "Echo for everyone").waitFor();
  expect(await page.getByRole("link", { name: "Settings" }).count()).toBe(0);
  await page.getByRole("link", { name: "Try it", exact: true }).click();
  await button(page, "Run and wait").first().click();
  await button(page, "Run and wait").last().click();
  await page.getByText("Completed").waitFor();
  await page.getByRole("link", { name: "Your jobs" }).click();
  await page.locator("tbody tr[tabindex]").first().waitFor();
  expect(await page.locator("tbody tr[tabindex]").count()).toBe(1);
  await page.locator("tbody tr[tabindex]").first().click();
  await page.getByRole("dialog").getByRole("heading", { name: "Output" }).waitFor();
  await page.keyboard.press("Escape");
}
