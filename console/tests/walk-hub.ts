/** Steps of the walk about the hub: a listing is found, deployed with values of the form, and its test job completes. */
import { button, heading, visit, type Walk } from "./walk.ts";

export async function deployListing(walk: Walk): Promise<void> {
  const { page } = walk;
  await visit(walk, "/hub");
  await page.getByLabel("Search the hub").fill("vectors");
  await page.getByRole("link", { name: /Embeddings without a model/ }).click();
  await heading(page, "Embeddings without a model").waitFor();
  await page.getByLabel("Preset").click();
  await page.getByRole("option", { name: "Small" }).click();
  await page.getByLabel("Name", { exact: true }).fill("vectors");
  await button(page, "Deploy").click();
  await page.getByText("embeds a text").waitFor();
  await page.getByText("Passed", { exact: true }).first().waitFor();
}

/** The job that proved it is on its page, with what the preset asked for. */
export async function readProof(walk: Walk): Promise<void> {
  const { at, page } = walk;
  await page.getByRole("link", { name: "The job" }).click();
  await page.getByText("Completed", { exact: true }).first().waitFor();
  await page.getByText("hashed-words").first().waitFor();
  await at.call("DELETE", `/v2/serverless/${new URL(page.url()).pathname.split("/")[2]}`);
}
