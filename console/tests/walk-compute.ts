/** Steps of the walk about what runs: a secret, an endpoint with a job, a crash loop that is repaired from its page. */
import { expect } from "vitest";
import { button, heading, visit, type Walk } from "./walk.ts";

const FIRST_VALUE = "first value";
const NEXT_VALUE = "rotated value";

/** The id of the record whose page is open. */
const idOf = ({ page }: Pick<Walk, "page">) => new URL(page.url()).pathname.split("/")[2]!;

export async function rotateSecret(walk: Walk): Promise<void> {
  const { page } = walk;
  await visit(walk, "/secrets/new");
  await page.getByLabel("Name").fill("TOKEN");
  await page.getByLabel("Value").fill(FIRST_VALUE);
  await button(page, "Create secret").click();
  await heading(page, "TOKEN").waitFor();
  await page.getByLabel("Value").fill(NEXT_VALUE);
  await button(page, "Save changes").click();
  await page.getByText("Saved", { exact: true }).waitFor();
  expect(await page.content()).not.toContain(NEXT_VALUE);
}

/** The form is filled in by hand. The worker answers with the secret, so that its new value is known to have arrived. */
export async function createEndpoint(walk: Walk): Promise<void> {
  const { page, folder } = walk;
  await visit(walk, "/serverless/new");
  await page.getByLabel("Name", { exact: true }).first().fill("echo");
  await page.getByLabel("Image").fill(`host:${folder}`);
  await page.getByLabel("Command").fill("node\nworker.mjs");
  const env = page.getByRole("group", { name: "Environment" }).or(page.locator("form"));
  await env.getByRole("button", { name: "Add", exact: true }).first().click();
  await page.getByPlaceholder("NAME").first().fill("TOKEN");
  await page.getByPlaceholder("value").first().fill("{{ MILLRACE_SECRET_TOKEN }}");
  await chooseCpu(walk);
  await button(page, "Create endpoint").click();
  await heading(page, "echo").waitFor();
}

async function chooseCpu({ page }: Walk): Promise<void> {
  await page.getByRole("group", { name: "Kind of compute" }).getByRole("button", { name: "CPU" }).click();
  await page.locator("button[aria-pressed]", { hasText: "vCPU" }).first().click();
}

/** The template fills in the form; a name and compute are all that is left to say. */
export async function createFromTemplate(walk: Walk): Promise<void> {
  const { at, page, folder } = walk;
  const image = `host:${folder}`;
  const body = { name: "worker", image, cmd: ["node", "worker.mjs"], serverless: true };
  const { json: template } = await at.call("POST", "/v2/templates", body);
  await visit(walk, `/templates/${template.id}`);
  await page.getByRole("link", { name: "Use for an endpoint" }).click();
  await heading(page, "Create an endpoint").waitFor();
  await page.getByLabel(/^Name/).first().fill("templated");
  expect(await page.getByLabel(/^Image/).inputValue()).toBe(image);
  await chooseCpu(walk);
  await button(page, "Create endpoint").click();
  await heading(page, "templated").waitFor();
  const { json } = await at.call("GET", `/v2/serverless/${idOf(walk)}`);
  expect(json).toMatchObject({ name: "templated", image, cmd: body.cmd });
}

export async function runJob(walk: Walk): Promise<void> {
  const { page } = walk;
  await page.getByRole("link", { name: "Try it", exact: true }).first().click();
  await button(page, /^Run$/).last().click();
  await page.getByText("Completed", { exact: true }).first().waitFor();
  await page.getByText(NEXT_VALUE).first().waitFor();
  await page.getByRole("link", { name: "See the job" }).click();
  await page.getByRole("heading", { name: "Timeline" }).waitFor();
  await page.getByText(NEXT_VALUE).first().waitFor();
}

/** What a job streams is on its page while the job still runs, which it would do for long: it is cancelled there. */
export async function streamJob(walk: Walk): Promise<void> {
  const { at, page } = walk;
  const id = idOf(walk);
  const { json: job } = await at.call("POST", `/v2/${id}/run`, { input: { says: "a first word", ms: 3_600_000 } });
  await visit(walk, `/serverless/${id}/jobs/${job.id}`);
  await page.getByText("a first word", { exact: true }).first().waitFor();
  await page.getByText("In progress", { exact: true }).first().waitFor();
  await button(page, /^Cancel$/).click();
  await button(page, /^Cancel/)
    .last()
    .click();
  await page.getByText("Cancelled", { exact: true }).first().waitFor();
}

/** The endpoint says why its workers die, with the last words of one, and runs its job once it is repaired from there. */
export async function repairCrashLoop(walk: Walk): Promise<void> {
  const { at, page } = walk;
  const id = await at.endpoint({ name: "broken", env: { EXIT_AT_START: "3" } });
  const { json: job } = await at.call("POST", `/v2/${id}/run`, { input: {} });
  await visit(walk, `/serverless/${id}`);
  await page.getByText("no such model").first().waitFor();
  await button(page, "Repair").click();
  await button(page, "Remove EXIT_AT_START").click();
  await button(page, "Save changes").click();
  await at.until(id, job.id, ({ status }) => status === "COMPLETED");
  await visit(walk, `/serverless/${id}/jobs/${job.id}`);
  await page.getByText("Completed", { exact: true }).first().waitFor();
}

/** Deletes what is open, and types its name where that is asked. */
async function deleteEndpoint(walk: Walk, name: string): Promise<void> {
  const { page } = walk;
  await visit(walk, "/serverless");
  await page
    .getByRole("row", { name: new RegExp(name) })
    .first()
    .click();
  await heading(page, name).waitFor();
  await visit(walk, `/serverless/${idOf(walk)}/settings`);
  await button(page, `Delete ${name}`).click();
  await page.getByLabel(`Type ${name} to go on`).fill(name);
  await button(page, "Delete").last().click();
  await page.getByText(`${name} was deleted`).waitFor();
}

export async function deleteEverything(walk: Walk): Promise<void> {
  const { at, page } = walk;
  await deleteEndpoint(walk, "echo");
  await deleteEndpoint(walk, "templated");
  await deleteEndpoint(walk, "broken");
  await visit(walk, "/secrets");
  await page.getByRole("row", { name: /TOKEN/ }).click();
  await heading(page, "TOKEN").waitFor();
  await button(page, "Delete").click();
  await page.getByLabel("Type TOKEN to go on").fill("TOKEN");
  await button(page, "Delete").last().click();
  await page.getByText("TOKEN was deleted").waitFor();
  for (const [path, key] of [
    ["/v2/serverless", "endpoints"],
    ["/v2/account/secrets", "secrets"],
    ["/v2/pods", "pods"],
    ["/v2/network-volumes", "networkVolumes"],
  ] as const)
    expect((await at.call("GET", path)).json[key]).toEqual([]);
}
