/** Steps of the walk about what stays: a volume with a file, and a Pod that reads it, is followed, entered, paid for and stopped. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { button, heading, visit, type Walk } from "./walk.ts";

const FILE = { name: "hello.txt", mimeType: "text/plain", buffer: Buffer.from("words on a volume\n") };
/** Prints the file, and a further line each second. */
const PROGRAM = "sh\n-c\ncat /data/hello.txt; n=0; while true; do n=$((n+1)); echo line $n; sleep 1; done";

const idOf = ({ page }: Pick<Walk, "page">) => new URL(page.url()).pathname.split("/")[2]!;

export async function fillVolume(walk: Walk): Promise<void> {
  const { page } = walk;
  await visit(walk, "/volumes/new");
  await page.getByLabel("Name", { exact: true }).fill("data");
  await page.getByLabel("Data center").click();
  await page.getByRole("option").first().click();
  await button(page, "Create network volume").click();
  await heading(page, "data").waitFor();
  await visit(walk, `/volumes/${idOf(walk)}/files`);
  await page.getByLabel("Files to upload").setInputFiles(FILE);
  await page.getByRole("row", { name: /hello\.txt/ }).waitFor();
  await dropFolder(walk);
}

/** A folder that is dropped on the page comes with the files and folders in it. */
async function dropFolder({ at, page, context, folder }: Walk): Promise<void> {
  const dropped = join(folder, "dropped");
  await mkdir(join(dropped, "inner"), { recursive: true });
  await writeFile(join(dropped, "inner", "deep.txt"), "words in a folder\n");
  const { x, y } = (await page.getByRole("row", { name: /hello\.txt/ }).boundingBox())!;
  const session = await context.newCDPSession(page);
  const data = { items: [], files: [dropped], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const)
    await session.send("Input.dispatchDragEvent", { type, x: x + 5, y: y + 5, data });
  await session.detach();
  await page.getByRole("row", { name: /dropped/ }).waitFor();
  await visit({ at, page }, `${new URL(page.url()).pathname}?path=dropped/inner`);
  await page.getByRole("row", { name: /deep\.txt/ }).waitFor();
}

export async function createPod(walk: Walk): Promise<void> {
  const { page, folder } = walk;
  await visit(walk, "/pods/new");
  await page.getByLabel("Name", { exact: true }).first().fill("reader");
  await page.getByLabel("Image").fill(`host:${folder}`);
  await page.getByLabel("Command").fill(PROGRAM);
  await page.getByRole("group", { name: "Kind of compute" }).getByRole("button", { name: "CPU" }).click();
  await page.locator("button[aria-pressed]", { hasText: "vCPU" }).first().click();
  const storage = page.getByRole("group", { name: "Storage that stays" }).first();
  await storage.getByRole("button", { name: "Network volume" }).click();
  await page.getByLabel("Volume", { exact: true }).click();
  await page.getByRole("option").first().click();
  await page.getByLabel("Path").fill("/data");
  await button(page, "Create Pod").click();
  await heading(page, "reader").waitFor();
  await page.getByText("Running", { exact: true }).first().waitFor();
}

/** The file that was uploaded is in the log of the program that reads it, and lines that are written later come by themselves. */
export async function followLog(walk: Walk): Promise<void> {
  const { page } = walk;
  await visit(walk, `/pods/${idOf(walk)}/logs`);
  await page.getByText("words on a volume").first().waitFor();
  const written = await page
    .getByText(/^line \d+$/)
    .last()
    .innerText();
  const later = Number(written.split(" ")[1]) + 2;
  await page.getByText(`line ${later}`, { exact: true }).waitFor();
}

/** A screen is drawn and not text, so that a file tells what was typed there. */
export async function useTerminal(walk: Walk): Promise<void> {
  const { at, page } = walk;
  await visit(walk, `/pods/${idOf(walk)}/terminal`);
  await page.getByText("Connected", { exact: true }).first().waitFor();
  await page.locator(".xterm-helper-textarea").focus();
  await page.keyboard.type("cp /data/hello.txt /data/copied.txt\n");
  const { json } = await at.call("GET", "/v2/network-volumes");
  await visit(walk, `/volumes/${json.networkVolumes[0].id}/files`);
  // The list of a folder is not live: others write there without a word.
  for (let tries = 0; tries < 20 && !(await page.getByRole("row", { name: /copied\.txt/ }).isVisible()); tries++) {
    await page.reload();
    await page.getByRole("row", { name: /hello\.txt/ }).waitFor();
  }
  await page.getByRole("row", { name: /copied\.txt/ }).waitFor();
}

export async function stopPod(walk: Walk): Promise<void> {
  const { page } = walk;
  await visit(walk, "/pods");
  await page.getByRole("row", { name: /reader/ }).click();
  await heading(page, "reader").waitFor();
  await button(page, "Stop").click();
  await button(page, "Stop").last().click();
  await page
    .getByText("Exited", { exact: true })
    .or(page.getByText("Stopped", { exact: true }))
    .first()
    .waitFor();
}

/** What ran for seconds has a price already. */
export async function readBill(walk: Walk): Promise<void> {
  const { page } = walk;
  await visit(walk, "/billing");
  await page.getByText("reader").first().waitFor();
}

export async function deletePodAndVolume(walk: Walk): Promise<void> {
  const { page } = walk;
  await visit(walk, "/pods");
  await page.getByRole("row", { name: /reader/ }).click();
  await heading(page, "reader").waitFor();
  await button(page, "Terminate").click();
  await button(page, "Terminate").last().click();
  await page.getByText("reader is terminated").waitFor();
  await visit(walk, "/volumes");
  await page.getByRole("row", { name: /data/ }).click();
  await heading(page, "data").waitFor();
  await button(page, "Delete").click();
  await page.getByLabel("Type data to go on").fill("data");
  await button(page, "Delete").last().click();
  await page.getByText("data was deleted").waitFor();
}
