/** What the steps of the walk share: the server, the people at their browsers, and what was made so far. */
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import type { ServerPlace } from "../../platform/tests/worker-place.ts";

export interface Walk {
  at: ServerPlace;
  browser: Browser;
  context: BrowserContext;
  /** The owner's page. */
  page: Page;
  /** Runs a part of the walk, and says which it was when it fails. */
  step(name: string, run: () => Promise<void>): Promise<void>;
  /** A folder that workers and Pods run as `host:FOLDER`. */
  folder: string;
}

export const OWNER = { email: "ada@example.com", password: "correct horse battery" };
export const VIEWER = { email: "vi@example.com", password: "a password of vi" };

export const button = (page: Page, name: string | RegExp): Locator => page.getByRole("button", { name });
export const heading = (page: Page, name: string | RegExp): Locator => page.getByRole("heading", { name, level: 1 });

/** Opens a page of the console by its address, as a link from a colleague would. */
export async function visit({ at, page }: Pick<Walk, "at" | "page">, path: string): Promise<void> {
  await page.goto(at.server.url + path);
  // Behind an open dialog it is there, and no heading for a reader.
  await page.locator("h1").first().waitFor();
}
