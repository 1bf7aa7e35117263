/** Takes the pictures of the console in the documents, from a real server with real workers: `npm run screenshots`. */
import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { root } from "../../platform/tests/process.ts";
import { smallPng } from "../../scripts/small-png.ts";
import { consolePlace } from "./place.ts";
import { button, visit, type Walk } from "./walk.ts";
import { enterByLink } from "./walk-people.ts";

const folder = fileURLToPath(new URL("../../docs/images/console", import.meta.url));
const SIZES = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };
/** Charts have a point every ten seconds, and a crash loop needs a few starts to be one. */
const UNTIL_FULL_MS = 240_000;
/** Longer than the animation of anything, and than the time until charts are drawn. */
const UNTIL_STILL_MS = 1500;

/** Has a log to follow. */
const NOTEBOOK = 'epoch=0; while true; do epoch=$((epoch+1)); echo "epoch $epoch done"; sleep 1; done';

type Theme = "light" | "dark";
type Size = keyof typeof SIZES;

/** An account with something to see: an endpoint that works, one that does not, a Pod, a secret. */
async function fill({ at, folder: program }: Walk): Promise<{ working: string; broken: string; pod: string }> {
  const working = await at.endpoint({ name: "transcribe", workers: { min: 1, max: 3 } });
  const broken = await at.endpoint({ name: "summarize", env: { EXIT_AT_START: "3" } });
  await at.call("POST", `/v2/${broken}/run`, { input: { text: "a long letter" } });
  await at.call("POST", "/v2/account/secrets", { name: "HF_TOKEN", value: "hf_not_a_token" });
  const { json } = await at.call("POST", "/v2/pods", {
    name: "notebook",
    image: `host:${program}`,
    cmd: ["sh", "-c", NOTEBOOK],
    cpu: { id: "cpu3c", vcpuCount: 2 },
    ports: ["8888/http"],
  });
  return { working, broken, pod: json.id };
}

/** Jobs come in waves, so that the charts have a shape. */
async function keepBusy({ at, page }: Walk, endpoint: string): Promise<void> {
  for (let wave = 0; wave < UNTIL_FULL_MS / 5000; wave++) {
    for (let job = 0; job < 4 + (wave % 3) * 4; job++)
      await at.call("POST", `/v2/${endpoint}/run`, { input: { file: `call-${wave}-${job}.wav`, ms: 200 + job * 90 } });
    await page.waitForTimeout(5000);
  }
}

/** Folders of the machine that takes the pictures, and what is shown in their place. */
type Folders = readonly [real: string, shown: string][];

/** Changes the words of the page alone. */
const withOtherFolders = (folders: Folders) => `{
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (words.nextNode())
    for (const [real, shown] of ${JSON.stringify(folders)})
      if (words.currentNode.data.includes(real))
        words.currentNode.data = words.currentNode.data.replaceAll(real, shown);
}`;

async function take(page: Page, name: string, theme: Theme, size: Size, folders: Folders): Promise<void> {
  await page.setViewportSize(SIZES[size]);
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
  await page.waitForTimeout(UNTIL_STILL_MS);
  await page.evaluate(withOtherFolders(folders));
  await writeFile(`${folder}/${name}-${theme}-${size}.png`, smallPng(await page.screenshot()));
}

async function takeAll(): Promise<void> {
  await mkdir(folder, { recursive: true });
  await using walk = await consolePlace(() => undefined);
  await enterByLink(walk);
  await button(walk.page, "Later").click();
  const { working, broken, pod } = await fill(walk);
  await keepBusy(walk, working);
  const pages: [name: string, path: string, ...pictures: [Theme, Size][]][] = [
    ["overview", "/", ["light", "desktop"], ["dark", "desktop"], ["dark", "phone"]],
    ["endpoint", `/serverless/${working}`, ["light", "desktop"], ["light", "phone"]],
    ["jobs", `/serverless/${working}/jobs`, ["dark", "desktop"]],
    ["try", `/serverless/${working}/try`, ["light", "desktop"]],
    ["failing", `/serverless/${broken}`, ["light", "desktop"], ["dark", "phone"]],
    ["create", "/serverless/new", ["light", "desktop"]],
    ["pod", `/pods/${pod}`, ["dark", "desktop"]],
    ["logs", `/pods/${pod}/logs`, ["light", "desktop"]],
  ];
  const folders: Folders = [
    [walk.folder, "/home/ada/app"],
    [root.replace(/\/$/, ""), "/opt/millrace"],
  ];
  for (const [name, path, ...pictures] of pages) {
    await visit(walk, path);
    for (const [theme, size] of pictures) await take(walk.page, name, theme, size, folders);
  }
}

await takeAll();
process.exit(0);
