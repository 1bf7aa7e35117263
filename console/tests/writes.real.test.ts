/** Writes that cannot be undone, in a real browser: a page shows what the server has done, and never what it was only asked to do. */
import type { Page } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { missingForTests } from "../../platform/src/adapters/host/machine.ts";
import { missingBrowser } from "./chromium.ts";
import { consolePlace } from "./place.ts";
import { button, visit, type Walk } from "./walk.ts";
import { enterByLink } from "./walk-people.ts";

const missing = missingBrowser ?? (await missingForTests());
beforeEach(({ skip }) => skip(missing !== undefined, missing));

/** Holds writes to an address back, so that a test sees the page between the click and the answer. */
async function held(page: Page, method: string, address: string) {
  const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route(`**${address}`, async (route) => {
    if (route.request().method() !== method) return route.fallback();
    asked.resolve();
    await released.promise;
    await route.continue();
  });
  return { asked: asked.promise, release: released.resolve };
}

/** Whatever the page draws because of a click is drawn after two frames. */
const untilDrawn = (page: Page) =>
  page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");

const question = (page: Page) => page.getByRole("alertdialog");
/** Behind an open dialog it is there, and no heading for a reader. */
const title = (page: Page) => page.locator("h1").innerText();
/** The state of the record whose page is open. */
const state = (page: Page, word: string) => page.locator("header").getByText(word, { exact: true });

async function runningPod({ at, folder, page }: Walk): Promise<string> {
  const cpu = { id: "cpu3c", vcpuCount: 2 };
  const program = { image: `host:${folder}`, cmd: ["sleep", "3600"], cpu };
  const { json: pod } = await at.call("POST", "/v2/pods", { name: "notebook", ...program });
  await visit({ at, page }, `/pods/${pod.id}`);
  await state(page, "Running").waitFor();
  return pod.id;
}

test("a Pod that is told to stop is shown as running until the server has stopped it", async ({ onTestFailed }) => {
  await using walk = await consolePlace(onTestFailed);
  const { page, troubles } = walk;
  await enterByLink(walk);
  const pod = await runningPod(walk);
  const write = await held(page, "POST", `/v2/pods/${pod}/action`);

  await button(page, "Stop").click();
  await question(page).getByRole("button", { name: "Stop" }).click();
  await write.asked;
  await untilDrawn(page);
  expect(await state(page, "Running").count()).toBe(1);
  expect(await question(page).getByRole("button", { name: "Stop" }).getAttribute("aria-busy")).toBe("true");
  expect(await page.getByText("notebook is stopped").count()).toBe(0);

  write.release();
  await page.getByText("notebook is stopped").waitFor();
  await state(page, "Exited").or(state(page, "Stopped")).waitFor();
  expect(troubles.seen).toEqual([]);
});

test("a stop that the server refuses leaves the Pod as it was, with the reason in the question", async ({
  onTestFailed,
}) => {
  await using walk = await consolePlace(onTestFailed);
  const { at, page, troubles } = walk;
  await enterByLink(walk);
  const pod = await runningPod(walk);

  await button(page, "Stop").click();
  await question(page).getByRole("button", { name: "Stop" }).waitFor();
  // A colleague is quicker.
  expect((await at.call("PATCH", `/v2/pods/${pod}`, { locked: true })).status).toBe(200);
  await question(page).getByRole("button", { name: "Stop" }).click();
  await question(page).getByRole("alert").getByText(/lock/i).first().waitFor();
  await button(page, "Keep it").click();
  await question(page).waitFor({ state: "hidden" });
  expect(await state(page, "Running").count()).toBe(1);
  expect((await at.call("GET", `/v2/pods/${pod}`)).json.status).toBe("RUNNING");
  expect(troubles.seen).toEqual([]);
});

test("an endpoint is on its page and in its list until the server has deleted it", async ({ onTestFailed }) => {
  await using walk = await consolePlace(onTestFailed);
  const { at, page, troubles } = walk;
  await enterByLink(walk);
  const id = await at.endpoint({ name: "leaving", workers: { min: 0, max: 0 } });
  const write = await held(page, "DELETE", `/v2/serverless/${id}`);

  await visit(walk, `/serverless/${id}/settings`);
  await button(page, "Delete leaving").click();
  await page.getByLabel("Type leaving to go on").fill("leaving");
  await question(page).getByRole("button", { name: "Delete" }).click();
  await write.asked;
  await untilDrawn(page);
  expect(await title(page)).toBe("leaving");
  expect(new URL(page.url()).pathname).toBe(`/serverless/${id}/settings`);
  expect(await page.getByText("leaving was deleted").count()).toBe(0);
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Serverless", exact: true }).first().click();
  await page.getByRole("row", { name: /leaving/ }).waitFor();

  write.release();
  await page.getByText("leaving was deleted").waitFor();
  await page.getByRole("row", { name: /leaving/ }).waitFor({ state: "hidden" });
  expect(troubles.seen).toEqual([]);
});

test("a deletion that the server refuses leaves the record as it was, with the reason in the question", async ({
  onTestFailed,
}) => {
  await using walk = await consolePlace(onTestFailed);
  const { at, page, folder, troubles } = walk;
  await enterByLink(walk);
  const program = { image: `host:${folder}`, cmd: ["node", "worker.mjs"], serverless: true };
  const { json: template } = await at.call("POST", "/v2/templates", { name: "shared start", ...program });
  await at.endpoint({ name: "dependent", templateId: template.id, workers: { min: 0, max: 0 } });

  await visit(walk, `/templates/${template.id}`);
  await button(page, "Delete").click();
  await question(page).getByRole("button", { name: "Delete" }).click();
  await question(page).getByRole("alert").getByText(/use/).first().waitFor();
  await button(page, "Keep it").click();
  await question(page).waitFor({ state: "hidden" });
  expect(await title(page)).toBe("shared start");
  await visit(walk, "/templates");
  await page.getByRole("row", { name: /shared start/ }).waitFor();
  expect(troubles.seen).toEqual([]);
});
