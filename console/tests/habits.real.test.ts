/** What a person does all day in a real browser: filters by address, finds, cancels and retries jobs, moves by keys, exports, and sees a lost connection. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { missingForTests } from "../../platform/src/adapters/host/machine.ts";
import { missingBrowser } from "./chromium.ts";
import { consolePlace } from "./place.ts";
import { button, heading, visit, type Walk } from "./walk.ts";
import { enterByLink } from "./walk-people.ts";

const PROBE = fileURLToPath(new URL("fixtures/page-probe.js", import.meta.url));

const missing = missingBrowser ?? (await missingForTests());
beforeEach(({ skip }) => skip(missing !== undefined, missing));

/** Sooner than Playwright, which looks whether the link stands still first. */
const TYPE_AND_PRESS = `
  const field = document.querySelector("main input");
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, "vectors");
  field.dispatchEvent(new Event("input", { bubbles: true }));
  document.querySelector("main a[href^='/hub/']").click();`;

const rowsOf = (page: Page) => page.locator("tbody tr[tabindex]");
/** Filters are written in the order in which they were chosen. */
const statusesIn = (page: Page) => new URL(page.url()).searchParams.get("status")?.split(",").toSorted();

/** Jobs of an endpoint without workers wait for as long as the test needs them. The first one is cancelled. */
async function waitingJobs({ at }: Walk, count: number): Promise<{ endpoint: string; jobs: string[] }> {
  const endpoint = await at.endpoint({ name: "paused", workers: { min: 0, max: 0 } });
  const jobs: string[] = [];
  for (let place = 0; place < count; place++)
    jobs.push((await at.call("POST", `/v2/${endpoint}/run`, { input: { place } })).json.id);
  await at.call("POST", `/v2/${endpoint}/cancel/${jobs[0]}`);
  return { endpoint, jobs };
}

