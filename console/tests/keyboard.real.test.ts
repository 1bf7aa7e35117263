/** The main walk with the keyboard alone: sign in, create, run, search, delete. */
import { beforeEach, expect, test } from "vitest";
import { missingForTests } from "../../platform/src/adapters/host/machine.ts";
import { missingBrowser } from "./chromium.ts";
import { goTo, pressOn, typeInto, untilFocused } from "./keyboard.ts";
import { consolePlace } from "./place.ts";
import { heading, OWNER } from "./walk.ts";
import { enterByLink } from "./walk-people.ts";

const missing = missingBrowser ?? (await missingForTests());
beforeEach(({ skip }) => skip(missing !== undefined, missing));

test("the main walk needs no pointer", async ({ onTestFailed }) => {
  await using walk = await consolePlace(onTestFailed);
  const { at, page, folder, step, troubles } = walk;
  const { keyboard } = page;
  await enterByLink(walk);
  await heading(page, "Welcome to Millrace").waitFor();

  await step("sets a password, signs out and in", async () => {
    await goTo(page, "account");
    await heading(page, "Account").waitFor();
    await untilFocused(page);
    await typeInto(page, "Email", OWNER.email);
    await typeInto(page, "New password", OWNER.password);
    await keyboard.press("Enter");
    await page.getByRole("button", { name: "Change password" }).waitFor();
    await pressOn(page, "Sign out", "button");
    await heading(page, "Sign in").waitFor();
    await untilFocused(page);
    await keyboard.type(OWNER.email);
    await typeInto(page, "Password", OWNER.password);
    await keyboard.press("Enter");
    await page.waitForURL(`${at.server.url}/`);
  });

  await step("creates a secret", async () => {
    await page.getByRole("navigation", { name: "Main" }).waitFor();
    await goTo(page, "create secret");
    await heading(page, /secret/i).waitFor();
    await untilFocused(page);
    await typeInto(page, "Name", "TOKEN");
    await typeInto(page, "Value", "a value");
    await pressOn(page, "Create secret");
    await heading(page, "TOKEN").waitFor();
    await untilFocused(page);
  });

  await step("creates an endpoint", async () => {
    await goTo(page, "create endpoint");
    await heading(page, "Create an endpoint").waitFor();
    await untilFocused(page);
    await typeInto(page, "Name", "echo");
    await typeInto(page, "Image", `host:${folder}`);
    await typeInto(page, /^Command/, "node\nworker.mjs");
    await pressOn(page, "CPU");
    await pressOn(page, /vCPU,/);
    await pressOn(page, "Create endpoint");
    await heading(page, "echo").waitFor();
    await untilFocused(page);
  });

  await step("runs a job", async () => {
    await pressOn(page, "Try it", "a");
    await page.getByRole("heading", { name: "Request" }).waitFor();
    await untilFocused(page);
    // The first is the way of calling, and the second sends the request.
    await pressOn(page, "Run", "button");
    await pressOn(page, "Run", "button");
    await page.getByText("Completed", { exact: true }).first().waitFor();
  });

  await step("finds a place by its letter, opens a row, and comes back", async () => {
    await keyboard.press("g");
    await keyboard.press("e");
    await heading(page, "Serverless").waitFor();
    await page.getByRole("row", { name: /echo/ }).waitFor();
    await keyboard.press("j");
    await keyboard.press("Enter");
    await heading(page, "echo").waitFor();
    await untilFocused(page);
  });

  await step("deletes the endpoint by its name", async () => {
    await pressOn(page, "Settings", "a");
    await page.getByRole("heading", { name: "Delete this endpoint" }).waitFor();
    await untilFocused(page);
    await pressOn(page, "Delete echo");
    await page.getByLabel("Type echo to go on").waitFor();
    await untilFocused(page);
    await keyboard.type("echo");
    await keyboard.press("Enter");
    await page.getByText("echo was deleted").waitFor();
    await heading(page, "Serverless").waitFor();
    await untilFocused(page);
  });
  expect((await at.call("GET", "/v2/serverless")).json.endpoints).toEqual([]);
  expect(troubles.seen).toEqual([]);
});
