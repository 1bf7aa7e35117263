/** Steps of the walk about what an operator and a caller of batches do: prices, and the name of a batch. */
import { expect } from "vitest";
import { button, heading, visit, type Walk } from "./walk.ts";

/** Sets a price, and gives it back to the catalog: of a type in a pool, and of one without, whose workers have no price of their own. */
export async function priceAndRestore(walk: Walk): Promise<void> {
  const { at, page } = walk;
  const priceOf = async (id: string) =>
    (await at.call("GET", "/v2/installation/prices")).json.gpus.find((type: { id: string }) => type.id === id).secure;
  const until = async (id: string, price: number) => {
    while ((await priceOf(id)) !== price) await page.waitForTimeout(200);
  };
  const { gpus } = (await at.call("GET", "/v2/catalog/gpus")).json as { gpus: { id: string; pool?: string | null }[] };
  for (const { id } of [gpus.find(({ pool }) => pool)!, gpus.find(({ pool }) => !pool)!]) {
    const before = await priceOf(id);
    await visit(walk, "/installation/prices");
    await page.getByRole("button", { name: `Change the prices of ${id}`, exact: true }).click();
    await page.getByLabel("Secure", { exact: true }).fill("9.5");
    await button(page, "Set prices").click();
    await page.getByText("The prices were set").first().waitFor();
    await until(id, 9.5);
    await visit(walk, "/installation/prices");
    await page.getByRole("button", { name: `Change the prices of ${id}`, exact: true }).click();
    await button(page, "Restore the catalog's").click();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await until(id, before);
  }
}

export async function renameBatch(walk: Walk): Promise<void> {
  const { at, page } = walk;
  const id = await at.endpoint({ name: "batches" });
  const { json: batch } = await at.call("POST", `/v2/${id}/batch`, [{ input: {} }]);
  await visit(walk, `/serverless/${id}/batches/${batch.id}`);
  await button(page, "Rename").click();
  await page.getByRole("dialog").getByLabel("Name", { exact: true }).fill("nightly");
  await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await page.getByText("nightly").first().waitFor();
  await visit(walk, `/serverless/${id}/batches`);
  await page.getByRole("row", { name: /nightly/ }).click();
  await heading(page, /./).waitFor();
  expect(page.url()).toContain(batch.id);
  expect((await at.call("DELETE", `/v2/serverless/${id}`)).status).toBe(204);
}
