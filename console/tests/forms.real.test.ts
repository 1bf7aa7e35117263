/** What a person typed is not lost unseen, and what a page cannot do now it says. */
import { beforeEach, expect, test } from "vitest";
import { missingForTests } from "../../platform/src/adapters/host/machine.ts";
import { missingBrowser, person } from "./chromium.ts";
import { consolePlace } from "./place.ts";
import { button, heading, VIEWER, visit } from "./walk.ts";
import { enterByLink } from "./walk-people.ts";

const missing = missingBrowser ?? (await missingForTests());
beforeEach(({ skip }) => skip(missing !== undefined, missing));

test("forms lose nothing unseen, and pages without a network or a clipboard say what they cannot do", async ({
  onTestFailed,
}) => {
  await using walk = await consolePlace(onTestFailed);
  const { at, page, context, step, troubles } = walk;
  await enterByLink(walk);
  const endpoint = await at.endpoint({ name: "typed", env: { A: "1", B: "2" }, workers: { min: 0, max: 0 } });
  const settings = `/serverless/${endpoint}/settings`;

  await step("what was discarded is not shown any more", async () => {
    await visit(walk, settings);
    await page.getByLabel("Value of A").fill("discarded");
    await button(page, "Discard").click();
    expect(await page.getByLabel("Value of A").inputValue()).toBe("1");
  });

  await step("a form with the same name twice is not sent, and says why", async () => {
    await page.getByPlaceholder("NAME").last().fill("A");
    await page.getByText("A is there twice.").waitFor();
    await button(page, "Save changes").click();
    expect((await at.call("GET", `/v2/serverless/${endpoint}`)).json.env).toEqual({ A: "1", B: "2" });
    await page.getByPlaceholder("NAME").last().fill("C");
    await button(page, "Save changes").click();
    await page.getByText("Saved", { exact: true }).waitFor();
    expect((await at.call("GET", `/v2/serverless/${endpoint}`)).json.env).toEqual({ A: "1", C: "2" });
  });

  await step("a name is typed again as it is seen, where it has spaces in a row and line breaks", async () => {
    const odd = await at.endpoint({ name: "two  spaces\nand lines", workers: { min: 0, max: 0 } });
    await visit(walk, `/serverless/${odd}/settings`);
    await button(page, /^Delete two/).click();
    await page.getByLabel("Type two spaces and lines to go on").fill("two spaces and lines");
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await heading(page, "Serverless").waitFor();
    expect((await at.call("GET", `/v2/serverless/${odd}`)).status).toBe(404);
  });

  await step("a press beside a dialog loses nothing that was typed, and no key that is shown once", async () => {
    const beside = () => page.mouse.click(5, 5);
    await visit(walk, "/account/keys?do=create");
    await page.getByRole("dialog").waitFor();
    await beside();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await button(page, "Create API key").click();
    await page.getByRole("dialog").getByLabel("Name").fill("kept");
    await beside();
    await button(page, "Create key").click();
    await button(page, "I have copied it").waitFor();
    await beside();
    await button(page, "I have copied it").click();
    await page.getByRole("row", { name: /kept/ }).waitFor();
  });

  await step("a viewer who opens a form by its address is told why it cannot be sent", async () => {
    const { json: invitation } = await at.call("POST", "/v2/account/invitations", { role: "viewer" });
    const viewer = await person(walk.browser, troubles);
    await viewer.page.goto(invitation.url);
    await viewer.page.getByLabel("Email").fill(VIEWER.email);
    await viewer.page.getByLabel("Password").fill(VIEWER.password);
    await button(viewer.page, /^Join/).click();
    await viewer.page.waitForURL(`${at.server.url}/`);
    await viewer.page.goto(`${at.server.url}/secrets/new`);
    const sending = button(viewer.page, "Create secret");
    expect(await sending.getAttribute("aria-disabled")).toBe("true");
    expect(await sending.getAttribute("data-hint")).toContain("secrets:write");
    await viewer.context.close();
  });

  await step("a number of 64 bits keeps its digits when its job is shown and run again", async () => {
    const first = await fetch(`${at.server.url}/v2/${endpoint}/run`, {
      method: "POST",
      headers: { Authorization: `Bearer ${at.key}`, "Content-Type": "application/json" },
      body: '{"input":{"seed":12345678901234567890}}',
    });
    const { id } = (await first.json()) as { id: string };
    await visit(walk, `/serverless/${endpoint}/try?job=${id}`);
    await page.getByText('"seed": 12345678901234567890').first().waitFor();
    await button(page, "Run").last().click();
    await page.getByRole("link", { name: "See the job" }).click();
    await page.waitForURL((url) => url.pathname.includes("/jobs/") && !url.pathname.includes(id));
    await page.getByText('"seed": 12345678901234567890').first().waitFor();
  });

  await step("a batch that could not be started is not made a second time by another try", async () => {
    await visit(walk, `/serverless/${endpoint}/batches`);
    await button(page, /^Create/)
      .first()
      .click();
    const lines = { name: "lines.jsonl", mimeType: "text/plain", buffer: Buffer.from('{"n":1}\n{"n":2}') };
    await page.getByLabel(/^File of requests/).setInputFiles(lines);
    await page.route(/finalize/, (route) => route.abort());
    await button(page, "Create and start").click();
    await page.getByText("The server did not answer.").waitFor();
    await page.unroute(/finalize/);
    await button(page, "Create and start").click();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    const { json } = await at.call("GET", `/v2/${endpoint}/batch`);
    expect(json.batches).toMatchObject([{ status: "FINALIZED", requestTotal: 2 }]);
  });

  await step("a log without lines is not downloaded", async () => {
    await visit(walk, `/serverless/${endpoint}/logs`);
    const saving = button(page, "Download the lines shown");
    expect(await saving.getAttribute("aria-disabled")).toBe("true");
  });

  await step("a page without a clipboard of the browser copies all the same", async () => {
    const plain = await context.newPage();
    await plain.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    await plain.goto(`${at.server.url}/serverless/${endpoint}`);
    await button(plain, "Copy the id").first().click();
    await plain.keyboard.press("Control+k");
    await plain.getByRole("combobox", { name: "Search" }).press("Control+v");
    expect(await plain.getByRole("combobox", { name: "Search" }).inputValue()).toBe(endpoint);
    await plain.close();
  });

  await step("a write without a network fails at once, keeps what was typed, and is not done later", async () => {
    await visit(walk, "/secrets/new");
    await page.getByLabel("Name").fill("LATER");
    await page.getByLabel("Value").fill("a value");
    await context.setOffline(true);
    await button(page, "Create secret").click();
    await page.getByText("The server did not answer.").waitFor();
    expect(await page.getByLabel("Name").inputValue()).toBe("LATER");
  });

  await step("a page whose files cannot be fetched waits for the network, and then appears", async () => {
    await page.getByRole("link", { name: "Registries" }).click();
    await button(page, "Leave").click();
    await page.getByText("The server cannot be reached").waitFor();
    await context.setOffline(false);
    await heading(page, "Registries").waitFor();
    expect((await at.call("GET", "/v2/account/secrets")).json.secrets).toEqual([]);
  });
  expect(troubles.seen).toEqual([]);
});
