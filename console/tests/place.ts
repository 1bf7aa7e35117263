/** A real server with the built console, real workers of this machine, and a person at a browser. */
import { execFile } from "node:child_process";
import { chmod, copyFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { root, temporaryFolder } from "../../platform/tests/process.ts";
import { type ServerPlace, serverPlace } from "../../platform/tests/worker-place.ts";
import { person, startBrowser, Troubles } from "./chromium.ts";
import type { Walk } from "./walk.ts";

const WORKER = new URL("../../platform/tests/fixtures/small-worker.mjs", import.meta.url);

/** The launcher builds the console beside the server if it is not there; its lock is free when that is done. */
export const untilConsoleIsBuilt = () =>
  promisify(execFile)("flock", [join(root, "node_modules/.cache/console-lock"), "true"]);

/** What everybody sees at the moment. */
async function allPages(browser: Browser): Promise<string> {
  const pages = browser.contexts().flatMap((context) => context.pages());
  const shown = pages.map(async (page) => `${page.url()} shows:\n${await page.locator("body").innerText()}`);
  return (await Promise.all(shown)).join("\n");
}

/** Pods outlive their server, and would outlive the test. */
async function endPods(at: ServerPlace): Promise<void> {
  const { clusters } = (await at.call("GET", "/v2/clusters")).json;
  for (const { id } of clusters) await at.call("DELETE", `/v2/clusters/${id}`);
  const { pods } = (await at.call("GET", "/v2/pods")).json;
  for (const { id } of pods) await at.call("POST", `/v2/pods/${id}/action`, { action: "terminate" });
}

export interface ConsolePlace extends Walk, AsyncDisposable {
  troubles: Troubles;
}

export async function consolePlace(
  onFailure: (show: () => void) => void,
  env?: Record<string, string>,
): Promise<ConsolePlace> {
  const things = new AsyncDisposableStack();
  const app = things.use(await temporaryFolder());
  await copyFile(WORKER, join(app.path, "worker.mjs"));
  await chmod(app.path, 0o755);
  const program = { image: `host:${app.path}`, cmd: ["node", "worker.mjs"] };
  const at = things.use(await serverPlace({ program, onFailure, ...(env && { env }) }));
  things.defer(() => endPods(at));
  await untilConsoleIsBuilt();
  const browser = things.use(await startBrowser());
  const troubles = new Troubles();
  const { context, page } = await person(browser, troubles);
  const step: Walk["step"] = async (name, run) => {
    try {
      await run();
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).message}\n${await allPages(browser)}`, { cause: error });
    }
  };
  return {
    ...{ at, browser, context, page, step, folder: app.path, troubles },
    [Symbol.asyncDispose]: () => things.disposeAsync(),
  };
}
