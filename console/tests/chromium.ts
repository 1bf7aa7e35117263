/** A real browser for tests: the Chromium of this machine, and pages that fail loudly. */
import { access, constants } from "node:fs/promises";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const FOLDERS = ["/usr/bin", "/usr/local/bin", "/opt/google/chrome"];
const NAMES = ["chromium", "chromium-browser", "google-chrome"];

async function programPath(): Promise<string | undefined> {
  for (const path of NAMES.flatMap((name) => FOLDERS.map((folder) => join(folder, name)))) {
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}

const program = await programPath();

/** Why tests with a browser cannot run here. */
export const missingBrowser =
  program === undefined
    ? "Chromium is not installed: apt-get install chromium (npm run test:all does it as root)"
    : undefined;

export const startBrowser = (...more: string[]): Promise<Browser> =>
  // The browser visits nothing but the server under test, and root has no sandbox of Chromium's.
  chromium.launch({ executablePath: program!, args: ["--no-sandbox", ...more] });

/** What went wrong in a page that no assertion looks at: exceptions, and requests that the security policy stopped. */
export class Troubles {
  readonly seen: string[] = [];

  watch(page: Page): void {
    page.on("pageerror", (error) => this.seen.push(`exception: ${error.message}`));
    page.on("console", (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) this.seen.push(message.text());
    });
  }
}

/** A person at a browser of their own, without animations that a check could catch half-way. */
export async function person(browser: Browser, troubles: Troubles): Promise<{ context: BrowserContext; page: Page }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" });
  // Only a page that hangs takes so long, also on a machine that does much else.
  context.setDefaultTimeout(120_000);
  context.on("page", (page) => troubles.watch(page));
  return { context, page: await context.newPage() };
}