test("jobs are filtered, found, exported and cancelled together, and the address keeps the view", async ({
  onTestFailed,
}) => {
  await using walk = await consolePlace(onTestFailed);
  const { at, page, context, step, troubles } = walk;
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await enterByLink(walk);
  const { endpoint, jobs } = await waitingJobs(walk, 5);
  const list = `/serverless/${endpoint}/jobs`;

  await step("two statuses are one filter, which is part of the address", async () => {
    await visit(walk, list);
    await button(page, "Cancelled").click();
    await rowsOf(page).nth(0).waitFor();
    await button(page, /^In queue/).click();
    await page.getByText("5 fit", { exact: true }).waitFor();
    expect(statusesIn(page)).toEqual(["CANCELLED", "IN_QUEUE"]);
    await page.reload();
    await page.getByText("5 fit", { exact: true }).waitFor();
    expect(await button(page, "Cancelled").getAttribute("aria-pressed")).toBe("true");
  });

  await step("the call behind the page has the same filter", async () => {
    await button(page, "Copy as curl").click();
    await page.getByText("Copied", { exact: true }).waitFor();
    const curl = String(await page.evaluate("navigator.clipboard.readText()"));
    expect(curl).toContain(`/v2/${endpoint}/requests?`);
    expect(curl).toContain("CANCELLED");
  });

  await step("j and k move, Enter opens, and Back leads to the same view", async () => {
    const isOn = (row: number) => page.locator(`tbody tr[data-index="${row}"]:focus`).waitFor();
    await page.keyboard.press("j");
    await isOn(0);
    await page.keyboard.press("j");
    await isOn(1);
    await page.keyboard.press("k");
    await isOn(0);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await page.goBack();
    await page.getByText("5 fit", { exact: true }).waitFor();
    expect(statusesIn(page)).toEqual(["CANCELLED", "IN_QUEUE"]);
  });

  await step("what is shown is exported", async () => {
    const [file] = await Promise.all([page.waitForEvent("download"), button(page, "CSV").click()]);
    const lines = (await readFile(await file.path(), "utf8")).trim().split("\r\n");
    expect(lines[0]).toContain("Status");
    expect(lines.slice(1).map((line) => line.split(",")[0])).toEqual(expect.arrayContaining(jobs));
  });

  await step("a job is found by its id", async () => {
    await visit(walk, list);
    await rowsOf(page).nth(4).waitFor();
    await page.getByLabel("Find by job id").fill(jobs[2]!);
    await rowsOf(page).nth(1).waitFor({ state: "detached" });
    expect(await rowsOf(page).first().innerText()).toContain(jobs[2]!.slice(-15));
  });

  await step("a result that is pressed right after typing opens, also if its page has to load first", async () => {
    await visit(walk, "/hub");
    await page.getByRole("link", { name: /Embeddings without a model/ }).waitFor();
    const held = Promise.withResolvers<void>();
    await page.route("**/*.js", async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.clock.install();
    await page.evaluate(TYPE_AND_PRESS);
    // The field writes the text into the address a quarter of a second after the last key.
    await page.clock.fastForward(500);
    held.resolve();
    await page.waitForURL(/hub.[^?]+$/);
    await page.unroute("**/*.js");
  });

  await step("nothing on the overview moves while its charts come one by one, on a slow machine", async () => {
    await page.addInitScript({ path: PROBE });
    const session = await context.newCDPSession(page);
    await session.send("Emulation.setCPUThrottlingRate", { rate: 4 });
    await visit(walk, "/");
    await page.locator("figure canvas").nth(3).waitFor();
    // A shift is noted with the frame that shows it.
    await page.evaluate("probe.watchFrames(0)");
    expect(await page.evaluate("probe.shifts")).toEqual([]);
    await session.detach();
  });

  await step("several are cancelled at once, of those that can be", async () => {
    await visit(walk, list);
    await rowsOf(page).nth(4).waitFor();
    await page.getByRole("checkbox", { name: "Choose all" }).click();
    await button(page, "Cancel 4").click();
    await button(page, "Cancel 4 jobs").click();
    await page.getByText("4 jobs cancelled.").waitFor();
    const { json } = await at.call("GET", `/v2/${endpoint}/requests?status=CANCELLED`);
    expect(json.requests).toHaveLength(5);
  });
  expect(troubles.seen).toEqual([]);
});

/** Jobs that fail for want of a variable of the endpoint, which then gets it. */
async function repairedJobs({ at }: Walk, count: number): Promise<{ endpoint: string; jobs: string[] }> {
  const endpoint = await at.endpoint({ name: "repaired", workers: { min: 0, max: 1 } });
  const submit = () => at.call("POST", `/v2/${endpoint}/run`, { input: { needs: "WEIGHTS" } });
  const answers = await Promise.all(Array.from({ length: count }, submit));
  const jobs = answers.map(({ json }) => json.id as string);
  for (const job of jobs) await at.until(endpoint, job, ({ status }) => status === "FAILED");
  await at.call("PATCH", `/v2/serverless/${endpoint}`, { env: { WEIGHTS: "/weights" } });
  return { endpoint, jobs };
}

test("failed jobs are retried together from their list, and all of them run again", async ({ onTestFailed }) => {
  await using walk = await consolePlace(onTestFailed);
  const { at, page, step, troubles } = walk;
  await enterByLink(walk);
  const { endpoint, jobs } = await repairedJobs(walk, 6);
  const chosen = jobs.slice(0, 4);
  const others = jobs.slice(4);
  const statusOf = async (job: string) => (await at.call("GET", `/v2/${endpoint}/status/${job}`)).json.status;
  const completed = (job: string) => at.until(endpoint, job, ({ status }) => status === "COMPLETED");

  await step("those that are chosen run again, and no other", async () => {
    await visit(walk, `/serverless/${endpoint}/jobs`);
    await rowsOf(page).nth(5).waitFor();
    for (const job of chosen) await page.getByRole("checkbox", { name: `Choose ${job}` }).click();
    await button(page, "Retry 4").click();
    await page.getByText("4 jobs retried.").waitFor();
    for (const job of chosen) await completed(job);
    for (const job of others) expect(await statusOf(job)).toBe("FAILED");
  });

  await step("of all that are chosen, those that failed can be retried", async () => {
    await page.locator("tbody tr", { hasText: "Completed" }).nth(3).waitFor();
    await page.getByRole("checkbox", { name: "Choose all" }).click();
    await button(page, "Retry 2").waitFor();
    await button(page, "Choose none").click();
  });

  await step("all that failed are retried at once, after a question", async () => {
    await button(page, "Retry or purge…").click();
    await page.getByRole("menuitem", { name: "Retry all 2 failed" }).click();
    await page.getByRole("alertdialog", { name: "Retry all failed jobs?" }).waitFor();
    for (const job of others) expect(await statusOf(job)).toBe("FAILED");
    await button(page, "Retry all").click();
    await page.getByText("2 jobs retried.").waitFor();
    for (const job of others) await completed(job);
    await page.locator("tbody tr", { hasText: "Completed" }).nth(5).waitFor();
  });

  await step("what is left to retry is nothing, and says so", async () => {
    await button(page, "Retry or purge…").click();
    const item = page.getByRole("menuitem", { name: "Retry all failed" });
    expect(await item.getAttribute("aria-disabled")).toBe("true");
  });
  expect(troubles.seen).toEqual([]);
});

test("keys are shown, faults come to their field, logs of all workers are one, and a lost connection says so", async ({
  onTestFailed,
}) => {
  await using walk = await consolePlace(onTestFailed);
  const { at, page, context, step, troubles } = walk;
  await enterByLink(walk);

  await step("? shows the keys, and Esc closes them", async () => {
    await visit(walk, "/secrets");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).getByText("Serverless").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "hidden" });
  });

  await step("search finds a tab of the account", async () => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search" }).fill("ssh");
    await page.getByRole("option", { name: /SSH keys/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(`${at.server.url}/account/ssh-keys`);
  });

  await step("what the server refuses is said at its field", async () => {
    await visit(walk, "/secrets/new");
    await page.getByLabel("Name").fill("no name");
    await page.getByLabel("Value").fill("a value");
    await button(page, "Create secret").click();
    await page.locator("input[aria-invalid=true]").waitFor();
    expect(await page.locator("input[aria-invalid=true]").inputValue()).toBe("no name");
  });

  await step("what was typed is not lost by Back", async () => {
    await visit(walk, "/secrets");
    await page.getByRole("link", { name: "Create secret" }).first().click();
    await page.getByLabel("Name").fill("HALF_TYPED");
    await page.goBack();
    await page.getByRole("alertdialog", { name: "Leave without saving?" }).waitFor();
    await button(page, "Stay here").click();
    expect(await page.getByLabel("Name").inputValue()).toBe("HALF_TYPED");
    expect(page.url()).toBe(`${at.server.url}/secrets/new`);
    await page.goBack();
    await button(page, "Leave").click();
    await page.waitForURL(`${at.server.url}/secrets`);
  });

  await step("the lines of two workers are one stream, with the worker as a tag", async () => {
    const endpoint = await at.endpoint({ name: "pair", workers: { min: 2, max: 2 } });
    const input = { together: 2 };
    const jobs = [0, 1].map(() => at.call("POST", `/v2/${endpoint}/run`, { input }));
    const ids = (await Promise.all(jobs)).map(({ json }) => json.id as string);
    await visit(walk, `/serverless/${endpoint}/logs`);
    for (const id of ids) await page.getByText(`begun ${id}`).waitFor();
    const { json } = await at.call("GET", `/v2/serverless/${endpoint}/workers`);
    for (const { id } of json.workers) await page.getByText(id, { exact: true }).first().waitFor();
  });

  await step("a lost connection is said, and that it is back", async () => {
    await visit(walk, "/secrets");
    await context.setOffline(true);
    await page.getByText("The connection to the server is lost").waitFor();
    await context.setOffline(false);
    await page.getByText("The connection to the server is lost").waitFor({ state: "hidden" });
    await at.call("POST", "/v2/account/secrets", { name: "MEANWHILE", value: "a" });
    await page.getByRole("row", { name: /MEANWHILE/ }).waitFor();
    await heading(page, "Secrets").waitFor();
  });

  await step("closing a tab with a half-typed form asks, and a sign-out elsewhere does not wait for that", async () => {
    const asked: string[] = [];
    page.on("dialog", (dialog) => {
      asked.push(dialog.type());
      void dialog.accept();
    });
    const type = async () => {
      await visit(walk, "/secrets/new");
      await page.getByLabel("Name").click();
      await page.keyboard.type("HALF");
    };
    await type();
    await page.reload();
    expect(asked).toEqual(["beforeunload"]);
    await type();
    const other = await context.newPage();
    await visit({ at, page: other }, "/secrets");
    await other.evaluate(`localStorage.removeItem("millrace.page")`);
    await page.waitForURL(/sign-in/);
    expect(asked).toEqual(["beforeunload"]);
  });
  expect(troubles.seen).toEqual([]);
});
