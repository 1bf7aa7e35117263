/** Takes the pictures of the console in the documents, from a real server with real workers: `npm run screenshots`. */
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { consolePlace } from "./place.ts";
import { visit, type Walk } from "./walk.ts";
import { firstLink } from "./walk-people.ts";

const folder = fileURLToPath(new URL("../../docs/images/console", import.meta.url));
const DESKTOP = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
/** Charts have a point every ten seconds, and a crash loop needs a few starts to be one. */
const UNTIL_FULL_MS = 45_000;

type Theme = "light" | "dark";

/** An account with something to see: an endpoint that works, one that does not, a Pod, a secret. */
async function fill({ at, folder: program }: Walk): Promise<{ working: string; broken: string; pod: string }> {
  const working = await at.endpoint({ name: "transcribe" });
  for (let job = 0; job < 12; job++)
    await at.call("POST", `/v2/${working}/run`, { input: { file: `call-${job}.wav` } });
  const broken = await at.endpoint({ name: "summarize", env: { EXIT_AT_START: "3" } });
  await at.call("POST", `/v2/${broken}/run`, { input: { text: "a long letter" } });
  await at.call("POST", "/v2/account/secrets", { name: "HF_TOKEN", value: "hf_not_a_token" });
  const { json } = await at.call("POST", "/v2/pods", {
    name: "notebook",
    image: `host:${program}`,
    cmd: ["sh", "-c", "while true; do echo epoch done; sleep 2; done"],
    cpu: { id: "cpu3c", vcpuCount: 2 },
  });
  return { working, broken, pod: json.id };
}

async function take(page: Page, name: string, { theme, size }: { theme: Theme; size: typeof DESKTOP }): Promise<void> {
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
  await page.waitForLoadState("networkidle").catch(() => undefined);
  await page.waitForTimeout(1500);
  const place = size === PHONE ? "phone" : "desktop";
  await page.screenshot({ path: `${folder}/${name}-${theme}-${place}.png` });
}

async function takeAll(): Promise<void> {
  await mkdir(folder, { recursive: true });
  await using walk = await consolePlace(() => undefined);
  await firstLink(walk);
  const { working, broken, pod } = await fill(walk);
  await walk.page.waitForTimeout(UNTIL_FULL_MS);
  const pages = {
    overview: "/",
    endpoint: `/serverless/${working}`,
    failing: `/serverless/${broken}`,
    create: "/serverless/new",
    pod: `/pods/${pod}`,
  };
  for (const [name, path] of Object.entries(pages)) {
    await visit(walk, path);
    await take(walk.page, name, { theme: "light", size: DESKTOP });
    await take(walk.page, name, { theme: "dark", size: DESKTOP });
    if (name === "overview" || name === "failing") await take(walk.page, name, { theme: "dark", size: PHONE });
  }
}

await takeAll();
process.exit(0);
